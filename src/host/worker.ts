import type { ProcessorTime } from '../node/processor-time.ts';
import type { Board } from './board.ts';
import type { Budget } from './host-options.ts';
import type { Standing } from './standing.ts';
import type { PlainEnd } from './start-end.ts';
import type { ActorStart, FromWorker, ToWorker } from './worker-messages.ts';

/**
 * Where an actor runs outside of the gateway's thread: a thread of this process
 * (`thread-worker.ts`) or a process of its own (`process-worker.ts`). It may end at any moment, by
 * itself or because it is terminated; what it had sent before arrives first.
 */
export interface Worker {
  /** What the actor is doing. After its end: what it was doing then. */
  readonly board: Board;
  /** Buffers in `transfer` change hands. Nothing happens once the worker has ended. */
  send(message: ToWorker, transfer?: ArrayBuffer[]): void;
  /** Ends it at once, wherever it is; `ended` follows. */
  terminate(): void;
  /**
   * Memory of its own, in bytes, where the platform can say so exactly. `undefined`: it shares a
   * process with others.
   */
  memoryBytes?(): number | undefined;
  /**
   * Asks what it holds, in bytes, where it shares a process. The answer comes within milliseconds,
   * also from a busy loop; late, or never, from inside of a built-in.
   */
  readonly askMemory?: (answer: (bytes: number) => void) => void;
  /** What its own thread took of the processors, where the system counts it. */
  processorTime(): ProcessorTime | undefined;
  /** Who comes first for the processors, if the system agrees. To be set once it has started. */
  setStanding(standing: Standing): void;
}

export interface WorkerEvents {
  message(message: FromWorker): void;
  /** It ended, after its last message. `death`: why, if that is known and was not asked for. */
  ended(death: WorkerDeath | undefined): void;
}

export type WorkerDeath = Pick<PlainEnd, 'cause' | 'message'>;

/** Starts workers of one kind. Rejects when the platform cannot start one. */
export type StartWorker = (
  start: ActorStart,
  options: WorkerOptions,
  events: WorkerEvents,
) => Promise<Worker>;

export interface WorkerOptions {
  readonly budget: Budget;
  /** Requests up to this ticket belong to earlier actors of the same database. */
  readonly lastTicket: number;
}
