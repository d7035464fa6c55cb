import { limits } from '../../limits.ts';
import { lineBytes } from '../../module/log-line.ts';
import type { StampedLine } from '../seats/seat.ts';

export interface LineBatchOptions {
  readonly nowMillis: () => number;
  readonly send: (lines: readonly StampedLine[]) => void;
}

/**
 * Lines of a module's log that the gateway does not have yet. They are sent together, with a turn
 * or when they are many, large or late: the gateway copies a message as a whole, so it must not be
 * larger than `limits.logBatchBytesMax`, and one call can log for seconds. Each line is bounded
 * before it comes here (see `module/log-line.ts`).
 */
export class LineBatch {
  readonly #options: LineBatchOptions;
  #lines: StampedLine[] = [];
  #bytes = 0;
  #sentAt = 0;

  constructor(options: LineBatchOptions) {
    this.#options = options;
  }

  add(line: StampedLine): void {
    const { logBatchLinesMax, logBatchBytesMax, logBatchMillisMax } = limits;
    const bytes = lineBytes(line.line);
    if (this.#bytes + bytes > logBatchBytesMax) this.send();
    this.#lines.push(line);
    this.#bytes += bytes;
    const isLate = this.#options.nowMillis() >= this.#sentAt + logBatchMillisMax;
    if (isLate || this.#lines.length >= logBatchLinesMax) this.send();
  }

  /** Sends the lines collected so far, if there are any. */
  send(): void {
    this.#sentAt = this.#options.nowMillis();
    if (this.#lines.length === 0) return;
    const lines = this.#lines;
    this.#lines = [];
    this.#bytes = 0;
    this.#options.send(lines);
  }
}
