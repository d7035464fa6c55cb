import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeClientMessage } from '../../src/protocol/v2/client-message.ts';
import { type Person, Running } from './running.ts';
import { SocketClient } from './socket-client.ts';
import { encoded, Guest } from './socket-guest.ts';
import { tavern } from './tavern-module.ts';

let running: Running;
let owner: Person;

const websocket = {
  pingMillis: 60,
  idleMillis: 1_000,
  messagesInMax: 500,
  bytesInMax: 100_000,
};

beforeAll(async () => {
  running = await Running.start({ websocket });
  owner = await running.person();
  const { status, text } = await running.upload('tavern', await tavern(), owner);
  if (status !== 200) throw new Error(text);
});
afterAll(() => running.stop());

const arrive = (query = 'compression=None') =>
  Guest.arrive(running.service.url, 'tavern', { query });

const call = (requestId: number, reducer: string, ...args: (string | number)[]) =>
  encodeClientMessage({ kind: 'callReducer', requestId, reducer, args: encoded(args) });

/** True when the database serves others. */
async function serves(): Promise<boolean> {
  const guest = await arrive();
  guest.call(1, 'nothing');
  const { outcome } = await guest.expect('reducerResult');
  await guest.client.close();
  return outcome.kind === 'ok';
}

describe('the bounds of a connection', () => {
  it('[websocket 11] pings at once and again, and keeps who answers', async () => {
    const guest = await arrive();
    let pings = 0;
    guest.client.socket.on('ping', () => {
      pings += 1;
    });
    await expect.poll(() => pings).toBeGreaterThan(5);
    expect(guest.client.socket.readyState).toBe(1);
    await guest.client.close();
  });

  it('[websocket 11] drops who is silent, without a close frame', async () => {
    const guest = await arrive();
    guest.client.socket.pause();
    const begun = Date.now();
    guest.client.socket.on('ping', () => undefined);
    const dropped = async () => {
      const rows = await running.rows('tavern', 'SELECT * FROM st_client', owner);
      return rows.length;
    };
    await expect.poll(dropped, { timeout: 5_000 }).toBe(1);
    expect(Date.now() - begun).toBeGreaterThan(900);
    guest.client.socket.resume();
    expect((await guest.client.ended).code).toBe(1006);
  });

  it('[websocket 11] ends a flood with 1013', async () => {
    const guest = await arrive();
    // One frame of many small messages, so that they come faster than they are answered.
    const flood = await SocketClient.open(running.service.url, 'tavern', {
      protocols: ['v3.bsatn.spacetimedb'],
      query: 'compression=None',
    });
    flood.send(Buffer.concat(Array.from({ length: 2_000 }, (_, at) => call(at, 'nothing'))));
    expect(await flood.ended).toEqual({ code: 1013, reason: 'too many requests' });
    guest.call(1, 'nothing');
    expect((await guest.expect('reducerResult')).outcome.kind).toBe('ok');
    await guest.client.close();
  });

  it('[websocket 11] ends a flood of version 1 with 1013, before it is let in, too', async () => {
    const client = SocketClient.begin(running.service.url, 'tavern', {
      protocols: ['v1.json.spacetimedb'],
    });
    await new Promise((resolve) => client.socket.once('open', resolve));
    for (let at = 0; at < 2_000; at += 1) {
      client.send(JSON.stringify({ OneOffQuery: { message_id: '01', query_string: 'SELECT' } }));
    }
    expect(await client.ended).toEqual({ code: 1013, reason: 'too many requests' });
  });

  it('reads no further ahead than the bytes allow, and loses nothing', async () => {
    const guest = await arrive();
    const name = 'x'.repeat(40_000);
    for (let id = 0; id < 60; id += 1) guest.call(id, 'add', id, name, 1);
    for (let id = 0; id < 60; id += 1) {
      const { requestId, outcome } = await guest.expect('reducerResult');
      expect([requestId, outcome.kind]).toEqual([id, 'ok']);
    }
    await guest.client.close();
  });

  it('[websocket 11] drops a message that is too large, without a close frame', async () => {
    const guest = await arrive();
    guest.client.send(new Uint8Array(32 * 1024 * 1024 + 1));
    expect((await guest.client.ended).code).toBe(1006);
    expect(await serves()).toBe(true);
  });

  it('[websocket 11] refuses frames that are not masked', async () => {
    const guest = await arrive();
    const { _socket: stream } = guest.client.socket as unknown as {
      _socket: { write(bytes: Uint8Array): void };
    };
    stream.write(Uint8Array.of(0x82, 1, 0));
    expect((await guest.client.ended).code).toBe(1006);
  });

  it('[websocket 11] answers pings, and a close with its own code', async () => {
    const { client } = await arrive();
    const pong = new Promise((resolve) => client.socket.once('pong', (data) => resolve(`${data}`)));
    client.socket.ping('still there?');
    expect(await pong).toBe('still there?');
    client.socket.close(4001, 'enough');
    expect(await client.ended).toEqual({ code: 4001, reason: 'enough' });
  });

  it('[websocket 4] puts messages together that come in pieces', async () => {
    const guest = await arrive();
    const message = call(7, 'nothing');
    guest.client.socket.send(message.subarray(0, 3), { fin: false });
    guest.client.socket.ping();
    guest.client.socket.send(message.subarray(3), { fin: true });
    expect(await guest.expect('reducerResult')).toMatchObject({ requestId: 7 });
    await guest.client.close();
  });

  it('[websocket 11] waits a moment for the answer to a close, and no longer', async () => {
    const guest = await arrive();
    const open = async () => {
      const { text } = await running.ask('GET', '/v1/metrics');
      return Number(/^reducerdb_socket_connections (\d+)$/m.exec(text)?.[1]);
    };
    const before = await open();
    guest.client.send(Uint8Array.of(99));
    guest.client.socket.pause();
    await expect.poll(open, { timeout: 5_000 }).toBe(before - 1);
    guest.client.socket.resume();
    expect((await guest.client.ended).code).toBe(1011);
  });

  it('survives frames of anything', async () => {
    const seed = randomBytes(4).readUInt32LE();
    const next = random(seed);
    const versions = ['v3.bsatn', 'v2.bsatn', 'v1.bsatn', 'v1.json'];
    const messages = [
      call(1, 'add', 70_000, 'x', 1),
      encodeClientMessage({ kind: 'subscribe', requestId: 1, querySetId: 2, queries: ['SELECT'] }),
    ];
    for (let round = 0; round < 120; round += 1) {
      const version = versions[round % versions.length] as string;
      const socket = await SocketClient.open(running.service.url, 'tavern', {
        protocols: [`${version}.spacetimedb`],
      });
      for (let at = 0; at < 5; at += 1) {
        const message = Uint8Array.from(messages[next(messages.length)] as Uint8Array);
        for (let change = next(4); change > 0; change -= 1) {
          message[next(message.length)] = next(256);
        }
        const cut = message.subarray(0, next(message.length + 1));
        socket.send(next(4) === 0 ? Buffer.from(cut).toString('latin1') : cut);
      }
      const ended = await Promise.race([socket.ended, new Promise((done) => setTimeout(done, 20))]);
      if (ended === undefined) await socket.close();
      else expect([1006, 1011], `seed ${seed}`).toContain((ended as { code: number }).code);
    }
    expect(await serves(), `seed ${seed}`).toBe(true);
    const count = async () =>
      (await running.rows('tavern', 'SELECT * FROM st_client', owner)).length;
    await expect.poll(count, { timeout: 5_000 }).toBe(1);
  }, 90_000);
});

/** Numbers below a bound, from a seed. */
function random(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}
