import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { type Client, connect } from '../../src/client/index.ts';
import { type ClientMessage, decodeClientMessage } from '../../src/protocol/v2/client-message.ts';
import { encodeServerMessage, type ServerMessage } from '../../src/protocol/v2/server-message.ts';
import { clientMessagesIn } from '../../src/protocol/v3.ts';
import { hero, schemaText, tableRows, update } from './rig.ts';
import type * as tavern from './tavern.ts';

/** A server of few words: real sockets, and answers as a test wants them. */
class Tavern {
  readonly requests: string[] = [];
  readonly received: ClientMessage[] = [];
  readonly sockets: WebSocket[] = [];
  /** What it answers to each message. */
  answer: (message: ClientMessage) => readonly Buffer[] = () => [];
  tokenStatus = 200;
  readonly #http: Server;
  readonly #sockets: WebSocketServer;

  constructor(protocol: 'v3.bsatn.spacetimedb' | 'v2.bsatn.spacetimedb') {
    this.#http = createServer((request, response) => {
      this.requests.push(
        `${request.method} ${request.url} ${request.headers.authorization ?? '-'}`,
      );
      const isToken = request.url === '/v1/identity/websocket-token';
      response.statusCode = isToken ? this.tokenStatus : 200;
      response.end(isToken ? '{"token":"short"}' : schemaText);
    });
    this.#sockets = new WebSocketServer({ server: this.#http, handleProtocols: () => protocol });
    this.#sockets.on('connection', (socket, request) => {
      // Sockets differ in whether a blank follows a comma.
      const offers = request.headers['sec-websocket-protocol']?.split(/,\s*/).join();
      this.requests.push(`${request.url} ${offers}`);
      this.sockets.push(socket);
      const token = 'issued';
      socket.send(frame({ kind: 'initialConnection', identity: 7n, connectionId: 9n, token }));
      socket.on('message', (data: Buffer) => {
        const isPacked = protocol.startsWith('v3');
        for (const message of isPacked ? clientMessagesIn(data) : [decodeClientMessage(data)]) {
          this.received.push(message);
          for (const answer of this.answer(message)) socket.send(answer);
        }
      });
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#http.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.terminate();
    this.#sockets.close();
    await new Promise((resolve) => this.#http.close(resolve));
  }
}

function frame(message: ServerMessage): Buffer {
  return Buffer.from([0, ...encodeServerMessage(message)]);
}

function zipped(message: ServerMessage): Buffer {
  return Buffer.concat([Buffer.of(2), gzipSync(encodeServerMessage(message))]);
}

function applied(message: ClientMessage, ...heroes: object[]): ServerMessage {
  if (message.kind !== 'subscribe') throw new Error(message.kind);
  const { requestId, querySetId } = message;
  const tables = [tableRows('hero', ...heroes)];
  return { kind: 'subscribeApplied', requestId, querySetId, tables };
}

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function open(
  protocol: 'v3.bsatn.spacetimedb' | 'v2.bsatn.spacetimedb' = 'v3.bsatn.spacetimedb',
  change: (server: Tavern) => void = () => {},
  token?: string,
): Promise<{ server: Tavern; client: Client<typeof tavern> }> {
  const server = new Tavern(protocol);
  change(server);
  const uri = await server.listen();
  ends.push(() => server.close());
  // On Node 20 the library finds `ws` by itself.
  const client = connect<typeof tavern>({ uri, database: 'tavern', ...(token && { token }) });
  ends.push(() => client.disconnect());
  return { server, client };
}

function state(client: Client<typeof tavern>, kind: string): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (client.state.get().kind === kind) resolve();
    };
    client.state.subscribe(look);
    look();
  });
}

describe('real sockets', () => {
  it.each(['v3.bsatn.spacetimedb', 'v2.bsatn.spacetimedb'] as const)(
    '[websocket 12] %s: connects, reads the schema, subscribes, calls',
    async (protocol) => {
      const { server, client } = await open(protocol, (tavernServer) => {
        tavernServer.answer = (message) => {
          if (message.kind === 'subscribe') return [frame(applied(message, hero(1), hero(2)))];
          const { requestId } = message;
          const outcome = { kind: 'okEmpty' } as const;
          return [frame({ kind: 'reducerResult', requestId, timestamp: 1n, outcome })];
        };
      });
      const subscription = client.subscribe((q) => q.hero);
      const call = client.reducers.say({ room: 'hall', text: 'hi' });
      await Promise.all([subscription.applied, call]);
      expect([...client.db.hero].map(({ nick }) => nick)).toEqual(['hero 1', 'hero 2']);
      expect(server.received.map(({ kind }) => kind)).toEqual(['subscribe', 'callReducer']);
      expect(client.token).toBe('issued');
      expect(server.requests.sort()).toEqual([
        '/v1/database/tavern/subscribe?compression=Gzip&dialect=full ' +
          'v3.bsatn.reducerdb,v3.bsatn.spacetimedb,v2.bsatn.spacetimedb',
        'GET /v1/database/tavern/schema?version=10 -',
      ]);
    },
  );

  it('[client-sdk 19] says why the server has closed it, and comes back', async () => {
    const { server, client } = await open();
    await state(client, 'live');
    const waiting = state(client, 'waiting');
    server.sockets[0]?.close(1012, 'The service restarts');
    await waiting;
    expect(client.state.get()).toMatchObject({
      kind: 'waiting',
      offline: false,
      error: {
        code: 'socket.closed',
        message: 'closed: 1012 The service restarts',
        cause: { code: 1012, reason: 'The service restarts' },
      },
    });
    await state(client, 'live');
    expect(server.sockets.length).toBe(2);
  });

  it('[websocket 4, client-sdk 6.1] applies frames in the order in which they came, compressed or not', async () => {
    const { client } = await open('v3.bsatn.spacetimedb', (server) => {
      server.answer = (message) => {
        const many = Array.from({ length: 2_000 }, (_, id) => hero(id));
        const gone = update({ querySetId: 0, table: 'hero', deletes: [hero(0)] });
        const back = update({ querySetId: 0, table: 'hero', inserts: [hero(0)] });
        return [zipped(applied(message, ...many)), frame(gone), zipped(back), frame(gone)];
      };
    });
    const seen: string[] = [];
    client.db.hero.onInsert((_ctx, { id }) => id === 0 && seen.push('+'));
    const finished = new Promise<void>((resolve) => {
      client.db.hero.onDelete(() => {
        seen.push('-');
        if (seen.length === 4) resolve();
      });
    });
    client.subscribe((q) => q.hero);
    await finished;
    expect(seen).toEqual(['+', '-', '+', '-']);
    expect(client.db.hero.count()).toBe(1_999n);
  });

  it('[websocket 1] exchanges a token for one that may stand in a URL', async () => {
    const { server, client } = await open('v3.bsatn.spacetimedb', () => {}, 'long lived');
    await state(client, 'live');
    expect(client.token).toBe('long lived');
    expect(server.requests).toContain('POST /v1/identity/websocket-token Bearer long lived');
    expect(server.requests.some((line) => line.includes('subscribe?token=short&'))).toBe(true);
  });

  it('[client-sdk 13] does not try again when the token is refused', async () => {
    const refuse = (server: Tavern) => {
      server.tokenStatus = 401;
    };
    const { client } = await open('v3.bsatn.spacetimedb', refuse, 'forged');
    await state(client, 'closed');
    const closed = client.state.get();
    expect(closed.kind === 'closed' && closed.error).toMatchObject({
      code: 'token.refused',
      status: 401,
    });
  });

  it('[client-sdk 13] comes back with its subscriptions when the socket is cut', async () => {
    let heroes = [hero(1), hero(2)];
    const { server, client } = await open('v3.bsatn.spacetimedb', (tavernServer) => {
      tavernServer.answer = (message) => [frame(applied(message, ...heroes))];
    });
    await client.subscribe((q) => q.hero).applied;
    const tags: string[] = [];
    const changed = new Promise<void>((resolve) => {
      client.db.hero.onInsert(({ event }, { id }) => {
        tags.push(`${event.tag} ${id}`);
        resolve();
      });
    });
    heroes = [hero(1), hero(2), hero(3)];
    server.sockets[0]?.terminate();
    await state(client, 'waiting');
    client.retryNow();
    await changed;
    expect(tags).toEqual(['Reconnected 3']);
    expect(server.sockets).toHaveLength(2);
  });
});
