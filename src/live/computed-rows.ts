import { ByteSink } from '../sql/run/byte-sink.ts';
import type { OutputWriter } from '../sql/run/compile-output.ts';
import type { LiveFrame } from './fragment.ts';
import { changesOf, type RowChanges } from './live-update.ts';
import { RowBag } from './row-bag.ts';

/** Collects rows computed from gained and lost source rows; what cancels out is not sent. */
export class ComputedRows {
  readonly #write: OutputWriter;
  readonly #sink = new ByteSink();
  readonly #bag = new RowBag();

  constructor(write: OutputWriter) {
    this.#write = write;
  }

  /** Computes a row from the rows in the frame. Throws `SqlFailure`. */
  add(frame: LiveFrame, count: number): void {
    const sink = this.#sink;
    sink.reset();
    this.#write(frame, sink);
    this.#bag.add(sink.bytes.slice(0, sink.length), 0, sink.length, count);
  }

  changes(): RowChanges | undefined {
    const { gained, lost } = this.#bag.surplus();
    return changesOf(gained, lost);
  }
}
