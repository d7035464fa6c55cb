import type { ProcessorTime } from '../../node/processor-time.ts';
import type { Board } from '../seats/board.ts';
import type { Kill } from '../seats/seat.ts';
import type { Standing } from './standing.ts';

/** A worker as the watchdog sees it. */
export interface Watched {
  readonly board: Board;
  /** False while it owes nothing: then there is nothing to end. */
  isBusy(): boolean;
  /** Messages sent to it. */
  messagesSent(): number;
  /** Memory of its own in bytes; `undefined` where it shares that of the process. */
  memoryBytes?(): number | undefined;
  /** Asks for what it holds in the process that it shares; see `Worker`. */
  readonly askMemory?: ((answer: (bytes: number) => void) => void) | undefined;
  /** See `Worker`. */
  processorTime?(): ProcessorTime | undefined;
  setStanding?(standing: Standing): void;
  /** Ends it. Called at most once. */
  kill(end: Kill): void;
}
