import { randomBytes } from 'node:crypto';
import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { afterEach, expect, it } from 'vitest';
import { ClusterSecret } from '../../src/cluster/cluster-secret.ts';
import { LinkClient, type LinkStream } from '../../src/cluster/link-client.ts';
import { LinkServer, type LinkServerOptions } from '../../src/cluster/link-server.ts';
import { LinkIdentity } from '../../src/cluster/link-tls.ts';
import {
  encodeStreamFrame,
  type StreamFrame,
  StreamFrames,
} from '../../src/cluster/stream-frames.ts';
import { StreamReceiver } from '../../src/cluster/stream-receiver.ts';
import { StreamSender } from '../../src/cluster/stream-sender.ts';
import { StreamedLog } from '../../src/cluster/streamed-log.ts';
import { limits } from '../../src/limits.ts';
import { bootId } from '../../src/shared-log/host-ids.ts';
import { clusterId, logName } from '../../src/shared-log/log-name.ts';
import { MemoryEngine } from '../../src/shared-log/memory-engine.ts';
import type { SharedLog } from '../../src/shared-log/shared-log.ts';
import { databaseIdentity } from '../../src/values/identity-roles.ts';

const cluster = clusterId(5n);
const log = logName(cluster, databaseIdentity(9n), 1);
const secret = ClusterSecret.parse(randomBytes(32).toString('base64'), 'test');
const identity = new LinkIdentity(secret, cluster);
const boot = bootId(77n);
const never = new AbortController().signal;
const ends: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const first = Uint8Array.of(1);

/** An engine with the beginning of one log, for a leader and one who follows. */
async function engine() {
  const server = new MemoryEngine({
    clock: {
      now: () => performance.now(),
      after: (millis, work) => void setTimeout(work, millis),
    },
  });
  const leader = server.connect('leader');
  expect(await leader.create(log, first)).toBe('created');
  return { server, leader, follower: server.connect('follower') };
}

async function serve(onStream: LinkServerOptions['onStream']) {
  const server = await LinkServer.listen({
    ...{ identity, listen: { host: '127.0.0.1', port: 0 }, boot },
    ...{ isHere: () => true, hintFor: () => undefined, onAsk: async () => undefined },
    onRequest: (_, response) => void response.end(),
    onUpgrade: (_, stream) => void stream.destroy(),
    ...(onStream !== undefined && { onStream }),
  });
  ends.push(() => server.close());
  return `127.0.0.1:${server.port}`;
}

function followerOf(inner: SharedLog, address: string): StreamedLog {
  const client = new LinkClient(identity);
  const follower = new StreamedLog({ inner, client, leaderOf: () => ({ boot, address }) });
  ends.push(
    () => client.close(),
    () => follower.close(),
  );
  return follower;
}

/** A leader, and one who follows it by its stream. */
async function pair() {
  const { server, leader: inner, follower } = await engine();
  const client = new LinkClient(identity);
  const leader = new StreamedLog({ inner, client, leaderOf: () => undefined });
  const address = await serve((request, response) => leader.sender.open(request, response));
  ends.push(() => leader.close());
  const following = followerOf(follower, address);
  await until(following, 1);
  return { server, leader, following, client };
}

async function waitedAtMost(millis: number, following: StreamedLog, next: number): Promise<void> {
  const over = new AbortController();
  await Promise.race([following.wait(log, next, over.signal), pause(millis)]);
  over.abort();
}

/** Waits as who follows does, until entries of the log come by themselves. */
async function until(following: StreamedLog, next: number): Promise<void> {
  await expect
    .poll(async () => {
      await waitedAtMost(20, following, next);
      return following.figures.logs;
    })
    .toBe(1);
}

function pause(millis: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, millis));
}

function append(leader: SharedLog, seq: number, after: Uint8Array, bytes = Uint8Array.of(seq)) {
  return leader.append([{ log, seq, bytes, after }]);
}

it('[replication 6.3] what a leader has stored comes in a row, without the engine', async () => {
  const { server, leader, following } = await pair();
  server.cut('follower');
  const waiting = following.wait(log, 1, never);
  expect(await append(leader, 1, first)).toEqual(['stored']);
  await waiting;
  expect(await append(leader, 2, Uint8Array.of(1))).toEqual(['stored']);
  // What was not stored is not sent.
  expect(await append(leader, 2, Uint8Array.of(1), Uint8Array.of(9))).toEqual(['passed']);
  await expect.poll(() => following.figures.received).toBe(2);
  expect(await following.streamed(log, 1)).toEqual([
    { seq: 1, bytes: Uint8Array.of(1), after: first },
    { seq: 2, bytes: Uint8Array.of(2), after: Uint8Array.of(1) },
  ]);
  // Each once; and nothing where the one that is wanted is not there.
  expect(await following.streamed(log, 1)).toEqual([]);
  await append(leader, 3, Uint8Array.of(2));
  await expect.poll(() => following.figures.received).toBe(3);
  expect(await following.streamed(log, 2)).toEqual([]);
  expect(await following.streamed(log, 3)).toHaveLength(1);
});

it('[replication 6.3] who follows waits at the engine where there is no stream, and when it ends', async () => {
  const { leader, follower } = await engine();
  // A host of an earlier version knows no streams.
  const following = followerOf(follower, await serve(undefined));
  const waiting = following.wait(log, 1, never);
  await append(leader, 1, first);
  await waiting;
  expect(following.figures).toMatchObject({ logs: 0, received: 0 });
  const { leader: sender, following: other } = await pair();
  const held = other.wait(log, 1, never);
  sender.close();
  await held;
  expect(other.figures.logs).toBe(0);
});

it('[replication 6.3] a leader that is silent, or says what makes no sense, streams nothing', async () => {
  const { follower } = await engine();
  const answers = [
    (response: ServerResponse) => void response.writeHead(200).write('not a frame at all'),
    (response: ServerResponse) => {
      response.writeHead(200).write(encodeStreamFrame({ kind: 'begun', log }));
    },
  ];
  let asked = 0;
  const address = await serve((_, response) => answers[Math.min(asked++, 1)]?.(response));
  const following = followerOf(follower, address);
  // It is tried again after a while, and the silent one is given up, too.
  await expect
    .poll(async () => {
      await waitedAtMost(50, following, 1);
      return asked;
    })
    .toBeGreaterThan(2);
  expect(following.figures.received).toBe(0);
});

it('[replication 6.3] entries that nobody takes are left to the engine beyond a bound', () => {
  const link: LinkStream = {
    onPiece: () => undefined,
    onEnd: () => undefined,
    write: () => undefined,
    close: () => undefined,
  };
  const receiver = new StreamReceiver(link, () => undefined);
  ends.push(() => receiver.end());
  const bytes = new Uint8Array(limits.streamKeptLogBytesMax / 2);
  const logs = Array.from({ length: 20 }, (_, at) => logName(cluster, databaseIdentity(9n), at));
  for (const one of logs) {
    receiver.wants(one);
    link.onPiece(encodeStreamFrame({ kind: 'begun', log: one }));
    const entry = { seq: 1, after: first, bytes };
    link.onPiece(encodeStreamFrame({ kind: 'entry', log: one, entry }));
  }
  const kept = logs.filter((one) => receiver.has(one, 1)).length;
  expect(kept).toBe(limits.streamKeptBytesMax / bytes.length);
});

/** A response whose other end takes nothing. */
class Stuck extends EventEmitter {
  writableLength = 0;
  writableNeedDrain = false;
  destroyed = false;
  readonly frames: StreamFrame[] = [];
  readonly #reader = new StreamFrames();
  writeHead(): this {
    return this;
  }
  write(bytes: Buffer): void {
    this.frames.push(...this.#reader.take(bytes));
  }
  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

it('[replication 6.3] a host that takes entries too slowly misses some, and begins again', async () => {
  const sender = new StreamSender();
  const [response, request] = [new Stuck(), new EventEmitter()];
  sender.open(request as IncomingMessage, response as unknown as ServerResponse);
  ends.push(() => sender.close());
  request.emit('data', encodeStreamFrame({ kind: 'want', log }));
  const stored = (seq: number) => sender.stored({ log, seq, bytes: Uint8Array.of(seq) });
  const kinds = () => response.frames.map((frame) => frame.kind);
  stored(1);
  await expect.poll(kinds).toEqual(['alive', 'begun', 'entry']);
  response.writableLength = limits.streamPendingBytesMax;
  stored(2);
  response.writableLength = 0;
  // What comes behind a gap is of no use.
  stored(3);
  response.emit('drain');
  stored(4);
  await expect.poll(kinds).toEqual(['alive', 'begun', 'entry', 'begun', 'entry']);
  expect(sender.counts).toEqual({ sent: 2, left: 2 });
  response.writableLength = limits.streamPendingBytesMax;
  stored(5);
  request.emit('data', encodeStreamFrame({ kind: 'leave', log }));
  response.writableLength = 0;
  response.emit('drain');
  stored(6);
  expect(sender.counts).toEqual({ sent: 2, left: 3 });
});
