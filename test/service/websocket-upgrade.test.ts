import { request } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { converse } from './raw-http.ts';
import { type Person, Running } from './running.ts';
import { SocketClient } from './socket-client.ts';
import { tavern } from './tavern-module.ts';

let running: Running;
let owner: Person;
let identity: string;

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
  await running.upload('tavern', await tavern(), owner);
  identity = (await running.ask('GET', '/v1/database/tavern/identity')).text;
});
afterAll(() => running.stop());

const usual = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  'sec-websocket-protocol': 'v2.bsatn.spacetimedb',
};

interface Knocked {
  readonly status: number;
  readonly text: string;
  readonly protocol: string | undefined;
  readonly extensions?: string | undefined;
}

/** The answer to a request for an upgrade; headers that are `undefined` are left out. */
function knock(
  where: string,
  headers: Readonly<Record<string, string | undefined>> = {},
): Promise<Knocked> {
  const all = Object.entries({ ...usual, ...headers }).filter(([, value]) => value !== undefined);
  return new Promise((resolve, reject) => {
    const asked = request(`${running.service.url}/v1/database/${where}`, {
      headers: Object.fromEntries(all) as Record<string, string>,
      agent: false,
    });
    asked.on('error', reject);
    asked.on('upgrade', (answer, socket) => {
      socket.destroy();
      const { 'sec-websocket-protocol': protocol, 'sec-websocket-extensions': extensions } =
        answer.headers;
      resolve({ status: answer.statusCode ?? 0, text: '', protocol, extensions });
    });
    asked.on('response', (answer) => {
      let text = '';
      answer.on('data', (chunk) => {
        text += chunk;
      });
      answer.on('end', () => {
        resolve({ status: answer.statusCode ?? 0, text, protocol: undefined });
      });
    });
    asked.end();
  });
}

describe('an upgrade', () => {
  it.each([
    ['v1.json.spacetimedb, v1.bsatn.spacetimedb', 'v1.bsatn.spacetimedb'],
    ['v2.bsatn.spacetimedb,v3.bsatn.spacetimedb', 'v3.bsatn.spacetimedb'],
    ['chat, v1.json.spacetimedb', 'v1.json.spacetimedb'],
    ['v2.bsatn.spacetimedb', 'v2.bsatn.spacetimedb'],
    ['v2.bsatn.spacetimedb, v2.bsatn.spacetimedb', 'v2.bsatn.spacetimedb'],
    [', a/b,v1.bsatn.spacetimedb,', 'v1.bsatn.spacetimedb'],
  ])('[websocket 2] offers %s: takes %s', async (offers, chosen) => {
    const answer = await knock('tavern/subscribe', { 'sec-websocket-protocol': offers });
    expect(answer).toEqual({ status: 101, text: '', protocol: chosen });
  });

  it('[durability 2.1, D3] waits for the disk unless told not to, but in version 1', async () => {
    const live = vi.spyOn(running.service.host.database('tavern').handle, 'live');
    const isConfirmed = async (version: string, query: string) => {
      const offer = { 'sec-websocket-protocol': `${version}.bsatn.spacetimedb` };
      expect((await knock(`tavern/subscribe${query}`, offer)).status).toBe(101);
      return live.mock.calls.at(-1)?.[0].confirmed;
    };
    for (const version of ['v1', 'v2', 'v3']) {
      expect(await isConfirmed(version, '')).toBe(version !== 'v1');
      expect(await isConfirmed(version, '?confirmed=true')).toBe(true);
      expect(await isConfirmed(version, '?confirmed=false')).toBe(false);
    }
    live.mockRestore();
  });

  it('[websocket 1, interface 2] is reached by name and by identity', async () => {
    expect((await knock('tavern/subscribe')).status).toBe(101);
    expect((await knock(`${identity}/subscribe`)).status).toBe(101);
    expect((await knock(`0x${identity}/subscribe`)).status).toBe(101);
  });

  it('[websocket 1] takes no extension that is offered', async () => {
    const offer = { 'sec-websocket-extensions': 'permessage-deflate; client_max_window_bits' };
    const answer = await knock('tavern/subscribe', offer);
    expect(answer).toMatchObject({ status: 101, extensions: undefined });
  });

  it.each<[string, string, Record<string, string | undefined>, number, string]>([
    ['no version', 'tavern/subscribe', { 'sec-websocket-version': undefined }, 400, version()],
    ['version 8', 'tavern/subscribe', { 'sec-websocket-version': '8' }, 400, version()],
    [
      'no key',
      'tavern/subscribe',
      { 'sec-websocket-key': undefined },
      400,
      '`Sec-WebSocket-Key` header missing',
    ],
    [
      'no protocol',
      'tavern/subscribe',
      { 'sec-websocket-protocol': undefined },
      400,
      'no valid protocol selected',
    ],
    [
      'an unknown protocol',
      'tavern/subscribe',
      { 'sec-websocket-protocol': 'v9.bsatn.spacetimedb' },
      400,
      'no valid protocol selected',
    ],
    [
      'a name that is none',
      'No_name/subscribe',
      { 'sec-websocket-version': undefined },
      400,
      'Invalid URL: invalid characters in database name',
    ],
    ['an unknown name', 'inn/subscribe', {}, 404, '`inn` not found'],
    ['a strange identity', `${'ab'.repeat(32)}/subscribe`, {}, 404, 'No such database.'],
    [
      'the id zero',
      `tavern/subscribe?connection_id=${'0'.repeat(32)}`,
      {},
      400,
      'Invalid connection ID: the all-zeros ConnectionId is reserved.',
    ],
    ['a bad token', 'tavern/subscribe?token=x', {}, 401, 'Invalid token: InvalidToken'],
    [
      'a malformed header',
      'tavern/subscribe',
      { authorization: 'Basic eDp5' },
      400,
      'Authorization is invalid: malformed token',
    ],
    ['another path', 'tavern/call/add', {}, 405, ''],
  ])('[websocket 1] with %s is refused', async (_, where, headers, status, text) => {
    expect(await knock(where, headers)).toEqual({ status, text, protocol: undefined });
  });

  it.each([
    'light=1',
    'confirmed=yes',
    'compression=gzip',
    'connection_id=12',
    `connection_id=0x${'1'.repeat(30)}`,
    'light=true&light=true',
    'dialect=wide',
  ])('[websocket 1] with the query %s is refused', async (query) => {
    const { status, text } = await knock(`tavern/subscribe?${query}`);
    expect(status).toBe(400);
    expect(text).toMatch(/^Failed to deserialize query string/);
  });

  it('[websocket 1] unknown parameters are ignored', async () => {
    expect((await knock('tavern/subscribe?unknown=1&light=true')).status).toBe(101);
  });

  it('[websocket 1] what is no request for one is told so', async () => {
    const { status, text } = await running.ask('GET', '/v1/database/tavern/subscribe');
    expect({ status, text }).toEqual({
      status: 426,
      text: 'This service requires use of the websocket protocol',
    });
    const other = await knock('tavern/subscribe', { upgrade: 'h2c' });
    expect(other).toMatchObject({ status: 426 });
  });

  it('another protocol than WebSocket is not needed: the request is answered', async () => {
    const answer = await knock('tavern', { upgrade: 'h2c', 'sec-websocket-key': undefined });
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.text)).toHaveProperty('database_identity');
  });

  it.each([
    ['at once', (text: string) => [text]],
    ['in pieces', (text: string) => text.split(/(?=[:,])/)],
    ['head first', (text: string) => text.split(/(?<=\r\n\r\n)/)],
  ])('nor with a body that comes %s', async (_, cut) => {
    // As `curl --http2` and others ask whom they do not know yet.
    const offer = 'connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk';
    const words = 'x'.repeat(100_000);
    const message = { name: 'ping', arguments: { message: words } };
    const ping = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: message };
    const body = JSON.stringify(ping);
    const type = `content-type: application/json\r\ncontent-length: ${body.length}`;
    const head = `POST /v1/mcp HTTP/1.1\r\nhost: localhost\r\n${offer}\r\n${type}`;
    const pieces = cut(`${head}\r\n\r\n${body}`).map((piece) => Buffer.from(piece));
    const { port } = running.service.address;
    const sent = { pieces, pauseMillis: 5, answersMin: 1, quietMillis: 10_000 };
    const { answers, hasEnded } = await converse(port, sent);
    expect(answers.map(({ status }) => status)).toEqual([200]);
    expect(answers[0]?.headers.connection).toBe('close');
    expect(JSON.parse(String(answers[0]?.body)).result.content[0].text).toBe(`pong: ${words}`);
    expect(hasEnded).toBe(true);
  });

  it('a client that leaves in the middle leaves nothing behind', async () => {
    const { port } = running.service.address;
    for (let at = 0; at < 20; at += 1) {
      const socket = connect(port, '127.0.0.1');
      await new Promise((resolve) => socket.once('connect', resolve));
      const lines = Object.entries(usual).map(([name, value]) => `${name}: ${value}`);
      socket.write(`GET /v1/database/tavern/subscribe HTTP/1.1\r\nhost: localhost\r\n`);
      socket.write(`${lines.join('\r\n')}\r\n\r\n`);
      socket.destroy();
    }
    const connected = async () => {
      const { text } = await running.ask('GET', '/v1/metrics');
      return /^reducerdb_socket_connections (\d+)$/m.exec(text)?.[1];
    };
    await expect.poll(connected).toBe('0');
    const clients = () => running.rows('tavern', 'SELECT * FROM st_client', owner);
    await expect.poll(async () => (await clients()).length).toBe(1);
  });

  it('[websocket 3] a client that was connected when the process ended has left', async () => {
    const client = await SocketClient.open(running.service.url, 'tavern');
    await client.frame();
    expect(await running.rows('tavern', 'SELECT * FROM st_client', owner)).toHaveLength(2);
    await client.close();
  });
});

function version(): string {
  return "`Sec-WebSocket-Version` header did not include '13'";
}
