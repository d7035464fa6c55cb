import { limits } from '../../limits.ts';
import { EngineError } from '../../shared-log/shared-log.ts';

/** Who goes first: what callers wait for, what followers read, who only looks. */
export type Urgency = 'write' | 'read' | 'look';

const order: readonly Urgency[] = ['write', 'read', 'look'];

/** Lets so many requests go at once, each over a connection of its own; the others take turns. */
export class RequestSlots {
  readonly #waiting = new Map<Urgency, (() => void)[]>(order.map((urgency) => [urgency, []]));
  #free: number;
  #waitingCount = 0;

  constructor(count: number) {
    this.#free = count;
  }

  async use<T>(urgency: Urgency, work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await this.#turn(urgency);
    try {
      return await work();
    } finally {
      this.#give();
    }
  }

  #turn(urgency: Urgency): Promise<void> {
    if (this.#waitingCount >= limits.engineWaitersMax) {
      throw new EngineError('Too much waits for the store.');
    }
    this.#waitingCount++;
    return new Promise((resolve) => this.#waiting.get(urgency)?.push(resolve));
  }

  #give(): void {
    for (const urgency of order) {
      const next = this.#waiting.get(urgency)?.shift();
      if (next === undefined) continue;
      this.#waitingCount--;
      next();
      return;
    }
    this.#free++;
  }
}
