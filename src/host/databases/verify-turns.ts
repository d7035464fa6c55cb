import { limits } from '../../limits.ts';
import type { CallerIdentity } from '../../values/identity-roles.ts';

export interface VerifyTurn {
  readonly by: CallerIdentity;
  /** True: it replays the log, which takes memory as the database does. */
  readonly isDeep: boolean;
  readonly signal: AbortSignal;
}

interface Entry extends Omit<VerifyTurn, 'signal'> {
  readonly begin: () => void;
}

/**
 * Turns of the checks of databases, each of which has a thread that reads as fast as it may:
 * `limits.hostVerifiesMax` run at the same time, `limits.hostDeepVerifiesMax` of them deep. The
 * next one is of the caller with the fewest that run; among those, of the one whose last turn is
 * longest ago. A process that a module has taken over may never answer, so nobody has a turn for
 * longer than `limits.verifyTurnMillisMax`.
 */
export class VerifyTurns {
  readonly #running = new Set<Entry>();
  #waiting: Entry[] = [];
  /** Callers that wait, in the order of their last turns. */
  #lastTurns: CallerIdentity[] = [];

  /**
   * Resolves when it is its turn, with a function that ends the turn. Rejects if `signal` cancels
   * it before.
   */
  take({ signal, ...turn }: VerifyTurn): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const cancel = (): void => {
        this.#waiting = this.#waiting.filter((other) => other !== entry);
        this.#forget();
        reject(new Error('It was cancelled before its turn'));
      };
      const entry: Entry = {
        ...turn,
        begin: () => {
          signal.removeEventListener('abort', cancel);
          const end = (): void => {
            clearTimeout(timer);
            if (this.#running.delete(entry)) this.#admit();
          };
          const timer = setTimeout(end, limits.verifyTurnMillisMax);
          timer.unref();
          resolve(end);
        },
      };
      this.#waiting.push(entry);
      if (signal.aborted) return cancel();
      signal.addEventListener('abort', cancel, { once: true });
      this.#admit();
    });
  }

  #admit(): void {
    while (this.#running.size < limits.hostVerifiesMax) {
      const next = this.#next();
      if (next === undefined) return;
      this.#waiting = this.#waiting.filter((other) => other !== next);
      this.#running.add(next);
      this.#lastTurns = [...this.#lastTurns.filter((caller) => caller !== next.by), next.by];
      this.#forget();
      next.begin();
    }
  }

  #next(): Entry | undefined {
    const deepCount = [...this.#running].filter(({ isDeep }) => isDeep).length;
    const hasDeepTurn = deepCount < limits.hostDeepVerifiesMax;
    const ready = this.#waiting.filter(({ isDeep }) => hasDeepTurn || !isDeep);
    const runs = (of: CallerIdentity) => [...this.#running].filter(({ by }) => by === of).length;
    // Sorting is stable: those of one caller stay in their order.
    return ready.toSorted((one, other) => {
      const fewer = runs(one.by) - runs(other.by);
      return fewer || this.#lastTurns.indexOf(one.by) - this.#lastTurns.indexOf(other.by);
    })[0];
  }

  /** Of those who neither wait nor run nothing is remembered. */
  #forget(): void {
    const present = new Set([...this.#waiting, ...this.#running].map(({ by }) => by));
    this.#lastTurns = this.#lastTurns.filter((caller) => present.has(caller));
  }
}
