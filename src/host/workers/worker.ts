import type { Ticket } from '../../database/ticket.ts';
import type { ProcessorTime } from '../../node/processor-time.ts';
import type { ActorStart, FromWorker, ToWorker } from '../messages/worker-messages.ts';
import type { Board } from '../seats/board.ts';
import type { Budget } from '../seats/budget.ts';
import type { PlainEnd } from '../seats/start-end.ts';
import type { Standing } from '../watching/standing.ts';

/**
 * Where an actor runs outside of the gateway's thread: a thread of this process
 * (`thread-worker.ts`) or a process of its own (`process-worker.ts`). It can end at any moment, on
 * its own or because it is terminated; what it had sent before arrives first.
 */
export interface Worker {
  /** The actor's progress; after its end, the progress that it had then. */
  readonly board: Board;
  /** Sends a message; buffers in `transfer` change owner. Does nothing after the worker ended. */
  send(message: ToWorker, transfer?: ArrayBuffer[]): void;
  /**
   * Does a task on the files of its history (`history-task.ts`), beside the actor; empty: it has
   * ended. Absent: its process has others for that.
   */
  history?(task: string, signal: AbortSignal): Promise<string>;
  /**
   * Tells the actor that nobody wants the result of an update any more, even while it reads no
   * messages. The last four are known.
   */
  abandon(ticket: Ticket): void;
  /** Ends it at once, wherever it is; `ended` follows. */
  terminate(): void;
  /**
   * Memory of its own, in bytes, where the platform measures it exactly. `undefined`: it shares a
   * process with others.
   */
  memoryBytes?(): number | undefined;
  /**
   * Asks how many bytes it holds, where it shares a process. The answer comes within milliseconds,
   * even from a busy loop, but late, or never, from inside a built-in.
   */
  readonly askMemory?: (answer: (bytes: number) => void) => void;
  /** True while lanes run that it has started itself; such an actor may be asked by them. */
  readonly hasLanes?: boolean;
  /** Processor time of its own thread, where the system counts it. */
  processorTime(): ProcessorTime | undefined;
  /** Ranks it for the processors, if the system allows. Must be called after it has started. */
  setStanding(standing: Standing): void;
}

export interface WorkerEvents {
  message(message: FromWorker): void;
  /** It has begun to have lanes. */
  hasLanes?(): void;
  /** The actor ended, after its last message. `death`: why, if known and not requested. */
  ended(death: WorkerDeath | undefined): void;
}

export type WorkerDeath = Pick<PlainEnd, 'cause' | 'message'>;

/** The engine ended the worker, because its module had more than this on its heap. */
export function overHeap(mebibytesMax: number): WorkerDeath {
  const text = `far more than ${mebibytesMax} MiB of heap`;
  return { cause: 'died', message: `The module used ${text} and was stopped.` };
}

/** Starts workers of one kind. Rejects when the platform cannot start one. */
export type StartWorker = (
  start: ActorStart,
  options: WorkerOptions,
  events: WorkerEvents,
) => Promise<Worker>;

export interface WorkerOptions {
  readonly budget: Budget;
  /** Requests up to this ticket belong to earlier actors of the same database. */
  readonly lastTicket: Ticket;
}
