import { parentPort, workerData } from 'node:worker_threads';
import { present } from '../../assert.ts';
import type { Sandbox } from '../../module/javascript/runner.ts';
import { setNiceness } from '../../node/child-priority.ts';
import { systemThreadId } from '../../node/thread-faults.ts';
import { answerInspector } from '../../node/thread-memory.ts';
import type {
  ActorStart,
  ThreadStart,
  ThreadTask,
  ToWorker,
  WaitingStart,
} from '../messages/worker-messages.ts';
import { Board } from '../seats/board.ts';
import { nicenessOf } from '../watching/standing.ts';
import { Actor } from './actor.ts';
import type { CompilingStart } from './program-messages.ts';
import { warmedSandbox } from './warmed-sandbox.ts';

/** Runs the thread of a database, see `actor.ts`. */
const port = present(parentPort, 'this file runs in a worker thread');
const { board: words, ...given } = workerData as ThreadStart | WaitingStart | CompilingStart;
const board = new Board(words);
board.runsOn(systemThreadId());
if (board.systemThreadId !== 0) setNiceness(board.systemThreadId, nicenessOf.usual);
answerInspector();
if ('isCompiling' in given) warmedSandbox(given.hardeningFile);
else if ('isWaiting' in given) {
  const sandbox = warmedSandbox(given.hardeningFile);
  port.once('message', ({ start }: ThreadTask) => begin(start, sandbox));
} else begin(given);

function begin(start: ActorStart, first?: Sandbox): void {
  const actor = new Actor(
    start,
    {
      post: (message, transfer = []) => port.postMessage(message, transfer),
      close: () => port.close(),
      exit: () => process.exit(),
    },
    board,
    first,
  );
  port.on('message', (message: ToWorker) => void actor.receive(message));
  actor.run();
}
