import { limits } from '../limits.ts';
import type { HostId } from '../shared-log/host-ids.ts';
import type { Membership } from './membership.ts';
import type { Moving } from './moving.ts';

export interface ClockCareOptions {
  readonly membership: Pick<Membership, 'skewMillis' | 'living'>;
  readonly me: HostId;
  readonly now: () => number;
  /** True if this host leads a database. */
  readonly leads: () => boolean;
  readonly moving: Pick<Moving, 'moveAll'>;
}

/**
 * Has a host whose clock is far off from the engine's give away what it leads. One that nobody
 * takes stays: a database with a wrong clock is better than none.
 */
export class ClockCare {
  readonly #options: ClockCareOptions;
  readonly #stopping = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #triedAt = Number.NEGATIVE_INFINITY;
  #isMoving = false;

  constructor(options: ClockCareOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.look(), limits.clockLookMillis).unref();
  }

  /** True while the clock is so far off that this host must not begin to lead. */
  get isOff(): boolean {
    return Math.abs(this.#options.membership.skewMillis) > limits.clockSkewClaimMillisMax;
  }

  /** Looks whether something is to be given away; does so now and then by itself. */
  look(): void {
    const { now, leads, membership, me } = this.#options;
    if (!this.isOff || this.#isMoving || this.#stopping.signal.aborted) return;
    if (now() - this.#triedAt < limits.clockMoveAgainMillis || !leads()) return;
    if (!membership.living.some(({ host, state }) => host !== me && state === 'up')) return;
    this.#triedAt = now();
    void this.#move();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#stopping.abort();
  }

  async #move(): Promise<void> {
    this.#isMoving = true;
    try {
      await this.#options.moving.moveAll(this.#stopping.signal);
    } finally {
      this.#isMoving = false;
    }
  }
}
