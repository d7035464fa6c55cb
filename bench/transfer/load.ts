import type { Meter } from './meter.ts';
import type { Workload } from './workload.ts';

/** A load on one system: it ends by itself, and every reply is checked. */
export interface Load {
  readonly workload: Workload;
  readonly sockets: number;
  /** Calls that each socket has in flight at any time. */
  readonly inFlight: number;
  readonly meter: Pick<Meter, 'replied'>;
}

/** Hands out the transfers of a workload, one after another, to all sockets of a load. */
export class Transfers {
  readonly #pairs: Uint32Array;
  #at = 0;

  constructor({ pairs }: Workload) {
    this.#pairs = pairs;
  }

  from = 0;
  to = 0;

  /** Puts the next transfer in `from` and `to`. */
  next(): void {
    const pairs = this.#pairs;
    if (this.#at === pairs.length) this.#at = 0;
    this.from = pairs[this.#at] ?? 0;
    this.to = pairs[this.#at + 1] ?? 0;
    this.#at += 2;
  }
}
