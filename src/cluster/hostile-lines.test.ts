import type { IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ArrivingClient, DeskSink } from '../host/replication/leader-desk.ts';
import type {
  AttachedAnswer,
  AttachedCall,
  AttachedEnd,
  AttachedRequest,
} from '../host/replication/leader-line.ts';
import { limits } from '../limits.ts';
import { bootId } from '../shared-log/host-ids.ts';
import { commitOffset } from '../store/commit-offset.ts';
import { connectionNumber } from '../values/connection-number.ts';
import { callerIdentity, databaseIdentity } from '../values/identity-roles.ts';
import type { AttachedLeader } from './attached.ts';
import { Attachments } from './attachments.ts';
import { ClientLine, type ClientLineOptions } from './client-line.ts';
import { DeskLines } from './desk-lines.ts';
import { encodeLineFrame, type LineFrame, LineFrames } from './line-frames.ts';
import { encodeLineAsk, type LineAsk, lineHeader } from './line-name.ts';

type OpenedLine = Awaited<ReturnType<ClientLineOptions['client']['line']>>;

/** A client, as the leader has it. */
interface Admitted {
  readonly client: ArrivingClient;
  readonly sink: DeskSink;
  readonly sent: AttachedRequest[];
  hasLeft: boolean;
}

/** The leader's end of lines, without its databases, and ways to it. */
class Leader {
  readonly admitted: Admitted[] = [];
  readonly asks: LineAsk[] = [];
  /** True: the other hosts take nothing. */
  isUnread = false;
  /** What it waits for before it takes a client. */
  registry: Promise<unknown> | undefined;
  readonly desk = new DeskLines({
    desk: () => ({ admit: (client, sink) => this.#admit(client, sink) }),
    isGone: () => false,
    untilKnown: () => this.registry,
  });

  /** A way to it; what it answers is passed on. */
  open(ask: LineAsk, take: (piece: Buffer) => void): { header: unknown; request: PassThrough } {
    const request = Object.assign(new PassThrough(), {
      headers: { [lineHeader]: encodeLineAsk(ask) },
    });
    const heads: Record<string, unknown>[] = [];
    const response = Object.assign(new PassThrough(), {
      writeHead: (_: number, given: Record<string, unknown>) => {
        heads.push(given);
        return response;
      },
      flushHeaders: () => undefined,
    });
    this.desk.open(request as unknown as IncomingMessage, response as unknown as ServerResponse);
    response.on('data', (piece: Buffer) => {
      if (!this.isUnread) take(piece);
    });
    response.once('close', () => request.destroy());
    return { header: heads[0]?.[lineHeader], request };
  }

  async line(ask: LineAsk): Promise<OpenedLine> {
    this.asks.push(ask);
    const stream = {
      onPiece: (_: Buffer): void => undefined,
      onEnd: (): void => undefined,
      write: (bytes: Buffer) => request.write(bytes),
      close: () => request.destroy(),
    };
    const { header, request } = this.open(ask, (piece) => stream.onPiece(piece));
    request.once('close', () => stream.onEnd());
    return { header, stream: stream as unknown as OpenedLine['stream'] };
  }

  #admit(client: ArrivingClient, sink: DeskSink) {
    const admitted: Admitted = { client, sink, sent: [], hasLeft: false };
    this.admitted.push(admitted);
    queueMicrotask(() => sink.connected(commitOffset(1)));
    return {
      send: (request: AttachedRequest) => void admitted.sent.push(request),
      close: async () => {
        admitted.hasLeft = true;
      },
      isFull: false,
      isReached: true,
    };
  }
}

/** A client, as its own host has it. */
class Tester {
  readonly told: string[] = [];
  readonly ends: AttachedEnd[] = [];
  readonly sink = {
    connected: () => this.told.push('connected'),
    changed: () => undefined,
    answered: (_: AttachedRequest, answer: AttachedAnswer) => this.told.push(textOf(answer)),
    ended: (end: AttachedEnd) => this.ends.push(end),
    lost: () => this.told.push('lost'),
  };
}

function textOf(answer: AttachedAnswer): string {
  if (!('outcome' in answer)) return answer.kind;
  return 'error' in answer.outcome ? answer.outcome.error.code : answer.outcome.kind;
}

const newcomer = (id: number): Omit<ArrivingClient, 'stays' | 'through'> => ({
  ...{ database: databaseIdentity(5n), connectionId: connectionNumber(BigInt(id)) },
  caller: {
    ...{ identity: callerIdentity(1n), token: 't', payload: '{}', tokenId: 'i' },
    isAnonymous: false,
  },
  ...{ confirmed: true, protocol: 'v2.bsatn.spacetimedb', sinceMillis: 0 },
});
const arriving = (id: number): ArrivingClient => ({
  ...newcomer(id),
  ...{ stays: undefined, through: 'b' },
});

let lastId = 0;
const callOf = (reducer: string): AttachedCall => {
  lastId += 1;
  const args = Uint8Array.of(1);
  return { kind: 'call', requestId: lastId, reducer, args, schemaVersion: undefined };
};
const done: AttachedAnswer & { kind: 'called' } = {
  ...{ kind: 'called', timestampMicros: 7n },
  outcome: { kind: 'committed', offset: commitOffset(1), micros: 5 },
};

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve));
}

let leader: Leader;
let line: ClientLine;
let ended: number;

beforeEach(() => {
  leader = new Leader();
  ended = 0;
  line = new ClientLine({
    client: { line: (_, __, ask) => leader.line(ask) },
    ...{ me: bootId(1n), leader: { boot: bootId(2n), address: 'a.test:3001' } },
    ...{ hasEnded: () => false, registryOffset: () => 0 },
    onEnd: () => void ended++,
  });
});
afterEach(() => {
  line.close();
  leader.desk.close();
});

/** The other clients of a line, who notice nothing. */
async function stays(tester: Tester, place: { send(request: AttachedRequest): void }, at: number) {
  const { sink, sent } = leader.admitted[at] as Admitted;
  const [before, count] = [tester.told.length, sent.length];
  place.send(callOf('add'));
  await until(() => sent.length > count);
  sink.answered(sent.at(-1) as AttachedRequest, done);
  await until(() => tester.told.length > before);
  expect([tester.told.at(-1), tester.ends, ended]).toEqual(['committed', [], 0]);
}

/** So long that a frame with it would be longer than any host takes. */
const longName = '\u0001'.repeat(Math.ceil(limits.lineFrameBytesMax / 6));

it('[replication 12.6] answers a long name that no module declares in its turn', async () => {
  const attachments = new Attachments({ now: () => 0, me: 'b', leaderOf: () => line });
  const tester = new Tester();
  const attachment = attachments.attach(newcomer(1), tester.sink);
  for (const name of [longName, 'add', longName, 'add']) attachment.send(callOf(name));
  const { requestId, args } = callOf('');
  const procedure = { requestId, args, schemaVersion: undefined };
  attachment.send({ kind: 'procedure', procedure: longName, ...procedure });
  await until(() => leader.admitted[0]?.sent.length === 1);
  expect(tester.told).toEqual(['connected', 'reducer.unknown']);
  const { sent, sink } = leader.admitted[0] as Admitted;
  sink.answered(sent[0] as AttachedRequest, done);
  await until(() => sent.length === 2);
  sink.answered(sent[1] as AttachedRequest, done);
  await until(() => tester.told.length === 6);
  const reducers = ['reducer.unknown', 'committed', 'reducer.unknown', 'committed'];
  expect(tester.told).toEqual(['connected', ...reducers, 'procedure.unknown']);
  expect([attachment.unanswered, sent.length, tester.ends, ended]).toEqual([0, 2, [], 0]);
  // A long name that one can declare goes to the leader, and so does a short one of any characters.
  const names = ['a'.repeat(2 * limits.lineNameCharactersMax), '"\u0001'];
  for (const name of names) attachment.send(callOf(name));
  await until(() => sent.length === 4);
  expect(sent.slice(2).map((one) => 'reducer' in one && one.reducer)).toEqual(names);
  attachment.close();
});

it('[replication 12.6] counts names among the bytes that a leader has of a client', async () => {
  const attachments = new Attachments({ now: () => 0, me: 'b', leaderOf: () => line });
  const attachment = attachments.attach(newcomer(1), new Tester().sink);
  const name = 'a'.repeat(limits.attachedBytesMax);
  for (let at = 0; at < 3; at++) attachment.send(callOf(name));
  await until(() => leader.admitted[0]?.sent.length === 1);
  const { sent, sink } = leader.admitted[0] as Admitted;
  for (let at = 0; at < 3; at++) {
    await until(() => sent.length > at);
    expect(sent.length).toBe(at + 1);
    sink.answered(sent[at] as AttachedRequest, done);
  }
  attachment.close();
});

it('[replication 12.6] ends a client whose frame no host takes, and no other', async () => {
  const [long, other] = [new Tester(), new Tester()];
  const place = line.admit(arriving(1), long.sink);
  const otherPlace = line.admit(arriving(2), other.sink);
  await until(() => other.told.length === 1);
  place.send(callOf(longName));
  expect(long.ends).toEqual([{ kind: 'closed', code: 1009, reason: 'message too big' }]);
  await until(() => leader.admitted[0]?.hasLeft === true);
  await stays(other, otherPlace, 1);
});

it('[replication 12.6] ends a client whose answer no host takes, and no other', async () => {
  const [long, other] = [new Tester(), new Tester()];
  const place = line.admit(arriving(1), long.sink);
  const otherPlace = line.admit(arriving(2), other.sink);
  place.send(callOf('price'));
  await until(() => leader.admitted[0]?.sent.length === 1);
  const { sink, sent } = leader.admitted[0] as Admitted;
  const value = new Uint8Array(limits.lineFrameBytesMax);
  const outcome = { kind: 'committed', offset: commitOffset(1), micros: 5, value } as const;
  sink.answered(sent[0] as AttachedRequest, { ...done, outcome });
  await until(() => long.ends.length === 1);
  expect(long.ends).toEqual([{ kind: 'closed', code: 1009, reason: 'message too big' }]);
  expect(leader.admitted[0]?.hasLeft).toBe(true);
  await stays(other, otherPlace, 1);
});

it('[replication 12.6] ends the client of an unreadable frame, and no other', async () => {
  const ask = { name: 3n, me: bootId(3n), isKnown: false, taken: 0 };
  const { request } = leader.open(ask, () => undefined);
  const write = (frame: object) => request.write(encodeLineFrame(frame as LineFrame));
  for (const channel of [1, 2]) {
    write({ kind: 'attach', channel, client: arriving(channel), registryOffset: 0 });
  }
  write({ kind: 'request', channel: 1, number: 'x', request: callOf('add') });
  write({ kind: 'request', channel: 2, number: 1, request: callOf('add') });
  await until(() => leader.admitted[1]?.sent.length === 1);
  expect(leader.admitted.map(({ hasLeft }) => hasLeft)).toEqual([true, false]);
  expect(leader.desk.clientCount).toBe(1);
});

it('[replication 12.6] ends who has the most answers that its host does not take', async () => {
  const [heavy, light] = [new Tester(), new Tester()];
  const place = line.admit(arriving(1), heavy.sink);
  const lightPlace = line.admit(arriving(2), light.sink);
  await until(() => light.told.length === 1);
  leader.isUnread = true;
  const value = new Uint8Array(limits.callResultBytesMax);
  const count = Math.ceil(limits.lineAnswersBytesMax / value.length);
  for (let at = 0; at < count; at++) place.send(callOf('price'));
  lightPlace.send(callOf('add'));
  await until(() => leader.admitted[1]?.sent.length === 1);
  const [of, ofLight] = leader.admitted as [Admitted, Admitted];
  const outcome = { kind: 'committed', offset: commitOffset(1), micros: 5, value } as const;
  for (const request of of.sent) of.sink.answered(request, { ...done, outcome });
  ofLight.sink.answered(ofLight.sent[0] as AttachedRequest, done);
  expect([of.hasLeft, ofLight.hasLeft]).toEqual([true, false]);
  leader.isUnread = false;
  await until(() => heavy.ends.length > 0 && light.told.length > 1);
  expect([heavy.told, heavy.ends]).toEqual([['connected'], [{ kind: 'live', reason: 'slow' }]]);
  expect(light.told).toEqual(['connected', 'committed']);
  await stays(light, lightPlace, 1);
});

it.each<[string, object]>([
  ['no client', { kind: 'attach', client: {}, registryOffset: 0 }],
  [
    'a client of another kind',
    { kind: 'attach', client: { ...arriving(1), database: 5 }, registryOffset: 0 },
  ],
  ['a watch', { kind: 'request', number: 1, request: { ...callOf('a'), kind: 'subscribe' } }],
  ['no arguments', { kind: 'request', number: 1, request: { ...callOf('a'), args: 'all' } }],
  ['no request', { kind: 'request', number: 1 }],
])('[replication 12.6] %s ends the client that it is of', async (_, faulty) => {
  const pieces: Buffer[] = [];
  const ask = { name: 3n, me: bootId(3n), isKnown: false, taken: 0 };
  const { request } = leader.open(ask, (piece) => pieces.push(piece));
  const write = (frame: object) => request.write(encodeLineFrame(frame as LineFrame));
  write({ kind: 'attach', channel: 2, client: arriving(2), registryOffset: 0 });
  if (!('client' in faulty)) {
    write({ kind: 'attach', channel: 1, client: arriving(1), registryOffset: 0 });
  }
  write({ ...faulty, channel: 1 });
  write({ kind: 'request', channel: 2, number: 1, request: callOf('add') });
  await until(() => leader.admitted[0]?.sent.length === 1);
  const frames = () => new LineFrames().take(Buffer.concat(pieces));
  await until(() => frames().some((frame) => frame?.kind === 'ended'));
  const ends = frames().filter((frame) => frame?.kind === 'ended');
  expect(ends).toMatchObject([{ channel: 1, end: { kind: 'closed', code: 1011 } }]);
  expect(leader.admitted.slice(1).map(({ hasLeft, sent }) => [hasLeft, sent])).toEqual(
    'client' in faulty ? [] : [[true, []]],
  );
  expect(leader.desk.clientCount).toBe(1);
});

it('[replication 12.6] an unreadable answer ends its client, and no other', async () => {
  const [one, other] = [new Tester(), new Tester()];
  const place = line.admit(arriving(1), one.sink);
  const otherPlace = line.admit(arriving(2), other.sink);
  place.send(callOf('add'));
  await until(() => leader.admitted[0]?.sent.length === 1);
  const { sink, sent } = leader.admitted[0] as Admitted;
  sink.answered(sent[0] as AttachedRequest, { ...done, outcome: {} } as never);
  await until(() => one.ends.length === 1);
  expect(one.ends).toMatchObject([{ kind: 'closed', code: 1011 }]);
  await until(() => leader.admitted[0]?.hasLeft === true);
  await stays(other, otherPlace, 1);
});

it('[replication 12.6] a line that ended for a fault is lost, not gone on with', async () => {
  const tester = new Tester();
  line.admit(arriving(1), tester.sink);
  await until(() => tester.told.length === 1);
  const [ask] = leader.asks as [LineAsk];
  const { request } = leader.open({ ...ask, isKnown: true }, () => undefined);
  request.write(Buffer.alloc(8));
  await until(() => tester.told.includes('lost'));
  expect([ended, leader.admitted[0]?.hasLeft]).toEqual([1, true]);
  expect(leader.open({ ...ask, isKnown: true }, () => undefined).header).toBe('lost');
});

/** One host's end of a way to the leader, as a host of any version may use it. */
function rawLine() {
  const pieces: Buffer[] = [];
  const ask = { name: 3n, me: bootId(3n), isKnown: false, taken: 0 };
  const { request } = leader.open(ask, (piece) => pieces.push(piece));
  const write = (frame: object) => request.write(encodeLineFrame(frame as LineFrame));
  const ends = () => {
    const frames = new LineFrames().take(Buffer.concat(pieces));
    return frames.filter((frame) => frame?.kind === 'ended');
  };
  const attach = (channel: number) => {
    write({ kind: 'attach', channel, client: arriving(channel), registryOffset: 0 });
  };
  const call = (channel: number, number: number) => {
    write({ kind: 'request', channel, number, request: callOf('add') });
  };
  return { attach, call, ends };
}

const tooMany = { kind: 'closed', code: 1013, reason: 'too many requests' };

it('[replication 12.6] bounds what comes of a client before it is taken', async () => {
  let taken: () => void = () => undefined;
  leader.registry = new Promise<void>((resolve) => {
    taken = resolve;
  });
  const { attach, call, ends } = rawLine();
  for (const channel of [1, 2]) attach(channel);
  for (let number = 1; number <= limits.attachedRequestsMax + 1; number++) call(1, number);
  call(2, 1);
  await until(() => leader.desk.clientCount === 2);
  call(1, limits.attachedRequestsMax + 2);
  await until(() => ends().length > 0);
  taken();
  await until(() => leader.admitted[0]?.sent.length === 1);
  expect(leader.admitted.map(({ client }) => client.connectionId)).toEqual([connectionNumber(2n)]);
  expect([ends(), leader.desk.clientCount]).toMatchObject([[{ channel: 1, end: tooMany }], 1]);
});

it('[replication 12.6] ends who has more requests than a leader takes, and no other', async () => {
  const { attach, call, ends } = rawLine();
  for (const channel of [1, 2]) attach(channel);
  for (let number = 1; number <= limits.attachedRequestsMax + 1; number++) call(1, number);
  await until(() => ends().length > 0);
  call(2, 1);
  await until(() => leader.admitted[1]?.sent.length === 1);
  expect(leader.admitted.map(({ hasLeft }) => hasLeft)).toEqual([true, false]);
  expect([ends(), leader.desk.clientCount]).toMatchObject([[{ channel: 1, end: tooMany }], 1]);
});

it('[replication 12.6] calls that were given up still take places at the leader', async () => {
  const ways: OpenedLine[] = [];
  let isGone = false;
  line.close();
  ended = 0;
  line = new ClientLine({
    client: {
      line: async (_, __, ask) => {
        if (isGone) throw new Error('no way');
        const way = await leader.line(ask);
        ways.push(way);
        return way;
      },
    },
    ...{ me: bootId(1n), leader: { boot: bootId(2n), address: 'a.test:3001' } },
    ...{ hasEnded: () => false, registryOffset: () => 0 },
    onEnd: () => void ended++,
  });
  let now = 0;
  const attachments = new Attachments({ now: () => now, me: 'b', leaderOf: () => line });
  const [busy, other] = [new Tester(), new Tester()];
  const attachment = attachments.attach(newcomer(1), busy.sink);
  const otherAttachment = attachments.attach(newcomer(2), other.sink);
  await until(() => busy.told.length > 0 && other.told.length > 0);
  for (let at = 0; at < limits.attachedRequestsMax; at++) attachment.send(callOf('slow'));
  const [{ sent, sink }] = leader.admitted as [Admitted];
  await until(() => sent.length === limits.attachedRequestsMax);
  // The way is gone for longer than anybody waits, and nobody else leads.
  isGone = true;
  for (const { stream } of ways) stream.close();
  await until(() => !line.isOpen);
  await until(() => {
    now += limits.waitLeaderMillis;
    return busy.told.length > limits.attachedRequestsMax;
  });
  expect(new Set(busy.told.slice(1))).toEqual(new Set(['unknown']));
  isGone = false;
  await until(() => line.isOpen);
  attachment.send(callOf('next'));
  await stays(other, otherAttachment, 1);
  expect([sent.length, attachment.unanswered]).toEqual([limits.attachedRequestsMax, 1]);
  // The leader's answer makes room, and is no second one to its client.
  sink.answered(sent[0] as AttachedRequest, done);
  await until(() => sent.length > limits.attachedRequestsMax);
  expect(sent.at(-1)).toMatchObject({ reducer: 'next' });
  for (const request of sent.slice(1, -1)) sink.answered(request, done);
  sink.answered(sent.at(-1) as AttachedRequest, done);
  await until(() => attachment.unanswered === 0);
  expect(busy.told.slice(limits.attachedRequestsMax + 1)).toEqual(['committed']);
  await stays(busy, attachment, 0);
  for (const one of [attachment, otherAttachment]) one.close();
});

it('[replication 12.6] what was given up does not go to the next leader', async () => {
  let now = 0;
  let lose: DeskSink['lost'] = () => undefined;
  let isReached = true;
  const sent: AttachedRequest[] = [];
  const first: AttachedLeader = {
    hasEnded: false,
    admit: (_, sink) => {
      lose = sink.lost;
      queueMicrotask(() => sink.connected(commitOffset(1)));
      return {
        send: (request) => void sent.push(request),
        ...{ close: async () => undefined, isFull: false },
        get isReached() {
          return isReached;
        },
      };
    },
  };
  let led: AttachedLeader = first;
  const attachments = new Attachments({ now: () => now, me: 'b', leaderOf: () => led });
  const tester = new Tester();
  const attachment = attachments.attach(newcomer(1), tester.sink);
  await until(() => tester.told.length > 0);
  attachment.send(callOf('add'));
  await until(() => sent.length === 1);
  isReached = false;
  attachment.send(callOf('later'));
  await until(() => {
    now += limits.waitLeaderMillis;
    return tester.told.includes('unknown');
  });
  led = line;
  lose(sent);
  await until(() => leader.admitted.length > 0);
  await stays(tester, attachment, 0);
  expect(leader.admitted[0]?.sent).not.toContain(sent[0]);
  expect(tester.told.filter((told) => told === 'unknown').length).toBe(1);
  attachment.close();
});
