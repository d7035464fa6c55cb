import { describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.ts';
import { clusterId, type LogName, logName } from '../../src/shared-log/log-name.ts';
import type { AppendResult, SharedLog, StoredEntry } from '../../src/shared-log/shared-log.ts';
import { Random } from '../../src/testing/random.ts';
import { databaseIdentity } from '../../src/values/identity-roles.ts';

/** A step at which a connection can be cut, as the implementation names it. */
export interface CutStep {
  readonly name: string;
  /** A shared log whose next append is cut there. */
  open(): Promise<SharedLog>;
}

/** An engine under test; `open` gives a client of its own each time. */
export interface EngineUnderTest {
  open(): Promise<SharedLog>;
  /** Steps at which the connection of an append can be cut. */
  readonly cuts: readonly CutStep[];
  /** How soon `wait` wakes. */
  readonly wakeMillis: number;
  /** Stores `entry 1` and so on behind entry 0, where that is quicker than appending. */
  fill?(log: LogName, count: number): Promise<void>;
  stop(): Promise<void>;
}

let drawn = 0;

/** A name that no other test uses. */
export function freshLog(): LogName {
  drawn++;
  const random = new Random(Date.now() * 1000 + drawn);
  return logName(clusterId(random.bigint(128)), databaseIdentity(random.bigint(256)), drawn);
}

/** What each implementation of `SharedLog` promises. `begin` starts an engine for all tests. */
export function sharedLogContract(kind: string, engine: () => EngineUnderTest): void {
  const opened = async (count = 1) => {
    const log = freshLog();
    const clients = await Promise.all(Array.from({ length: count }, () => engine().open()));
    const one = clients[0] as SharedLog;
    expect(await one.create(log, Buffer.from('zero'))).toBe('created');
    return { log, one, clients, other: clients[1] as SharedLog };
  };

  describe(kind, () => {
    it('[replication 3.1, 3.7] of 200 writers of one seq, one stores its entry', async () => {
      const { log, clients } = await opened(8);
      const results = await Promise.all(
        Array.from({ length: 200 }, (_, at) => {
          const client = clients[at % clients.length] as SharedLog;
          return appendOne(client, log, 1, Buffer.from(`writer ${at}`));
        }),
      );
      expect(results.filter((result) => result === 'stored')).toHaveLength(1);
      expect(results.filter((result) => result === 'passed')).toHaveLength(199);
      const winner = `writer ${results.indexOf('stored')}`;
      expect(texts(await all(clients[0] as SharedLog, log))).toEqual(['zero', winner]);
    });

    it('[replication 3.1, 3.7] an entry over a gap, or without a log, is not stored', async () => {
      const { log, one, other } = await opened(2);
      expect(await appendOne(one, log, 2, Buffer.from('two'))).toBe('passed');
      expect(await appendOne(one, log, 0, Buffer.from('zero again'))).toBe('passed');
      expect(await appendOne(other, freshLog(), 1, Buffer.from('one'))).toBe('passed');
      expect(await appendOne(other, log, 1, Buffer.from('one'))).toBe('stored');
      expect(await appendOne(one, log, 2, Buffer.from('two'))).toBe('stored');
      expect(texts(await all(other, log))).toEqual(['zero', 'one', 'two']);
    });

    it('[replication 3.2, 3.7] writers that race leave a log without gaps', async () => {
      const { log, clients } = await opened(4);
      const stored = await Promise.all(
        clients.map(async (client, number) => {
          const mine: string[] = [];
          for (let seq = 1; seq <= 40; seq++) {
            const text = `${seq} by ${number}`;
            const result = await appendOne(client, log, seq, Buffer.from(text));
            if (result === 'stored') mine.push(text);
          }
          return mine;
        }),
      );
      const found = texts(await all(clients[0] as SharedLog, log)).slice(1);
      expect([...found].sort()).toEqual(stored.flat().sort());
      expect(found.map((text) => Number(text.split(' ')[0]))).toEqual(found.map((_, at) => at + 1));
    });

    it('[replication 3.7] items of one append are independent', async () => {
      const { log, one } = await opened();
      const logs = [freshLog(), freshLog()];
      for (const each of logs) await one.create(each, new Uint8Array([1]));
      const items = [logs[0], log, logs[1], freshLog()].map((each, at) => {
        return { log: each as LogName, seq: at === 1 ? 2 : 1, bytes: new Uint8Array([at]) };
      });
      expect(await one.append(items)).toEqual(['stored', 'passed', 'stored', 'passed']);
      expect(await one.append([])).toEqual([]);
    });

    it('[replication 3.1, 3.7] a truncation leaves no seq free, and the last entry', async () => {
      const { log, one, other } = await opened(2);
      for (let seq = 1; seq <= 12; seq++) await appendOne(one, log, seq, Buffer.from(`${seq}`));
      await one.truncate(log, 9);
      expect(await other.read(log, 0, limits.sharedReadBytesMax)).toMatchObject({ first: 9 });
      for (let seq = 0; seq <= 12; seq++) {
        expect([seq, await appendOne(other, log, seq, Buffer.from('late'))]).toEqual([
          seq,
          'passed',
        ]);
      }
      await other.truncate(log, 1_000);
      expect(await all(one, log)).toMatchObject([{ seq: 12 }]);
      expect(await appendOne(one, log, 13, Buffer.from('13'))).toBe('stored');
      expect(texts(await all(one, log))).toEqual(['12', '13']);
    });

    it('[replication 3.3, 3.7] bytes of any size come back as they went in', async () => {
      const { log, one, other } = await opened(2);
      const { entryBytesMax } = await one.capabilities();
      const sizes = [0, 1, 255, 70_000, entryBytesMax];
      for (const [at, size] of sizes.entries()) {
        const bytes = new Random(size).bytes(size);
        expect(await appendOne(one, log, at + 1, bytes)).toBe('stored');
        const { entries } = await other.read(log, at + 1, limits.sharedReadBytesMax);
        expect(entries.map(({ seq }) => seq)).toEqual([at + 1]);
        expect(Buffer.compare(entries[0]?.bytes ?? new Uint8Array(9), bytes)).toBe(0);
      }
      const larger = new Uint8Array(entryBytesMax + 1);
      expect(await appendOne(one, log, sizes.length + 1, larger)).toBe('unknown');
      expect(await all(one, log)).toHaveLength(sizes.length + 1);
    });

    it('[replication 3.7] a cut at any step is unknown, and leaves all or nothing', async () => {
      for (const cut of engine().cuts) {
        const { log, one } = await opened();
        const client = await cut.open();
        const bytes = new Random(7).bytes(100_000);
        const result = await appendOne(client, log, 1, bytes);
        expect([cut.name, result]).toEqual([cut.name, 'unknown']);
        const found = await all(one, log);
        for (const entry of found.slice(1)) expect(Buffer.compare(entry.bytes, bytes)).toBe(0);
        // The same bytes again, by somebody who can reach the engine, settle it.
        const again = await appendOne(one, log, 1, bytes);
        expect(['stored', 'passed']).toContain(again);
        expect(await all(one, log)).toHaveLength(2);
      }
    });

    it("[replication 3.7] confirm says last only before another's entry", async () => {
      const { log, one, other } = await opened(2);
      const unknown = freshLog();
      const asked = [
        { log, seq: 0 },
        { log: unknown, seq: 0 },
        { log, seq: 5 },
      ];
      expect(await one.confirm(asked)).toEqual(['last', 'unknown', 'unknown']);
      expect(await appendOne(other, log, 1, Buffer.from('one'))).toBe('stored');
      expect(await one.confirm([{ log, seq: 0 }])).toEqual(['passed']);
      expect(await one.confirm([{ log, seq: 1 }])).toEqual(['last']);
      for (let seq = 2; seq < 20; seq++) {
        const [, [result]] = await Promise.all([
          appendOne(other, log, seq, Buffer.from('more')),
          one.confirm([{ log, seq: seq - 1 }]),
        ]);
        expect(['last', 'passed']).toContain(result);
        expect(await one.confirm([{ log, seq: seq - 1 }])).toEqual(['passed']);
      }
    });

    it('[replication 3.7] wait wakes for an entry, and for a signal', async () => {
      const { log, one, other } = await opened(2);
      const stop = new AbortController();
      await one.wait(log, 0, stop.signal);
      const took: number[] = [];
      for (let seq = 1; seq <= 9; seq++) {
        let isAwake = false;
        const woken = wakeFor(one, log, seq, stop.signal).then(() => {
          isAwake = true;
        });
        await one.read(log, 0, limits.sharedReadBytesMax);
        expect(isAwake).toBe(false);
        await appendOne(other, log, seq, Buffer.from('x'));
        const stored = performance.now();
        await woken;
        took.push(performance.now() - stored);
      }
      // Notices may be rare, and this machine busy: the median counts.
      took.sort((a, b) => a - b);
      expect(took[4]).toBeLessThan(engine().wakeMillis);
      const stopped = one.wait(log, 99, stop.signal);
      stop.abort();
      await stopped;
    });

    it('[replication 3.7] 10,000 entries are read in pages', async () => {
      const { log, one, other } = await opened(2);
      const bytes = (seq: number) => Buffer.from(`entry ${seq}`);
      const fill = engine().fill ?? ((name, count) => appendAll(one, name, count, bytes));
      await fill(log, 9_999);
      const found = await all(other, log);
      expect(found).toHaveLength(10_000);
      for (const { seq, bytes: got } of found.slice(1)) {
        if (Buffer.compare(got, bytes(seq)) !== 0) expect.fail(`entry ${seq} is another`);
      }
    });

    it('[replication 3.7] a log that was removed can be created again', async () => {
      const { log, one, other } = await opened(2);
      await appendOne(one, log, 1, Buffer.from('one'));
      expect(await other.create(log, Buffer.from('again'))).toBe('exists');
      await other.remove(log);
      await other.remove(log);
      expect(await one.read(log, 0, limits.sharedReadBytesMax)).toEqual({ entries: [], first: 0 });
      expect(await appendOne(one, log, 2, Buffer.from('two'))).toBe('passed');
      expect(await one.create(log, Buffer.from('again'))).toBe('created');
      expect(texts(await all(other, log))).toEqual(['again']);
    });

    it('[replication 3.4] says how many copies there are, and names its past', async () => {
      const client = await engine().open();
      const { copies, history, entryBytesMax } = await client.capabilities();
      expect(history).toMatch(/^[a-z]+:[^:]+:\d+$/);
      expect(['number', 'string']).toContain(typeof copies);
      expect(entryBytesMax).toBeGreaterThanOrEqual(limits.entryBytesMin);
    });
  });
}

/** Waits until entry `seq` is shown; waking early is allowed. */
async function wakeFor(
  client: SharedLog,
  log: LogName,
  seq: number,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await client.wait(log, seq, signal);
    const { entries } = await client.read(log, seq, limits.sharedReadBytesMax);
    if (entries.length > 0) return;
  }
}

export async function appendOne(
  client: SharedLog,
  log: LogName,
  seq: number,
  bytes: Uint8Array,
): Promise<AppendResult> {
  const [result] = await client.append([{ log, seq, bytes }]);
  return result as AppendResult;
}

async function appendAll(
  client: SharedLog,
  log: LogName,
  count: number,
  bytes: (seq: number) => Uint8Array,
): Promise<void> {
  for (let seq = 1; seq <= count; seq++) {
    if ((await appendOne(client, log, seq, bytes(seq))) !== 'stored') expect.fail(`entry ${seq}`);
  }
}

/** Every entry that is shown. */
export async function all(client: SharedLog, log: LogName): Promise<StoredEntry[]> {
  const found: StoredEntry[] = [];
  for (let from = 0; ; ) {
    const { entries } = await client.read(log, from, limits.sharedReadBytesMax);
    const last = entries.at(-1);
    if (last === undefined) return found;
    found.push(...entries);
    from = last.seq + 1;
  }
}

function texts(entries: readonly StoredEntry[]): string[] {
  return entries.map(({ bytes }) => Buffer.from(bytes).toString());
}
