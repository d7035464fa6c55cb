import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { afterAll, expect, it } from 'vitest';
import { EnginePort } from '../../src/cluster/engine-port.ts';
import { GatheredLog, type GatherOptions } from '../../src/cluster/gathered-log.ts';
import { serveEngine } from '../../src/cluster/serve-engine.ts';
import { limits } from '../../src/limits.ts';
import type { LogName } from '../../src/shared-log/log-name.ts';
import { MemoryEngine } from '../../src/shared-log/memory-engine.ts';
import type { AppendItem, SharedLog } from '../../src/shared-log/shared-log.ts';
import { directoryContract } from '../contracts/directory.contract.ts';
import {
  appendOne,
  type EngineUnderTest,
  freshLog,
  sharedLogContract,
} from '../contracts/shared-log.contract.ts';

const clock = {
  now: () => performance.now(),
  after: (millis: number, work: () => void) => {
    if (millis === 0) setImmediate(work);
    else setTimeout(work, millis >= 1_000 ? millis / 2 : millis).unref();
  },
};

const ports: MessagePort[] = [];
let clients = 0;

/** A client of the engine on the other side of a message channel, as in a thread of its own. */
function overPort(engine: MemoryEngine, more: GatherOptions = {}) {
  const { port1, port2 } = new MessageChannel();
  ports.push(port1, port2);
  const name = `client ${clients++}`;
  const inner = engine.connect(name);
  serveEngine(port2, {
    sharedLog: new GatheredLog(inner, more),
    directory: engine.directory(name),
    time: async () => Date.now(),
    history: () => 'memory:1:1',
  });
  const port = new EnginePort();
  port.attach(port1);
  return { port, inner };
}

afterAll(() => {
  for (const port of ports) port.close();
});

const shared = new MemoryEngine({ clock });
const engine: EngineUnderTest = {
  open: async () => overPort(shared).port,
  cuts: [
    {
      name: 'the channel is lost',
      open: async () => {
        const { port } = overPort(shared);
        const append = (items: readonly AppendItem[]) => {
          const answer = port.append(items);
          port.detach();
          return answer;
        };
        return Object.assign(Object.create(port) as SharedLog, { append });
      },
    },
  ],
  wakeMillis: 50 * Number(process.env.TEST_SLOWNESS ?? 1),
  stop: async () => undefined,
};
sharedLogContract('[replication 3.6] an engine behind a message channel', () => engine);

directoryContract('[replication 3.6] a directory behind a message channel', async () => {
  let now = 0;
  const own = new MemoryEngine({ clock: { ...clock, now: () => now } });
  return {
    open: async () => overPort(own).port,
    pass: async (millis) => {
      now += millis;
    },
    stop: async () => undefined,
  };
});

/** Counts the statements that reach an engine, and can keep them from ending. */
class CountedLog extends GatheredLog {
  readonly appends: (readonly AppendItem[])[] = [];
  confirms = 0;
  held: Promise<void> = Promise.resolve();

  override async append(items: readonly AppendItem[]) {
    this.appends.push(items);
    await this.held;
    return items.map(() => 'stored' as const);
  }

  override async confirm(items: Parameters<SharedLog['confirm']>[0]) {
    this.confirms += 1;
    return items.map(() => 'last' as const);
  }
}

function item(log: LogName, seq: number, size = 1): AppendItem {
  return { log, seq, bytes: new Uint8Array(size) };
}

it('[replication 3.6] what waits for many databases at one moment goes as one append', async () => {
  const counted = new CountedLog(shared.connect('counted'));
  const gathered = new GatheredLog(counted);
  const logs = Array.from({ length: 40 }, freshLog);
  await Promise.all(logs.map((log) => gathered.append([item(log, 1)])));
  expect(counted.appends.map((items) => items.length)).toEqual([40]);
});

it('[replication 3.6] a log has one append in flight, and others do not wait for it', async () => {
  const counted = new CountedLog(shared.connect('counted'));
  const gathered = new GatheredLog(counted);
  const [log, other] = [freshLog(), freshLog()];
  let release: () => void = () => undefined;
  counted.held = new Promise((resolve) => {
    release = resolve;
  });
  const first = gathered.append([item(log, 1)]);
  await expect.poll(() => counted.appends.length).toBe(1);
  const second = gathered.append([item(log, 2)]);
  const beside = gathered.append([item(other, 1)]);
  await expect.poll(() => counted.appends.length).toBe(2);
  expect(counted.appends[1]?.map(({ log: name }) => name)).toEqual([other]);
  release();
  expect(await Promise.all([first, second, beside])).toEqual([['stored'], ['stored'], ['stored']]);
  expect(counted.appends.map((items) => items[0]?.seq)).toEqual([1, 1, 2]);
});

it('[replication 3.6] one append has so many entries and bytes, and no more', async () => {
  const counted = new CountedLog(shared.connect('counted'));
  const gathered = new GatheredLog(counted);
  const many = Array.from({ length: limits.appendItemsMax + 1 }, () => item(freshLog(), 1));
  await gathered.append(many);
  expect(counted.appends.map((items) => items.length)).toEqual([limits.appendItemsMax, 1]);
  counted.appends.length = 0;
  const large = Array.from({ length: 3 }, () => item(freshLog(), 1, limits.entryBytesMax));
  await gathered.append(large);
  expect(counted.appends.map((items) => items.length)).toEqual([2, 1]);
});

it('[replication 14.11] where several are no quicker as one, each has its answer as it comes', async () => {
  const counted = new CountedLog(shared.connect('counted'));
  const gathered = new GatheredLog(counted, { gatherMillis: 5, isOneByOne: true });
  const logs = Array.from({ length: 20 }, freshLog);
  await Promise.all(logs.map((log) => gathered.append([item(log, 1)])));
  expect(counted.appends.map((items) => items.length)).toEqual(logs.map(() => 1));
  expect(counted.appends.map((items) => items[0]?.log)).toEqual(logs);
});

it('[replication 5.10, 3.6] confirmations of one moment share a statement', async () => {
  const counted = new CountedLog(shared.connect('counted'));
  const gathered = new GatheredLog(counted);
  const asked = Array.from({ length: 60 }, () => gathered.confirm([{ log: freshLog(), seq: 0 }]));
  for (const answer of await Promise.all(asked)) expect(answer).toEqual(['last']);
  expect(counted.confirms).toBe(1);
});

it('[replication 3.6] an entry that was sent is still there to be sent again', async () => {
  const { port } = overPort(shared);
  const log = freshLog();
  await port.create(log, new Uint8Array([1]));
  const entry = new Uint8Array(new ArrayBuffer(64), 8, 4).fill(7);
  expect(await appendOne(port, log, 1, entry)).toBe('stored');
  expect([...entry]).toEqual([7, 7, 7, 7]);
  const { entries } = await port.read(log, 1, limits.sharedReadBytesMax);
  expect(entries.map(({ bytes }) => bytes.buffer.byteLength)).toEqual([4]);
});

it('[replication 3.6] a lost channel fails what was asked, and another takes its place', async () => {
  const { port, inner } = overPort(shared);
  const log = freshLog();
  await port.create(log, new Uint8Array([1]));
  const waiting = port.wait(log, 9, new AbortController().signal);
  const failed = expect(waiting).rejects.toThrow('has ended');
  port.detach();
  await failed;
  await expect(port.read(log, 0, limits.sharedReadBytesMax)).rejects.toThrow('has ended');
  expect(await appendOne(port, log, 1, new Uint8Array([2]))).toBe('unknown');
  const { port1, port2 } = new MessageChannel();
  ports.push(port1, port2);
  serveEngine(port2, {
    sharedLog: inner,
    directory: shared.directory('again'),
    time: async () => Date.now(),
    history: () => 'memory:1:2',
  });
  port.attach(port1);
  expect(await appendOne(port, log, 1, new Uint8Array([2]))).toBe('stored');
});
