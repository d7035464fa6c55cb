import { assert } from '../../src/assert.ts';
import { verifyDeeply } from '../../src/history/deep-verify.ts';
import type { HistoryReport } from '../../src/history/keep.ts';
import { verifyLog } from '../../src/log/verify.ts';
import { HistoryLab, labIdentity, startOn, stateOf } from '../support/history-lab.ts';

export interface RetentionRunOptions {
  readonly seed: number;
  readonly rows: number;
  readonly updates: number;
  readonly segmentBytes: number;
  /** A snapshot is taken, and a pass made, each time the log has grown by so many bytes. */
  readonly snapshotLogBytes: number;
  readonly keepBytes: number;
}

export interface RetentionRunReport {
  readonly passes: number;
  readonly floorOffset: number;
  readonly logBytes: number;
  /** The most bytes on disk at any moment. */
  readonly bytesMax: number;
  /** Processor time of a start. */
  readonly openMillis: number;
}

const updatesPerCommit = 10;

/**
 * Rows that are updated over and over, with a bound on the bytes of their history: what is on disk
 * stays within the bound at every moment, and at the end the database opens with all rows.
 */
export async function runRetention(options: RetentionRunOptions): Promise<RetentionRunReport> {
  const { seed, rows, updates, segmentBytes, snapshotLogBytes, keepBytes } = options;
  const lab = await HistoryLab.open(seed, segmentBytes);
  let since = 0;
  let passes = 0;
  let bytesMax = 0;
  let last: HistoryReport | undefined;
  for (let done = 0; done < updates; done += updatesPerCommit) {
    const ids = Array.from({ length: updatesPerCommit }, (_, at) => {
      return done < rows ? done + at : lab.random.below(rows);
    });
    lab.rename([...new Set(ids)]);
    if (done % 1000 === 0) await lab.log.sync();
    if (lab.log.bytes - since < snapshotLogBytes) continue;
    await lab.snapshot();
    since = lab.log.bytes;
    const settings = { keepMicros: 1n << 60n, keepBytes, keepCommits: undefined } as const;
    last = await lab.keep({ settings: { ...settings, onLowDisk: 'warn' }, gapBytesMax: 0 });
    passes++;
    bytesMax = Math.max(bytesMax, checkBytes(last, options));
    assert(lab.problems.length === 0, lab.problems.join());
  }
  const logBytes = lab.log.bytes;
  await lab.log.close();
  assert(verifyLog(lab.disk, labIdentity).kind === 'intact', 'the log is intact');
  const faults = verifyDeeply(lab.disk, labIdentity);
  assert(faults.length === 0, JSON.stringify(faults));
  const copy = lab.changed();
  const { store, openMillis } = await startOn(copy);
  assert(stateOf(store) === stateOf(lab.store), 'the rows are those of the model');
  return { passes, floorOffset: last?.floorOffset ?? 0, logBytes, bytesMax, openMillis };
}

/** What takes space beyond the bound: the log that a start may need, and a few files. */
function checkBytes(
  { bytes, snapshots }: HistoryReport,
  { segmentBytes, keepBytes }: RetentionRunOptions,
): number {
  const total = Object.values(bytes).reduce((sum, each) => sum + each, 0);
  const snapshotBytes = bytes.snapshots / Math.max(snapshots, 1);
  const allowed =
    keepBytes + bytes.hot + bytes.active + 3 * segmentBytes + 3 * snapshotBytes + bytes.indexes;
  assert(total <= allowed, `${total} bytes, and ${allowed} are allowed`);
  return total;
}
