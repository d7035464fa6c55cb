import { describe, expect, it } from 'vitest';
import { HistoryLab, labIdentity } from '../../test/support/history-lab.ts';
import { limits } from '../limits.ts';
import { isCommitRecord, type LogRecord } from '../log/record.ts';
import type { SegmentHeader } from '../log/segment.ts';
import { segmentNames } from '../log/segment-reader.ts';
import { verifyLog } from '../log/verify.ts';
import { tableId } from '../schema/ids.ts';
import { Random } from '../testing/random.ts';
import type { SimulatedDisk } from '../testing/simulated-disk.ts';
import { headerOf } from './files.ts';
import { KeyCollector, mayHave } from './key-filter.ts';
import {
  encodeIndex,
  indexName,
  keyBytesMax,
  mayHaveRow,
  readIndex,
  type SegmentIndex,
} from './segment-index.ts';
import { verifyIndexes } from './verify-history.ts';

const everything = { keepMicros: 'everything', keepBytes: 0, keepCommits: undefined } as const;
const settings = { ...everything, onLowDisk: 'warn' } as const;

/** A log with all its indexes; some segments are packed. */
async function story(seed = 1): Promise<HistoryLab> {
  const lab = await HistoryLab.open(seed);
  for (let part = 0; part < 3; part++) {
    await lab.work(25);
    if (part === 1) lab.publish();
    await lab.snapshot();
  }
  await lab.work(30);
  await lab.keep({ settings });
  return lab;
}

function headersOf(disk: SimulatedDisk): SegmentHeader[] {
  return segmentNames(disk).map((name) => {
    const header = headerOf(disk, name);
    if (header === undefined) throw new Error('no header');
    return header;
  });
}

/** The indexes of all segments but the last. */
function indexesOf(disk: SimulatedDisk): SegmentIndex[] {
  const names = segmentNames(disk);
  const headers = headersOf(disk);
  return names.slice(0, -1).flatMap((name, at) => {
    const [header, next] = headers.slice(at, at + 2) as [SegmentHeader, SegmentHeader];
    const reading = readIndex(disk, name, header, next);
    return reading.kind === 'valid' ? [reading.index] : [];
  });
}

interface Change {
  readonly offset: number;
  readonly tableId: number;
  readonly isInsert: boolean;
  readonly row: Uint8Array;
}

/** All changes of rows in a log, one row after another. */
function changesIn(disk: SimulatedDisk): Change[] {
  const changes: Change[] = [];
  const note = (record: LogRecord): void => {
    if (!isCommitRecord(record)) return;
    for (const { tableId: id, inserts, deletes } of record.changes?.tables ?? []) {
      for (const [rows, isInsert] of [
        [inserts, true],
        [deletes, false],
      ] as const) {
        let at = 0;
        for (let left = rows.count; left > 0; left--) {
          // A u32, then a string.
          const view = new DataView(rows.bytes.buffer, rows.bytes.byteOffset + at);
          const end = at + 8 + view.getUint32(4, true);
          const offset = record.changes?.offset ?? 0;
          changes.push({ offset, tableId: id, isInsert, row: rows.bytes.slice(at, end) });
          at = end;
        }
      }
    }
  };
  const report = verifyLog(disk, labIdentity, note);
  if (report.kind !== 'intact') throw new Error(`the log is ${report.kind}`);
  return changes;
}

/** `account` has a key, the first four bytes of a row; `line` has none. */
function keyOf({ tableId: id, row }: Change): Uint8Array {
  return id === 100 ? row.subarray(0, 4) : row;
}

describe('the index of a segment', () => {
  it('[history 3.13] says which offsets, times, tables and rows are in the segment', async () => {
    const lab = await story();
    const changes = changesIn(lab.disk);
    const headers = headersOf(lab.disk);
    const indexes = indexesOf(lab.disk);
    expect(indexes.length).toBeGreaterThanOrEqual(headers.length - 2);
    let before = 0n;
    indexes.forEach((index, at) => {
      const next = headers[at + 1] as SegmentHeader;
      expect(index.firstOffset).toBe(headers[at]?.firstOffset);
      expect(index.lastOffset).toBe(next.firstOffset - 1);
      expect(index.lastMicros).toBe(next.lastMicros);
      expect(index.firstMicros).toBeGreaterThanOrEqual(before);
      before = index.lastMicros;
      const own = changes.filter(({ offset }) => {
        return offset >= index.firstOffset && offset <= index.lastOffset;
      });
      const tables = [...new Set(own.map((change) => change.tableId))].sort();
      expect(index.tables).toEqual(
        tables.map((id) => {
          const of = own.filter((change) => change.tableId === id);
          const inserted = of.filter(({ isInsert }) => isInsert).length;
          return { tableId: id, inserted, deleted: of.length - inserted };
        }),
      );
      for (const change of own) {
        expect(mayHaveRow(index, tableId(change.tableId), keyOf(change))).toBe(true);
      }
      expect(index.entries[0]).toMatchObject({ filePosition: 128 });
    });
    expect(indexes.flatMap(({ schemas }) => schemas).map(({ offset }) => offset)[0]).toBe(1);
    expect(indexes.flatMap(({ schemas }) => schemas)).toHaveLength(2);
  });

  it('[history 3.13] is the same of a packed segment, but for its pieces', async () => {
    const lab = await story();
    const names = segmentNames(lab.disk);
    const packed = indexesOf(lab.disk).map(({ members }) => members.length > 0);
    expect(packed).toEqual(names.slice(0, packed.length).map((name) => name.endsWith('.gz')));
    expect(new Set(packed).size).toBe(2);
  });

  it('[history 3.13] of a segment that is packed later is that of its packed form', async () => {
    const lab = await HistoryLab.open(1);
    await lab.work(25);
    await lab.snapshot();
    await lab.work(25);
    await lab.keep({ settings });
    const names = segmentNames(lab.disk).slice(0, 2);
    const hot = indexesOf(lab.disk).slice(0, 2);
    expect(hot.map(({ members }) => members.length)).toEqual([0, 0]);
    await lab.snapshot();
    await lab.work(25);
    await lab.keep({ settings });
    const cold = indexesOf(lab.disk).slice(0, 2);
    expect(cold.map(({ members }) => members.length > 0)).toEqual([true, true]);
    expect(cold.map((one) => ({ ...one, members: [] }))).toEqual(hot);
    const written = names.map((name) => lab.disk.contentOf(indexName(name)));
    const gone = Object.fromEntries(names.map((name) => [indexName(name), undefined]));
    const again = new HistoryLab(1, lab.changed(gone));
    again.micros = lab.micros;
    await again.keep({ settings });
    expect(names.map((name) => again.disk.contentOf(indexName(name)))).toEqual(written);
  });

  it('[history 3.13, I10] that is damaged, missing or of another is built again', async () => {
    const lab = await story();
    const [first = '', second = ''] = segmentNames(lab.disk);
    const name = indexName(first);
    const right = lab.disk.contentOf(name);
    const headers = headersOf(lab.disk) as [SegmentHeader, SegmentHeader];
    const readingOf = (disk: SimulatedDisk) => readIndex(disk, first, headers[0], headers[1]);
    for (let at = 0; at < right.length; at++) {
      const rotten = lab.changed();
      rotten.flipBit(name, at, at % 8);
      expect(readingOf(rotten).kind).toBe('damaged');
      if (at % 40 === 0) {
        expect(verifyIndexes(rotten)).toMatchObject([{ name, kind: 'damaged' }]);
        expect(readingOf(lab.changed({ [name]: right.slice(0, at) })).kind).toBe('damaged');
      }
    }
    const other = lab.disk.contentOf(indexName(second));
    const swapped = lab.changed({ [name]: other });
    expect(readingOf(swapped)).toEqual({
      kind: 'damaged',
      reason: 'it is that of another segment',
    });
    for (const bytes of [undefined, other, right.slice(0, 40), new Uint8Array(0)]) {
      const damaged = new HistoryLab(1, lab.changed({ [name]: bytes }));
      damaged.micros = lab.micros;
      await damaged.keep({ settings });
      expect(damaged.disk.contentOf(name)).toEqual(right);
      expect(damaged.problems).toEqual([]);
    }
    expect(verifyIndexes(lab.disk)).toEqual([]);
  });

  it('[history 3.13] is of at most 1 MiB, whatever the segment has', () => {
    const header = { ...someHeader, salt: 3 };
    const entry = { offset: 1, micros: 1n, filePosition: 1 };
    const rest = {
      ...{ sequence: 1, firstOffset: 1, lastOffset: 9, firstMicros: 1n, lastMicros: 2n },
      ...{ position: 0, endPosition: 8, endChain: '0'.repeat(16), schemas: [], members: [5, 6] },
      entries: Array.from({ length: limits.segmentIndexEntriesMax }, () => entry),
      tables: Array.from({ length: 3000 }, (_, at) => {
        return { tableId: tableId(at), inserted: 1, deleted: 2 };
      }),
    };
    const keys = new KeyCollector();
    const random = new Random(3);
    for (let count = 0; count < 900_000; count++) {
      const key = random.bytes(8);
      keys.add(7, key, 0, 8);
    }
    const filter = keys.finish(keyBytesMax(rest));
    const bytes = encodeIndex({ ...rest, keys: filter }, header);
    expect(bytes.length).toBeLessThanOrEqual(limits.segmentIndexBytesMax);
    expect(bytes.length).toBeGreaterThan(limits.segmentIndexBytesMax - 1024);
  });
});

const someHeader: SegmentHeader = {
  ...{ sequence: 1, firstOffset: 1, position: 0, durablePosition: 0, lastMicros: 0n },
  ...{ chainLow: 1, chainHigh: 2, salt: 0, hasMark: true, isAfterOrigin: false, hasRuns: false },
  databaseIdentity: labIdentity,
  epoch: 5n as SegmentHeader['epoch'],
};

describe('the filter of keys', () => {
  it('[history 3.13] never says no wrongly, and seldom yes', () => {
    const random = new Random(8);
    const collector = new KeyCollector();
    const keys = Array.from({ length: 5000 }, () => random.bytes(random.between(1, 20)));
    for (const key of keys) {
      const padded = Uint8Array.from([9, ...key, 9]);
      collector.add(3, padded, 1, padded.length - 1);
      collector.add(3, key, 0, key.length);
    }
    const filter = collector.finish(1 << 20);
    expect(filter.length).toBeLessThanOrEqual(6250);
    for (const key of keys) expect(mayHave(filter, 3, key)).toBe(true);
    const others = Array.from({ length: 5000 }, () => random.bytes(21));
    const wrong = others.filter((key) => mayHave(filter, 3, key)).length;
    expect(wrong).toBeLessThan(100);
    expect(keys.filter((key) => mayHave(filter, 4, key)).length).toBeLessThan(100);
    expect(mayHave(new Uint8Array(0), 3, others[0] ?? new Uint8Array(1))).toBe(true);
  });

  it('[history 3.13] is of the size that its different keys need', () => {
    const random = new Random(5);
    const keys = Array.from({ length: 20_000 }, () => random.bytes(8));
    const once = new KeyCollector();
    const often = new KeyCollector();
    for (const key of keys) once.add(7, key, 0, 8);
    for (let turn = 0; turn < 60_000; turn++) {
      const key = keys[turn < 20_000 ? turn : random.below(20_000)] as Uint8Array;
      for (let times = random.below(3); times >= 0; times--) often.add(7, key, 0, 8);
    }
    expect(often.finish(1_000_000)).toEqual(once.finish(1_000_000));
  });

  it('[history 3.13] has the hashes of its format', () => {
    // Known values of MurmurHash3_x86_32, for seed 0 and seed 0x9747b28c; a table id is four bytes.
    const known = [
      { text: 'test', a: 0xba6bd213, b: 0x704b81dc },
      { text: 'Hello, world!', a: 0xc0363e43, b: 0x24884cba },
    ];
    for (const { text, a, b } of known) {
      const bytes = new TextEncoder().encode(text);
      const table = new DataView(bytes.buffer).getUint32(0, true);
      const collector = new KeyCollector();
      collector.add(table, bytes, 4, bytes.length);
      const expected = new Uint8Array(2);
      for (let turn = 0n; turn < 7n; turn++) {
        const bit = Number(BigInt.asUintN(32, BigInt(a) + turn * BigInt((b | 1) >>> 0)) % 16n);
        expected[bit >> 3] = (expected[bit >> 3] ?? 0) | (1 << (bit & 7));
      }
      expect(collector.finish(1 << 20)).toEqual(expected);
    }
  });
});
