import { randomBytes } from 'node:crypto';
import { get, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { type AddressInfo, connect as connectPlain } from 'node:net';
import type { Duplex } from 'node:stream';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { afterEach, expect, it } from 'vitest';
import type { RequestCaller } from '../../src/auth/caller.ts';
import { ClusterSecret } from '../../src/cluster/cluster-secret.ts';
import { type ForwardRequest, LinkClient, UnsentError } from '../../src/cluster/link-client.ts';
import { LinkServer, type LinkServerOptions } from '../../src/cluster/link-server.ts';
import { LinkIdentity } from '../../src/cluster/link-tls.ts';
import { LinkWatch } from '../../src/cluster/link-watch.ts';
import {
  decodeForwarded,
  encodeForwarded,
  type ForwardedClient,
  type ForwardedHead,
  forwardedHeadOf,
} from '../../src/cluster/settled-caller.ts';
import { limits } from '../../src/limits.ts';
import type { SeenHost } from '../../src/shared-log/directory.ts';
import { bootId, hostId } from '../../src/shared-log/host-ids.ts';
import { clusterId } from '../../src/shared-log/log-name.ts';
import {
  callerIdentity,
  type DatabaseIdentity,
  databaseIdentity,
} from '../../src/values/identity-roles.ts';
import { makeCertificate } from '../support/certificate.ts';

const cluster = clusterId(5n);
const secret = ClusterSecret.parse(randomBytes(32).toString('base64'), 'test');
const identity = new LinkIdentity(secret, cluster);
const ends: (() => Promise<void> | void)[] = [];

const caller: RequestCaller = {
  identity: callerIdentity(2n ** 255n + 3n),
  ...{ token: 'a.b.c', payload: '{"sub":"ä"}', tokenId: 'id', isAnonymous: false },
  ...{ address: '192.0.2.1', session: { of: 'x', expiresAt: 9 } },
  capability: {
    database: databaseIdentity(7n),
    by: callerIdentity(8n),
    ...{ readOnly: true, sqlWrites: false, tables: ['t'], rowsMax: 3 },
  },
};
const client: ForwardedClient = {
  ...{ address: '192.0.2.1', sender: 'known', origin: 'https://shop.example' },
  ...{ isOnMachine: false, isConfidential: true },
};
const from = { database: databaseIdentity(9n), isAsked: false, client };
const head: ForwardedHead = { ...from, caller, waitsMillis: 5_000, hops: 1 };

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function serve(more: Partial<LinkServerOptions> = {}) {
  const server = await LinkServer.listen({
    ...{ identity, listen: { host: '127.0.0.1', port: 0 }, boot: bootId(77n) },
    ...{ isHere: () => true, hintFor: () => undefined },
    onRequest: (_, response) => void response.end('here'),
    onUpgrade: (_, stream) => void stream.destroy(),
    onAsk: async (path) => (path === 'ping' ? {} : undefined),
    ...more,
  });
  ends.push(() => server.close());
  return { server, address: `127.0.0.1:${server.port}` };
}

function linkClient(as = identity): LinkClient {
  const made = new LinkClient(as);
  ends.push(() => made.close());
  return made;
}

function asked(more: Partial<ForwardRequest> = {}): ForwardRequest {
  const rawHeaders = ['Host', 'shop.example', 'X-One', '1', 'X-One', '2', 'Connection', 'close'];
  const signal = new AbortController().signal;
  return { method: 'POST', path: '/v1/x?y=1', rawHeaders, body: undefined, head, signal, ...more };
}

async function textOf(answer: Awaited<ReturnType<LinkClient['forward']>>): Promise<string> {
  if (answer.kind !== 'answered') return answer.kind;
  const bytes = await buffer(answer.answer);
  return `${answer.answer.statusCode} ${bytes.toString('utf8')}`;
}

it('[replication 8.1, 8.2] a request arrives as it was sent, with its settled caller', async () => {
  const heads: ForwardedHead[] = [];
  const { address } = await serve({
    onRequest: async (request, response, found) => {
      heads.push(found);
      expect(forwardedHeadOf(request)).toBe(found);
      const { method, url, rawHeaders } = request;
      const body = (await buffer(request)).toString('utf8');
      response.writeHead(201, ['Set-One', 'a', 'Set-One', 'b']);
      response.end(JSON.stringify({ method, url, rawHeaders, body }));
    },
  });
  const forged = ['Reducerdb-Forward', encodeForwarded({ ...head, hops: 0 }), 'reducerdb-x', 'y'];
  const { rawHeaders } = asked();
  const request = asked({ body: Buffer.from('abc'), rawHeaders: [...rawHeaders, ...forged] });
  const answer = await linkClient().forward(address, request);
  if (answer.kind !== 'answered') throw new Error(answer.kind);
  expect(answer.answer.statusCode).toBe(201);
  expect(answer.answer.rawHeaders.join()).toContain('Set-One,a,Set-One,b');
  const seen = JSON.parse((await buffer(answer.answer)).toString('utf8'));
  expect(seen).toMatchObject({ method: 'POST', url: '/v1/x?y=1', body: 'abc' });
  expect(seen.rawHeaders.slice(0, 6)).toEqual(asked().rawHeaders.slice(0, 6));
  expect(seen.rawHeaders.filter((name: string) => /^reducerdb/i.test(name))).toEqual([]);
  expect(heads).toEqual([head]);
});

it('[replication 7.7] who had a secret that was dropped gets no further, by a ticket or as it is', async () => {
  const [old, next] = [0, 1].map(() => randomBytes(32).toString('base64'));
  const own = ClusterSecret.parse(`${old}`, 'test');
  const { server, address } = await serve({ identity: new LinkIdentity(own, cluster) });
  const [, port] = address.split(':');
  const theirs = new LinkIdentity(ClusterSecret.parse(`${old}`, 'test'), cluster);
  const tickets: Buffer[] = [];
  const reach = (session?: Buffer) =>
    new Promise<{ socket: ReturnType<typeof connect>; fault?: Error }>((resolve) => {
      const socket = connect({
        ...{
          host: '127.0.0.1',
          port: Number(port),
          ...theirs.forClient,
          ...(session && { session }),
        },
      });
      socket.on('session', (ticket) => tickets.push(ticket));
      socket.once('error', (fault) => resolve({ socket, fault }));
      socket.once('secureConnect', () => resolve({ socket }));
    });
  const first = await reach();
  expect(first.fault).toBeUndefined();
  first.socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
  await new Promise((resolve) => first.socket.once('data', resolve));
  const gone = new Promise((resolve) => first.socket.once('close', resolve));
  own.replaceBy(ClusterSecret.parse(`${next}`, 'test'));
  server.endConnections();
  for (const ticket of [undefined, ...tickets]) {
    const again = await reach(ticket);
    expect(again.fault).toBeDefined();
    again.socket.destroy();
  }
  await gone;
});

it('[replication 8.2] what is no settled caller of this version is not taken for one', () => {
  expect(decodeForwarded(encodeForwarded(head))).toEqual(head);
  const none = { ...from, isAsked: true, caller: undefined, waitsMillis: 1, hops: 2 };
  expect(decodeForwarded(encodeForwarded(none))).toEqual(none);
  const others = ['', '!', 'e30', Buffer.from('{"hops":1}').toString('base64url')];
  const good = JSON.parse(Buffer.from(encodeForwarded(head), 'base64url').toString('utf8'));
  const odd = [
    { ...good, caller: { identity: 'c0de' } },
    { ...good, database: 'c0de' },
    { ...good, client: { ...client, sender: 'host' } },
    { ...good, client: undefined },
    { ...good, hops: 1.5 },
  ].map((one) => Buffer.from(JSON.stringify(one)).toString('base64url'));
  for (const text of [...others, ...odd]) {
    expect([text, decodeForwarded(text)]).toEqual([text, undefined]);
  }
});

it('[replication 7.8] nobody gets in without the secret, or from another cluster', async () => {
  let count = 0;
  const { server, address } = await serve({
    onRequest: (_, response) => {
      count += 1;
      response.end();
    },
  });
  const other = ClusterSecret.parse(randomBytes(32).toString('base64'), 'test');
  const strangers = [new LinkIdentity(other, cluster), new LinkIdentity(secret, clusterId(6n))];
  for (const stranger of strangers) {
    expect(await linkClient(stranger).forward(address, asked())).toMatchObject({ kind: 'notDone' });
  }
  const plain = new Promise((resolve) => {
    get({ port: server.port, host: '127.0.0.1' }, () => resolve('answered')).on('error', () =>
      resolve('refused'),
    );
  });
  expect(await plain).toBe('refused');
  const withoutKey = new Promise((resolve) => {
    const socket = connect({ port: server.port, host: '127.0.0.1', rejectUnauthorized: false });
    socket.once('secureConnect', () => resolve('connected'));
    socket.once('error', () => resolve('refused'));
  });
  expect(await withoutKey).toBe('refused');
  expect(count).toBe(0);
});

it('[replication 7.8] links are TLS 1.3, and a connection is used again', async () => {
  const protocols = new Set<unknown>();
  const sockets = new Set<unknown>();
  const { address } = await serve({
    onRequest: ({ socket }, response) => {
      sockets.add(socket);
      protocols.add((socket as unknown as { getProtocol(): string }).getProtocol());
      response.end('x');
    },
  });
  const one = linkClient();
  for (let turn = 0; turn < 5; turn++) {
    expect(await textOf(await one.forward(address, asked()))).toBe('200 x');
  }
  expect([[...protocols], sockets.size]).toEqual([['TLSv1.3'], 1]);
});

it('[replication 8.2] 421 means not me, and says who is', async () => {
  const leader = { term: 7, address: '10.0.0.9:3001' };
  const hints = [leader, undefined];
  const asks: DatabaseIdentity[] = [];
  const { address } = await serve({
    isHere: ({ database }) => {
      asks.push(database);
      return false;
    },
    hintFor: () => hints.shift(),
  });
  const one = linkClient();
  expect(await one.forward(address, asked())).toEqual({ kind: 'notDone', leader });
  const none = { kind: 'notDone', leader: undefined };
  expect(await one.forward(address, asked())).toEqual(none);
  expect(asks).toEqual([from.database, from.database]);
  const rawHeaders = ['Upgrade', 'websocket', 'Connection', 'Upgrade'];
  const upgrade = asked({ method: 'GET', rawHeaders });
  hints.push(leader);
  expect(await one.upgrade(address, upgrade, Buffer.alloc(0))).toEqual({ kind: 'notDone', leader });
});

it('[replication 8.2] 421 of a module is an answer; a host that has lost its term says it like this', async () => {
  const answers = [
    { 'reducerdb-host': 'a', 'reducerdb-term': '7', 'reducerdb-leader-address': '10.0.0.9:3001' },
    { 'reducerdb-term': 'x', 'reducerdb-leader-address': '10.0.0.9:3001' },
  ];
  const { address } = await serve({
    onRequest: (_, response) => void response.writeHead(421, answers.shift()).end('not me'),
  });
  const one = linkClient();
  expect(await textOf(await one.forward(address, asked()))).toBe('421 not me');
  expect(await one.forward(address, asked())).toEqual({ kind: 'notDone', leader: undefined });
});

it('[replication 8.6] a body is streamed only to the host that wants it', async () => {
  let isHere = false;
  const { address } = await serve({
    isHere: () => isHere,
    onRequest: (request, response) => void request.pipe(response),
  });
  const body = Readable.from([Buffer.from('one'), Buffer.from('two')]);
  const one = linkClient();
  const refused = await one.forward(address, asked({ body }));
  expect([refused, body.readableDidRead]).toEqual([{ kind: 'notDone', leader: undefined }, false]);
  isHere = true;
  expect(await textOf(await one.forward(address, asked({ body })))).toBe('200 onetwo');
});

it('[replication 8.4] refused is not done; sent and unanswered is unknown', async () => {
  const { server, address } = await serve({ onRequest: ({ socket }) => void socket.destroy() });
  const one = linkClient();
  expect(await one.forward(address, asked())).toEqual({ kind: 'unknown' });
  await server.close();
  expect(await one.forward(address, asked())).toMatchObject({ kind: 'notDone' });
});

it('[replication 8.4] what never left this host is not done, also on a kept connection', async () => {
  const seen: unknown[] = [];
  const { server, address } = await serve({
    onRequest: async (request, response) => {
      seen.push(request.headers.expect, (await buffer(request)).toString('utf8'));
      response.end('x');
    },
  });
  const one = linkClient();
  const body = Buffer.from('[1]');
  expect(await textOf(await one.forward(address, asked({ body })))).toBe('200 x');
  expect(await textOf(await one.forward(address, asked({ body })))).toBe('200 x');
  // The end of the other process was not heard of yet when the request is made.
  const closed = server.close();
  const bodiless = asked({ method: 'GET' });
  expect(await one.forward(address, bodiless)).toMatchObject({ kind: 'notDone' });
  expect(await one.forward(address, asked({ body }))).toMatchObject({ kind: 'notDone' });
  await closed;
  expect(seen).toEqual([undefined, '[1]', undefined, '[1]']);
});

it('[replication 8.4] a host that was quiet and ends before it asks for the body has not begun', async () => {
  const bodies: string[] = [];
  const { cert, key } = makeCertificate();
  const dying = createServer({ ...identity.forServer, cert, key });
  // Its kernel takes what is sent, and the process that would read it has ended.
  dying.on('checkContinue', ({ socket }) => void socket.destroy());
  dying.on('request', async (request) => {
    bodies.push((await buffer(request)).toString('utf8'));
    request.socket.destroy();
  });
  await new Promise<void>((resolve) => dying.listen(0, '127.0.0.1', resolve));
  ends.push(() => void dying.close());
  const address = `127.0.0.1:${(dying.address() as AddressInfo).port}`;
  const body = Buffer.from('[1]');
  expect(await linkClient().forward(address, asked({ body }))).toMatchObject({ kind: 'notDone' });
  await expect(linkClient().askHost(address, 'registry', { body })).rejects.toThrow(UnsentError);
  expect(bodies).toEqual([]);
  // One that was asked for it may have begun.
  dying.removeAllListeners('checkContinue');
  expect(await linkClient().forward(address, asked({ body }))).toEqual({ kind: 'unknown' });
  expect(bodies).toEqual(['[1]']);
});

it('[replication 8.2] a request goes no further than two hosts', async () => {
  const { address } = await serve();
  const far = asked({ head: { ...head, hops: limits.forwardHopsMax + 1 } });
  expect(await textOf(await linkClient().forward(address, far))).toMatch(/^508 .*circle/);
  const last = asked({ head: { ...head, hops: limits.forwardHopsMax } });
  expect(await textOf(await linkClient().forward(address, last))).toBe('200 here');
});

it('[replication 8.6] bodies are streamed in both directions', async () => {
  const { address } = await serve({
    onRequest: (request, response) => void request.pipe(response),
  });
  const bytes = randomBytes(5_000_000);
  const pieces = Array.from({ length: 50 }, (_, at) => bytes.subarray(at * 1e5, (at + 1) * 1e5));
  const answer = await linkClient().forward(address, asked({ body: Readable.from(pieces) }));
  if (answer.kind !== 'answered') throw new Error(answer.kind);
  expect(Buffer.compare(await buffer(answer.answer), bytes)).toBe(0);
});

it('[replication 8.4] a client that leaves takes its request along', async () => {
  let arrived: () => void = () => undefined;
  const isThere = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  let left: () => void = () => undefined;
  const isGone = new Promise<void>((resolve) => {
    left = resolve;
  });
  const { address } = await serve({
    onRequest: (_: IncomingMessage, response: ServerResponse) => {
      response.once('close', left);
      arrived();
    },
  });
  const stop = new AbortController();
  const answer = linkClient().forward(address, asked({ signal: stop.signal }));
  await isThere;
  stop.abort();
  expect(await answer).toEqual({ kind: 'unknown' });
  await isGone;
});

it('[replication 8.1] the request for a WebSocket goes on, and then bytes both ways', async () => {
  const heads: ForwardedHead[] = [];
  const { address } = await serve({
    onUpgrade: (request, stream, first, found) => {
      heads.push(found);
      stream.write(`HTTP/1.1 101 Yes\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
      stream.write(`${request.url} ${request.headers['sec-websocket-key']} ${first}`);
      stream.on('data', (bytes: Buffer) => stream.write(bytes));
    },
  });
  const rawHeaders = ['Upgrade', 'websocket', 'Connection', 'Upgrade', 'Sec-WebSocket-Key', 'k'];
  const request = asked({ method: 'GET', path: '/v1/database/x/subscribe', rawHeaders });
  const answer = await linkClient().upgrade(address, request, Buffer.alloc(0));
  if (answer.kind !== 'upgraded') throw new Error(answer.kind);
  const got: string[] = [];
  answer.stream.on('data', (bytes: Buffer) => got.push(bytes.toString('utf8')));
  answer.stream.write('echo');
  await expect.poll(() => got.join('')).toBe('/v1/database/x/subscribe k echo');
  expect([answer.answer.statusCode, heads]).toEqual([101, [head]]);
  (answer.stream as Duplex).destroy();
});

it('[replication 7.8, 5.7] a process whose address refuses is gone; a silent one is not', async () => {
  const { server, address } = await serve();
  const refused: bigint[] = [];
  const seen = (boot: bigint, at: string): SeenHost => ({
    ...{ host: hostId(boot), boot: bootId(boot), name: 'b', address: at, clientAddress: '' },
    ...{ state: 'up', version: '', formats: [1, 1], memoryBytes: 1, zone: '', ageMillis: 0 },
  });
  const never = '127.0.0.1:1';
  const asking = linkClient();
  let answers = 0;
  const ping = async (at: string) => {
    const found = await asking.ping(at);
    if (at === address) answers += 1;
    return found;
  };
  const watch = new LinkWatch({
    client: { ping, untilBroken: (at, signal) => asking.untilBroken(at, signal) },
    others: () => [seen(77n, address), seen(78n, never)],
    now: () => performance.now(),
    onRefused: (_, boot) => refused.push(boot),
  });
  ends.push(() => watch.close());
  const one = linkClient();
  expect(await one.ping(address)).toEqual({ kind: 'boot', boot: '4d'.padStart(32, '0') });
  await expect.poll(() => answers).toBeGreaterThan(0);
  await server.close();
  await expect.poll(() => refused[0]).toBe(77n);
  // Nobody has ever answered at the other address: it may be wrong.
  expect(refused).not.toContain(78n);
  expect(await one.askHost(address, 'ping').catch(() => 'no answer')).toBe('no answer');
});

it('[replication 8.1] a connection that has not proved yet who it is keeps no host from ending', async () => {
  const { server, address } = await serve();
  const silent = connectPlain(Number(address.split(':')[1]), '127.0.0.1');
  ends.push(() => void silent.destroy());
  const gone = new Promise<string>((resolve) => silent.once('close', () => resolve('gone')));
  silent.on('error', () => undefined);
  // The answer to a request over another connection comes after this one was accepted.
  await new Promise((resolve) => silent.once('connect', resolve));
  await linkClient().ping(address);
  await server.close();
  expect(await gone).toBe('gone');
});

it('[replication 7.8] an end with a certificate instead of the key is no host, whoever signed it', async () => {
  const { cert, key } = makeCertificate();
  const other = createServer({ cert, key }, (_, response) => response.end('forged'));
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  ends.push(() => void other.close());
  const { port } = other.address() as AddressInfo;
  expect(await textOf(await linkClient().forward(`127.0.0.1:${port}`, asked()))).toBe('notDone');
  await expect(linkClient().ping(`127.0.0.1:${port}`)).rejects.toThrow();
  // Also where this end trusts who signed it.
  const trusting = connect({ ...identity.forClient, ca: cert, host: '127.0.0.1', port });
  ends.push(() => void trusting.destroy());
  const error = await new Promise<Error>((resolve) => trusting.once('error', resolve));
  expect(error.message).toBe('the other end does not have the cluster secret');
});

it('[replication 8.1] a header alone makes no WebSocket of a request', async () => {
  const { address } = await serve({
    onUpgrade: (_, stream) => void stream.destroy(),
    onRequest: ({ headers }, response) => void response.end(headers.upgrade ?? 'none'),
  });
  const rawHeaders = [...asked().rawHeaders, 'Upgrade', 'websocket'];
  const request = asked({ method: 'GET', rawHeaders });
  expect(await textOf(await linkClient().forward(address, request))).toBe('200 none');
});

it('[replication 8.6] bodies that come slowly leave room for other requests', async () => {
  const { address } = await serve();
  const sender = linkClient();
  const slow = () => sender.forward(address, asked({ body: silent() }));
  const clients = Array.from({ length: limits.linkStreamsMax }, () => new AbortController());
  const held = clients.map(({ signal }, at) => {
    return sender.forward(address, asked({ body: silent(), signal, head: headOf(at % 9, at % 4) }));
  });
  expect(fullOf(await slow())).toEqual({ of: 'host', max: 250, isStreamed: true });
  // All connections are made: what is asked now waits for none of them.
  await Promise.all(held);
  expect(await textOf(await sender.forward(address, asked()))).toBe('200 here');
  await sender.ping(address);
  for (const left of clients) left.abort();
  let kind = 'overloaded';
  while (kind === 'overloaded') {
    await new Promise((resolve) => setImmediate(resolve));
    ({ kind } = await slow());
  }
  expect(kind).toBe('answered');
});

it('[replication 8.6] a body that brings nothing more is ended', async () => {
  let end: () => void = () => undefined;
  const isEnded = new Promise<void>((resolve) => {
    end = resolve;
  });
  const { address } = await serve({
    onRequest: (request) => void request.on('error', end).once('close', end).resume(),
  });
  const body = silent();
  body.push(Buffer.alloc(300_000));
  const answer = await linkClient().forward(address, asked({ body, bodyIdleMillisMax: 200 }));
  expect(answer.kind).toBe('slowBody');
  await isEnded;
  expect(body.destroyed).toBe(false);
});

it('[replication 8.6] a body that its host takes slowly is not ended', async () => {
  const size = 8 * 1024 * 1024;
  const { address } = await serve({
    onRequest: async (request, response) => {
      await new Promise((resolve) => setTimeout(resolve, 600));
      response.end(String((await buffer(request)).length));
    },
  });
  const body = Readable.from([Buffer.alloc(size)], { objectMode: false });
  const request = asked({ body, bodyIdleMillisMax: 200 });
  expect(await textOf(await linkClient().forward(address, request))).toBe(`200 ${size}`);
});

/** A body of which nothing comes. */
function silent(): Readable {
  return new Readable({ read: () => {} });
}

/** Of one of many callers, for one of many databases. */
function headOf(who: number, where: number): ForwardedHead {
  const identity = callerIdentity(BigInt(1_000 + who));
  const database = databaseIdentity(BigInt(1_000 + where));
  // On this machine, where callers count for no network.
  const client = { ...head.client, address: '127.0.0.1' };
  return { ...head, database, client, caller: { ...caller, identity } };
}

function fullOf(answer: Awaited<ReturnType<LinkClient['forward']>>) {
  if (answer.kind !== 'overloaded') throw new Error(answer.kind);
  const { of, max, isStreamed } = answer.full;
  return { of, max, isStreamed };
}
