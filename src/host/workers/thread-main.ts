import { parentPort, workerData } from 'node:worker_threads';
import { present } from '../../assert.ts';
import { setNiceness } from '../../node/child-priority.ts';
import { systemThreadId } from '../../node/thread-faults.ts';
import { answerInspector } from '../../node/thread-memory.ts';
import type { ThreadStart, ToWorker } from '../messages/worker-messages.ts';
import { Board } from '../seats/board.ts';
import { nicenessOf } from '../watching/standing.ts';
import { Actor } from './actor.ts';

/** Runs the thread of a database, see `actor.ts`. */
const port = present(parentPort, 'this file runs in a worker thread');
const { board: words, ...start } = workerData as ThreadStart;
const board = new Board(words);
board.runsOn(systemThreadId());
if (board.systemThreadId !== 0) setNiceness(board.systemThreadId, nicenessOf.usual);
answerInspector();
const actor = new Actor(
  start,
  {
    post: (message, transfer = []) => port.postMessage(message, transfer),
    close: () => port.close(),
    exit: () => process.exit(),
  },
  board,
);
port.on('message', (message: ToWorker) => void actor.receive(message));
actor.run();
