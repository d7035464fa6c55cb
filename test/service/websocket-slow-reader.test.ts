import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeClientMessage } from '../../src/protocol/v2/client-message.ts';
import { serverMessagesIn } from '../../src/protocol/v3.ts';
import { figureIn } from './figure.ts';
import { type Person, Running } from './running.ts';
import { bodyOf, SocketClient } from './socket-client.ts';
import { encoded, Guest } from './socket-guest.ts';
import { tavern } from './tavern-module.ts';

const mebibyte = 1024 * 1024;
const query = 'compression=None&confirmed=false';
const websocket = {
  pingMillis: 100,
  idleMillis: 3_000,
  messagesOutMax: 1_000,
  bytesOutMax: 48 * mebibyte,
};

let running: Running;
let owner: Person;
let others: Others;

beforeAll(async () => {
  // In one thread, so that what is held can be measured: garbage of another cannot be collected.
  running = await Running.start({ websocket, placement: 'local' });
  owner = await running.person();
  const { status, text } = await running.upload('tavern', await tavern(), owner);
  if (status !== 200) throw new Error(text);
  others = await Others.arrive();
});
afterAll(() => running.stop());

describe('a client that stops reading, and sends pings all the time', () => {
  it.each([
    { bound: 'messages', tuneBytes: 20_000, max: websocket.messagesOutMax, unit: 1 },
    { bound: 'bytes', tuneBytes: 400_000, max: websocket.bytesOutMax, unit: 400_100 },
  ] as const)(
    '[websocket 11] is given up at the bound of $bound, and nobody else',
    async (given) => {
      const { bound, tuneBytes, max, unit } = given;
      const slow = await slowReader();
      pingOften(slow);
      const before = await figures();
      const heldBefore = await settledBytes();
      const connection = slow.first?.connectionId;
      expect(await hasLeft(connection)).toBe(false);

      let last = before;
      while (last[bound] < max * 0.9) {
        await others.hear(10, tuneBytes);
        last = await figures();
        expect(last.connections).toBe(before.connections);
      }
      expect(heldBytes() - heldBefore).toBeGreaterThan(last.bytes * 0.8);

      let now = last;
      while (now.dropped === before.dropped) {
        last = now;
        await others.hear(1, tuneBytes);
        now = await figures();
      }
      expect(last[bound]).toBeLessThanOrEqual(max);
      expect(last[bound]).toBeGreaterThan(max - unit);

      const connections = before.connections - 1;
      const sets = before.sets - 1;
      const dropped = before.dropped + 1;
      expect(now).toEqual({ connections, sets, dropped, messages: 0, bytes: 0 });
      await expect.poll(() => hasLeft(connection)).toBe(true);
      slow.client.socket.resume();
      expect((await slow.client.ended).code).toBe(1006);
      slow.client.frames.splice(0);
      // The log, which is in this thread too, may keep a buffer of 8 MiB.
      await expect.poll(() => heldBytes() - heldBefore).toBeLessThan(12 * mebibyte);

      await others.hear(10, tuneBytes);
      expect((await figures()).dropped).toBe(dropped);
    },
    120_000,
  );

  it('[websocket 11] stays while it may, and gets everything later, and its last pong', async () => {
    const slow = await slowReader();
    const stopPings = pingOften(slow);
    const begun = others.heardCount;
    const before = await figures();
    for (let waiting = 0; waiting < 100; ) {
      await others.hear(10, 20_000);
      const { connections, messages } = await figures();
      expect(connections).toBe(before.connections);
      waiting = messages;
    }
    // Each of them would be answered by a pong that waits, too.
    for (let at = 0; at < 1_000; at += 1) slow.client.socket.ping();
    await others.hear(10, 20_000);
    stopPings();
    slow.client.socket.ping('the last one');
    const pongs: string[] = [];
    slow.client.socket.on('pong', (data) => pongs.push(String(data)));
    slow.client.socket.resume();
    for (let at = begun; at < others.heardCount; at += 1) await slow.expect('transactionUpdate');
    await expect.poll(() => pongs).toContain('the last one');
    expect(await figures()).toEqual({ ...before, messages: 0, bytes: 0 });
    await slow.client.close();
  }, 90_000);

  it('[websocket 11] is heard when the service stood still for longer than it may be silent', async () => {
    const slow = await slowReader();
    await pause(websocket.idleMillis / 2);
    slow.client.socket.ping();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, websocket.idleMillis);
    await pause(websocket.idleMillis / 2);
    slow.client.socket.resume();
    slow.call(1, 'nothing');
    expect((await slow.expect('reducerResult')).outcome.kind).toBe('ok');
    await slow.client.close();
  }, 90_000);
});

/** A client that watches what rings, and does not read on from now. */
async function slowReader(): Promise<Guest> {
  const slow = await Guest.arrive(running.service.url, 'tavern', { query });
  slow.subscribe(1, 0, 'SELECT * FROM ring');
  await slow.expect('subscribeApplied');
  slow.client.socket.pause();
  return slow;
}

/** Returns what stops it before the connection ends. */
function pingOften({ client }: Guest): () => void {
  const pings = setInterval(() => client.socket.ping(), 20);
  const stop = () => clearInterval(pings);
  void client.ended.then(stop);
  return stop;
}

/** One who rings and one who hears it. They keep nothing of what they are told. */
class Others {
  readonly #caller: SocketClient;
  #heard = 0;
  #answered = 0;
  #wake = (): void => undefined;

  private constructor(caller: SocketClient, watcher: SocketClient) {
    this.#caller = caller;
    for (const client of [caller, watcher]) {
      client.socket.on('message', () => {
        for (const frame of client.frames.splice(0)) this.#count(bodyOf(frame));
      });
    }
  }

  static async arrive(): Promise<Others> {
    const open = () => SocketClient.open(running.service.url, 'tavern', { query });
    const [caller, watcher] = await Promise.all([open(), open()]);
    const others = new Others(caller, watcher);
    const queries = ['SELECT * FROM ring'];
    const subscribe = { kind: 'subscribe', requestId: 1, querySetId: 0, queries } as const;
    watcher.send(encodeClientMessage(subscribe));
    while ((await figures()).sets === 0) await pause(10);
    return others;
  }

  get heardCount(): number {
    return this.#heard;
  }

  /** Returns when all of so many calls are answered, and heard. */
  async hear(count: number, tuneBytes: number): Promise<void> {
    const args = encoded(['x'.repeat(tuneBytes)]);
    const call = { kind: 'callReducer', requestId: 1, reducer: 'ring_it', args } as const;
    const [heard, answered] = [this.#heard + count, this.#answered + count];
    for (let at = 0; at < count; at += 1) this.#caller.send(encodeClientMessage(call));
    while (this.#heard < heard || this.#answered < answered) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    expect([this.#heard, this.#answered]).toEqual([heard, answered]);
  }

  #count(body: Uint8Array): void {
    for (const { kind } of serverMessagesIn(body)) {
      if (kind === 'transactionUpdate') this.#heard += 1;
      if (kind === 'reducerResult') this.#answered += 1;
    }
    this.#wake();
  }
}

/** The module has run `client_disconnected` for the connection. */
async function hasLeft(connection: bigint | undefined): Promise<boolean> {
  const left = `SELECT * FROM visit WHERE kind = 'left' AND connection = ${connection}`;
  return (await running.rows('tavern', left, owner)).length === 1;
}

async function figures() {
  const { text } = await running.ask('GET', '/v1/metrics');
  const figure = (name: string) => figureIn(text, name);
  return {
    connections: figure('socket_connections'),
    sets: figure('query_sets'),
    dropped: figure('socket_dropped_total'),
    messages: figure('socket_queued_messages'),
    bytes: figure('socket_queued_bytes'),
  };
}

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** Bytes of all buffers that somebody refers to, of the service and of its clients here. */
/** After what was held for a publish, or for clients that have left, is gone. */
async function settledBytes(): Promise<number> {
  for (let last = heldBytes(); ; ) {
    await pause(300);
    const now = heldBytes();
    if (now > last - mebibyte / 4) return now;
    last = now;
  }
}

function heldBytes(): number {
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}

function pause(millis: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, millis));
}
