import { Worker as Thread } from 'node:worker_threads';
import { limits } from '../../limits.ts';
import { canLowerNiceness, setNiceness } from '../../node/child-priority.ts';
import { processorTime } from '../../node/processor-time.ts';
import { askThread, endThread } from '../../node/thread-memory.ts';
import type {
  ActorStart,
  FromWorker,
  ThreadStart,
  WaitingStart,
} from '../messages/worker-messages.ts';
import { Board } from '../seats/board.ts';
import type { Budget } from '../seats/budget.ts';
import { nicenessOf } from '../watching/standing.ts';
import { type ReadyProgram, threadProgram } from './compiled-program.ts';
import type { ProgramData } from './program-messages.ts';
import {
  overHeap,
  type Worker,
  type WorkerDeath,
  type WorkerEvents,
  type WorkerOptions,
} from './worker.ts';

/** Starts an actor on a thread of this process. */
export async function startThread(
  start: ActorStart,
  { budget, lastTicket }: WorkerOptions,
  events: WorkerEvents,
): Promise<Worker> {
  const board = new Board();
  board.startAfter(lastTicket);
  const workerData: ThreadStart = { ...start, board: board.buffer };
  return threadWorker(newThread(await threadProgram.ready(), workerData, budget), {
    ...{ board, budget, events },
  });
}

/** Starts a thread with this program. */
export function newThread(
  { entry, program }: ReadyProgram,
  start: ThreadStart | WaitingStart,
  budget: Budget,
): Thread {
  const workerData: ProgramData = { ...start, program };
  return new Thread(entry, {
    workerData,
    resourceLimits: {
      maxOldGenerationSizeMb: budget.workerHeapMebibytesMax + limits.workerHeadroomMebibytes,
    },
    // No module gets the service's environment, should it ever escape its sandbox.
    env: {},
    execArgv: [],
  });
}

export interface ThreadWorkerOptions {
  readonly board: Board;
  readonly budget: Budget;
  readonly events: WorkerEvents;
}

/** A thread as the worker that it is. */
export function threadWorker(
  thread: Thread,
  { board, budget, events }: ThreadWorkerOptions,
): Worker {
  let death: WorkerDeath | undefined;
  thread.on('message', (message: FromWorker) => events.message(message));
  thread.on('error', (error) => {
    death = describeDeath(error, budget);
  });
  thread.on('exit', () => events.ended(death));
  return {
    board,
    send: (message, transfer = []) => {
      board.sentMessage();
      thread.postMessage(message, transfer);
    },
    abandon: (ticket) => board.abandon(ticket),
    terminate: () => endThread(thread),
    askMemory: (answer) => askThread(thread, answer),
    processorTime: () => processorTime({ thread: board.systemThreadId }),
    setStanding: (standing) => {
      const id = board.systemThreadId;
      if (id !== 0 && canLowerNiceness(id)) setNiceness(id, nicenessOf[standing]);
    },
  };
}

function describeDeath(error: unknown, { workerHeapMebibytesMax }: Budget): WorkerDeath {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ERR_WORKER_OUT_OF_MEMORY') return overHeap(workerHeapMebibytesMax);
  return { cause: 'died', message: error instanceof Error ? error.message : String(error) };
}
