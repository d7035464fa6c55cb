/**
 * What the history of a few rows that change all the time takes of the disk, where only what
 * recovery needs is kept, through the service as it is shipped. Bars: at every moment two snapshots
 * and the log from the older one on, three more segments and three more snapshots at most; the
 * database opens in a second. `scale` 1 updates 10,000 rows 10 million times, two in a commit.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { limits } from '../src/limits.ts';
import { Ledger } from './load/ledger.ts';

interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly baseline?: number;
  readonly ratio?: number;
  readonly bar?: string;
}

const rowCount = 10_000;
const callers = 1_000;
const mebibyte = 2 ** 20;

export async function benchmarks(scale: number): Promise<Figure[]> {
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-bench-'));
  const history = { keepMicros: 0n };
  try {
    let ledger = await Ledger.start(folder, rowCount, { history });
    await ledger.open();
    const peak = await update(ledger, Math.ceil(5_000_000 * scale));
    const { used } = ledger.database.handle.statistics();
    await ledger.service.stop();
    ledger = await Ledger.start(folder, rowCount, { history });
    const began = performance.now();
    await ledger.database.handle.describe();
    const opening = performance.now() - began;
    const floor = await floorOf(ledger);
    await ledger.service.stop();
    return figuresOf(peak, used.logBytes, { opening, floor });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The most that files took, and what they may take by the bar, at that moment. */
interface Peak {
  bytes: number;
  boundBytes: number;
  /** The largest part of the bound. */
  share: number;
}

async function update(ledger: Ledger, transfers: number): Promise<Peak> {
  const peak: Peak = { bytes: 0, boundBytes: 0, share: 0 };
  const look = setInterval(() => {
    const bytes = folderBytes(ledger.directory);
    peak.bytes = Math.max(peak.bytes, bytes);
    const bound = boundBytes(ledger);
    if (bytes / bound > peak.share) {
      peak.share = bytes / bound;
      peak.boundBytes = bound;
    }
  }, 250);
  let left = transfers;
  const caller = async (): Promise<void> => {
    while (left-- > 0) await ledger.transfer();
  };
  await Promise.all(Array.from({ length: callers }, caller));
  clearInterval(look);
  return peak;
}

/** Log from the older of the two newest snapshots on, at most what makes two due, and the rest. */
function boundBytes(ledger: Ledger): number {
  const sizes = filesIn(ledger.directory);
  const snapshot = Math.max(0, ...sizes.filter(({ name }) => name.endsWith('.rdbs')).map(sizeOf));
  const log = 2 * (limits.snapshotLogBytesMin + limits.segmentBytes);
  return log + 3 * limits.segmentBytes + 5 * snapshot;
}

function folderBytes(folder: string): number {
  return filesIn(folder).reduce((sum, file) => sum + file.bytes, 0);
}

function filesIn(folder: string) {
  return readdirSync(folder).map((name) => {
    return { name, bytes: statSync(path.join(folder, name), { throwIfNoEntry: false })?.size ?? 0 };
  });
}

function sizeOf({ bytes }: { readonly bytes: number }): number {
  return bytes;
}

async function floorOf({ database }: Ledger): Promise<number> {
  const answer = await database.handle.history({ kind: 'status', holds: [] });
  return answer.kind === 'done' ? answer.facts.floorOffset : Number.NaN;
}

function figuresOf(
  peak: Peak,
  logBytes: number,
  { opening, floor }: { readonly opening: number; readonly floor: number },
): Figure[] {
  return [
    {
      name: 'disk of a log at its most, all that was written to it as baseline',
      unit: 'MiB',
      value: peak.bytes / mebibyte,
      baseline: logBytes / mebibyte,
      ratio: peak.bytes / logBytes,
    },
    {
      name: 'disk at the moment nearest to the bound, the bound as baseline',
      unit: 'MiB',
      value: (peak.share * peak.boundBytes) / mebibyte,
      baseline: peak.boundBytes / mebibyte,
      ratio: peak.share,
      bar: 'at most 1',
    },
    { name: 'opening afterwards', unit: 'ms', value: opening, bar: 'at most 1 s' },
    { name: 'first commit that is kept', unit: 'offset', value: floor },
  ];
}
