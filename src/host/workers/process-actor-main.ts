import net from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { assert, present } from '../../assert.ts';
import { limits } from '../../limits.ts';
import { systemThreadId } from '../../node/thread-faults.ts';
import { encodeMessage, MessageReader, type ToProcess } from '../messages/process-frames.ts';
import type { FromWorker, LaneNews, LaneOrder, SnapshotPort } from '../messages/worker-messages.ts';
import { Actor, type ActorPort } from './actor.ts';
import { BoardFile } from './board-file.ts';
import { drained } from './drained.ts';

/**
 * Runs the thread of a database in a process of its own, see `actor.ts`. It has two channels, both
 * inherited by the process: a stream of frames to and from the gateway, and its board. When the
 * gateway ends, it does. The thread that started it, see `process-main.ts`, starts its lanes.
 */
const keeper = present(parentPort, 'this file runs in a worker thread');
const channel = new net.Socket({ fd: 3, readable: true, writable: true });
const board = new BoardFile(4, workerData as SharedArrayBuffer);
const frames = new MessageReader();
let actor: Actor | undefined;
let hasLeft = false;

const port: ActorPort = {
  post(message, transfer = []) {
    if (isOrder(message)) keeper.postMessage(message, transfer);
    else if (!hasLeft) write(message);
  },
  waitingBytes: () => channel.writableLength,
  drained: () => drained(channel, limits.workerWaitingBytesMax),
  close() {
    channel.end();
  },
  exit() {
    hasLeft = true;
    channel.end(() => process.exit());
  },
};

const orders: ReadonlySet<string> = new Set<(LaneOrder | SnapshotPort)['kind']>([
  ...(['lane', 'lanesBusy', 'laneReplaced', 'endLane', 'snapshotPort'] as const),
]);

function isOrder(message: FromWorker): message is LaneOrder | SnapshotPort {
  return orders.has(message.kind);
}

function write(message: FromWorker): void {
  const pieces = encodeMessage(message);
  if (pieces.length === 1) {
    channel.write(present(pieces[0], 'a frame has a piece'));
    return;
  }
  channel.cork();
  for (const piece of pieces) channel.write(piece);
  channel.uncork();
}

function receive(message: ToProcess): void {
  if (message.kind === 'start') {
    actor = new Actor(message.start, port, board);
    actor.run();
    return;
  }
  assert(actor !== undefined, 'the first message starts the actor');
  void actor.receive(message);
}

board.runsOn(systemThreadId());
keeper.on('message', (news: LaneNews) => void actor?.take(news));
channel.on('data', (chunk: Buffer) => {
  frames.push(chunk, (message) => receive(message as ToProcess));
});
channel.on('error', () => process.exit());
channel.on('close', () => process.exit());
