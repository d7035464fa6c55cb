/**
 * What a snapshot of 5 million rows costs the calls beside it, and what it saves an opening, through
 * the service as it is shipped. Bars: at p99 a durable call waits at most 5 ms longer; throughput
 * with snapshots is at least 0.95 of that between them; the database opens in 3 s at most, and in
 * twice the time of reading and checking the file alone. `scale` 1 has 5 million rows, and a minute
 * of load.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { HostedDatabase } from '../src/host/hosted-database.ts';
import { withReader } from '../src/log/segment-reader.ts';
import { readOutline, readSnapshot } from '../src/log/snapshot-reader.ts';
import { MachineDisk } from '../src/node/disk.ts';
import { Delays } from './load/delays.ts';
import { Ledger } from './load/ledger.ts';

interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly baseline?: number;
  readonly ratio?: number;
  readonly bar?: string;
}

const callers = 64;

export async function benchmarks(scale: number): Promise<Figure[]> {
  const rowCount = Math.ceil(5_000_000 * scale);
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-bench-'));
  try {
    let ledger = await Ledger.start(folder, rowCount);
    await ledger.open();
    await ledger.database.handle.snapshot();
    // Once before it counts: calls are compiled.
    await load(ledger, Math.ceil(3_000 * scale));
    const { alone, beside } = await load(ledger, Math.ceil(60_000 * scale), 40_000 * scale);
    await ledger.database.handle.snapshot();
    await ledger.service.stop();
    const bare = bareRead(ledger.directory, ledger.database);
    ledger = await Ledger.start(folder, rowCount);
    const began = performance.now();
    await ledger.database.handle.describe();
    const opening = performance.now() - began;
    await ledger.service.stop();
    return [...figuresOf(alone, beside), openingFigure(rowCount, opening, bare)];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What was measured while a snapshot was taken, or while none was. */
interface Part {
  readonly delays: Delays;
  millis: number;
}

function figuresOf(alone: Part, beside: Part): Figure[] {
  const [without, during] = [alone.delays.summary, beside.delays.summary];
  const rate = ({ delays, millis }: Part) => (1_000 * delays.count) / Math.max(1, millis);
  const both = { millis: alone.millis + beside.millis, count: without.count + during.count };
  const overall = (1_000 * both.count) / Math.max(1, both.millis);
  return [
    {
      name: 'durable call beside a snapshot, p99, without one as baseline',
      unit: 'ms',
      value: during.p99,
      baseline: without.p99,
      bar: 'at most 5 ms more',
    },
    {
      name: 'the longest of them',
      unit: 'ms',
      value: during.longestMillis,
      baseline: without.longestMillis,
      bar: 'at most 15 ms more',
    },
    {
      name: 'durable transfers with snapshots, those between them as baseline',
      unit: 'transfers/s',
      value: overall,
      baseline: rate(alone),
      ratio: overall / rate(alone),
      bar: 'at least 0.95',
    },
    {
      name: 'durable transfers while one is taken',
      unit: 'transfers/s',
      value: rate(beside),
      baseline: rate(alone),
      ratio: rate(beside) / rate(alone),
      bar: 'at least 0.85',
    },
    { name: 'share of the time', unit: '%', value: (100 * beside.millis) / both.millis },
  ];
}

function openingFigure(rowCount: number, value: number, baseline: number): Figure {
  return {
    name: `opening ${rowCount} rows, reading and checking the file as baseline`,
    unit: 'ms',
    value,
    baseline,
    ratio: value / baseline,
    bar: 'at most 3 s, and 2 times',
  };
}

/** Milliseconds to read and check the newest snapshot, without doing anything with its rows. */
function bareRead(directory: string, { identity }: HostedDatabase): number {
  const name = readdirSync(directory)
    .filter((file) => file.endsWith('.rdbs'))
    .sort()
    .at(-1);
  const began = performance.now();
  withReader(new MachineDisk(directory), name ?? '', (reader) => {
    readSnapshot(reader, readOutline(reader, identity), () => undefined);
  });
  return performance.now() - began;
}

/**
 * Transfers for so many milliseconds, of callers that wait until each is durable. `every`: how
 * often a snapshot is asked for, beside those that are due by themselves.
 */
async function load(ledger: Ledger, millis: number, every = Number.POSITIVE_INFINITY) {
  const parts = { alone: newPart(), beside: newPart() };
  const end = performance.now() + millis;
  let isAsked = false;
  let isDue = false;
  const look = setInterval(() => {
    isDue = ledger.database.handle.statistics().snapshots.rowCount > 0;
  }, 20);
  let seenAt = performance.now();
  const ask = async (): Promise<void> => {
    isAsked = true;
    await ledger.database.handle.snapshot();
    isAsked = false;
  };
  const asked = every < millis ? setInterval(() => void ask(), every) : undefined;
  const caller = async (): Promise<void> => {
    while (performance.now() < end || isAsked) {
      const began = performance.now();
      await ledger.transfer();
      const now = performance.now();
      const part = isAsked || isDue ? parts.beside : parts.alone;
      part.delays.add((now - began) * 1_000);
      part.millis += now - seenAt;
      seenAt = now;
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  clearInterval(look);
  clearInterval(asked);
  return parts;
}

function newPart(): Part {
  return { delays: new Delays(), millis: 0 };
}
