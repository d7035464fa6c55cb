import fs from 'node:fs';
import net from 'node:net';
import { Worker as Thread } from 'node:worker_threads';
import { assert, present } from '../../assert.ts';
import { limits } from '../../limits.ts';
import { leaveSignalsToParent } from '../../node/parents-signals.ts';
import { identityToHex } from '../../values/identity.ts';
import { encodeMessage, MessageReader, type ToProcess } from '../messages/process-frames.ts';
import type { ActorStart, FromWorker } from '../messages/worker-messages.ts';
import { Actor, type ActorPort } from './actor.ts';
import { BoardFile } from './board-file.ts';
import { drained } from './drained.ts';

/**
 * Runs the process of one database, see `actor.ts`. It has two channels, both inherited: a stream
 * of frames to and from the gateway, and its board. It ends when the gateway does.
 */
const channel = new net.Socket({ fd: 3, readable: true, writable: true });
const board = new BoardFile(4);
const frames = new MessageReader();
let actor: Actor | undefined;
let hasLeft = false;

/** Descriptors that this process inherited by accident; its parent, if it must watch it. */
const [, , strayDescriptors = '', parentProcess] = process.argv;

const port: ActorPort = {
  post(message) {
    if (!hasLeft) write(message);
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
    begin(message.start);
    return;
  }
  assert(actor !== undefined, 'the first message starts the actor');
  void actor.receive(message);
}

function begin(start: ActorStart): void {
  process.title = `reducerdb ${identityToHex(start.identity).slice(0, 16)}`;
  actor = new Actor(start, port, board);
  actor.run();
}

function closeStrays(): void {
  for (const number of strayDescriptors.split(',').filter(Boolean)) fs.closeSync(Number(number));
}

/**
 * A runaway call would outlive a gateway that was killed, because the end of the stream is not seen
 * while it runs. Where the system does not end this process with its parent, which ends with the
 * gateway, a thread checks whether the parent still exists.
 */
function endWith(parent: number): void {
  const source = `
    setInterval(() => {
      if (process.ppid !== ${parent}) process.kill(process.pid, 'SIGKILL');
    }, 500);`;
  const resourceLimits = { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1, stackSizeMb: 1 };
  new Thread(source, { eval: true, resourceLimits, stdin: false }).unref();
}

closeStrays();
leaveSignalsToParent();
channel.on('data', (chunk: Buffer) => {
  frames.push(chunk, (message) => receive(message as ToProcess));
});
channel.on('error', () => process.exit());
channel.on('close', () => process.exit());
if (parentProcess !== undefined) endWith(Number(parentProcess));
