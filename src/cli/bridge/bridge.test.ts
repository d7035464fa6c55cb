import { afterEach, describe, expect, it, vi } from 'vitest';
import { limits } from '../../limits.ts';
import { Bridge, type Parcel } from './bridge.ts';
import type { ServiceAnswer } from './service-message.ts';

/** A client, and a service that does not answer until `answerAll`. */
class Surroundings {
  readonly written: string[] = [];
  readonly parcels: Parcel[] = [];
  /** Lines read from the client so far. */
  readCount = 0;
  readonly ended: Promise<void>;
  readonly #answers: (() => void)[] = [];

  constructor(lines: Iterable<string>) {
    const bridge = new Bridge({
      input: this.#input(lines),
      write: async (line) => void this.written.push(line),
      send: (parcel) => this.#send(parcel),
    });
    this.ended = bridge.run();
  }

  /** Answers all requests that have arrived; later ones wait again. */
  answerAll(): void {
    for (const answer of this.#answers.splice(0)) answer();
  }

  async *#input(lines: Iterable<string>): AsyncGenerator<Uint8Array> {
    for (const line of lines) {
      this.readCount += 1;
      yield Buffer.from(`${line}\n`);
    }
  }

  #send(parcel: Parcel): Promise<ServiceAnswer> {
    this.parcels.push(parcel);
    return new Promise((resolve, reject) => {
      parcel.signal.addEventListener('abort', () => reject(new Error('given up')));
      this.#answers.push(() => resolve(answerTo(parcel.body)));
    });
  }
}

function answerTo(body: string): ServiceAnswer {
  const { id } = JSON.parse(body);
  const text = JSON.stringify({ jsonrpc: '2.0', id, result: {} });
  return {
    statusCode: 200,
    headers: { 'content-type': 'application/json' },
    async *[Symbol.asyncIterator]() {
      yield Buffer.from(text);
    },
  };
}

function* requests(count: number, words = ''): Generator<string> {
  for (let id = 0; id < count; id += 1) {
    yield JSON.stringify({ jsonrpc: '2.0', id, method: 'x', params: { words } });
  }
}

/** Runs everything that does not wait for outside events. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('the bridge', () => {
  afterEach(() => vi.useRealTimers());

  it('[mcp A6] has a bounded number of requests under way, and of messages in wait', async () => {
    const { bridgeRequestsMax, bridgeMessagesMax } = limits;
    const around = new Surroundings(requests(1_000));
    await settle();
    expect(around.parcels).toHaveLength(bridgeRequestsMax);
    expect(around.readCount).toBe(bridgeMessagesMax + 1);
    for (let round = 0; around.written.length < 1_000 && round < 1_000; round += 1) {
      expect(around.parcels.length - around.written.length).toBeLessThanOrEqual(bridgeRequestsMax);
      around.answerAll();
      await settle();
    }
    await around.ended;
    const ids = around.written.map((line) => JSON.parse(line).id);
    expect(ids).toEqual(Array.from({ length: 1_000 }, (_, id) => id));
  });

  it('[mcp A6] reads no more while what it holds is large', async () => {
    const line = 2 ** 20;
    const around = new Surroundings(requests(100, 'x'.repeat(line)));
    await settle();
    const held = around.readCount;
    expect(held).toBeGreaterThan(limits.bridgeRequestsMax);
    expect(held * line).toBeLessThanOrEqual(limits.bridgeBytesMax + 2 * line);
    for (let round = 0; around.written.length < 100 && round < 100; round += 1) {
      around.answerAll();
      await settle();
    }
    await around.ended;
    expect(around.written).toHaveLength(100);
  });

  it('[mcp B11] waits for the last answers after the end of input, but not for ever', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const around = new Surroundings(requests(20));
    await settle();
    around.answerAll();
    await settle();
    expect(around.written).toHaveLength(limits.bridgeRequestsMax);
    let hasEnded = false;
    void around.ended.then(() => {
      hasEnded = true;
    });
    vi.advanceTimersByTime(limits.bridgeEndMillisMax - 1);
    await settle();
    expect(hasEnded).toBe(false);
    vi.advanceTimersByTime(1);
    await around.ended;
    const late = around.written.slice(limits.bridgeRequestsMax).map((line) => JSON.parse(line));
    const message = 'the input has ended, and the service has not answered since';
    const error = { code: -32603, message };
    expect(late).toEqual([16, 17, 18, 19].map((id) => ({ jsonrpc: '2.0', id, error })));
    expect(around.parcels.slice(-4).every(({ signal }) => signal.aborted)).toBe(true);
  });

  it('[mcp A6] waits on while answers come, however long all of them take', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const around = new Surroundings(requests(10 * limits.bridgeRequestsMax));
    for (let round = 0; round < 10; round += 1) {
      await settle();
      vi.advanceTimersByTime(limits.bridgeEndMillisMax - 1);
      around.answerAll();
    }
    await around.ended;
    const answers = around.written.map((line) => JSON.parse(line));
    expect(answers.filter(({ result }) => result !== undefined)).toHaveLength(160);
  });
});
