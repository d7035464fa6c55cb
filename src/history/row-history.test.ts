import { describe, expect, it } from 'vitest';
import { HistoryLab, labIdentity } from '../../test/support/history-lab.ts';
import type { Disk, DiskFile } from '../log/disk.ts';
import { isCommitRecord } from '../log/record.ts';
import { BinaryWriter } from '../values/binary-writer.ts';
import { findFiles } from './files.ts';
import { readRecords } from './read-records.ts';
import { type RowAsk, rowHistory } from './row-history.ts';
import { indexNames } from './segment-index.ts';

const everything = { keepMicros: 'everything', keepBytes: 0, keepCommits: undefined } as const;
const settings = { ...everything, onLowDisk: 'warn' } as const;

/** Segments with indexes, some of them packed, in which the schema changes. */
async function story(seed: number): Promise<HistoryLab> {
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

function encoded(id: number): Uint8Array {
  const writer = new BinaryWriter();
  writer.u32(id);
  return writer.view().slice();
}

function asked(id: number, more: Partial<RowAsk> = {}): RowAsk {
  const key = () => encoded(id);
  return { table: 'account', key, durableOffset: 1e9, changesMax: 1_000, ...more };
}

/** What became of an account, by reading every record: the slow obvious answer, oldest first. */
function allChanges(lab: HistoryLab, id: number): { offset: number; after: string | undefined }[] {
  const found: { offset: number; after: string | undefined }[] = [];
  const account = lab.store.catalog.tables.find(({ name }) => name === 'account')?.id;
  const { lineage } = findFiles(lab.disk, labIdentity);
  readRecords(lab.disk, lineage, { segment: 1, position: 0 }, (record) => {
    if (record === undefined || !isCommitRecord(record)) return true;
    for (const { tableId, inserts, deletes } of record.changes?.tables ?? []) {
      if (tableId !== account) continue;
      const [after, before] = [inserts, deletes].map(({ bytes, count }) => {
        const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
        let at = 0;
        for (let left = count; left > 0; left--) {
          const end = at + 8 + view.getUint32(at + 4, true);
          const name = new TextDecoder().decode(bytes.subarray(at + 8, end));
          if (view.getUint32(at, true) === id) return name;
          at = end;
        }
        return undefined;
      });
      if (before === undefined && after === undefined) continue;
      found.push({ offset: record.changes?.offset ?? 0, after });
    }
    return true;
  });
  return found;
}

/** The disk of a lab, and how many bytes of segments some work reads. */
function counting(lab: HistoryLab) {
  let bytes = 0;
  const open: Disk['open'] = (name, mode) => {
    const file = lab.disk.open(name, mode);
    if (!/\.log(\.gz)?$/.test(name)) return file;
    const read: DiskFile['read'] = (...args) => {
      const count = file.read(...args);
      bytes += count;
      return count;
    };
    return passing(file, { read });
  };
  const disk: Disk = passing(lab.disk, { open });
  const bytesOf = (work: () => unknown): number => {
    bytes = 0;
    work();
    return bytes;
  };
  return { disk, bytesOf };
}

/** An object with some members of its own; the others are those of `inner`. */
function passing<Of extends object>(inner: Of, own: Partial<Of>): Of {
  return new Proxy(inner, {
    get: (_, name) => {
      const member = Reflect.get(name in own ? own : inner, name);
      return typeof member === 'function' ? member.bind(inner) : member;
    },
  });
}

describe('the history of a row', () => {
  it.each([1, 2, 3])('[history 7.2] is all that the log has of it, seed %d', async (seed) => {
    const lab = await story(seed);
    expect(lab.disk.list().some((name) => indexNames.test(name))).toBe(true);
    let total = 0;
    for (let id = 1; id <= 61; id++) {
      const { changes, hasMore, firstOffset } = rowHistory(lab.disk, labIdentity, asked(id));
      const shown = changes.map(({ offset, after }) => {
        const row = after === undefined ? undefined : JSON.parse(after);
        return { offset, after: row?.name };
      });
      expect(shown.reverse()).toEqual(allChanges(lab, id));
      expect([hasMore, firstOffset]).toEqual([false, 1]);
      total += changes.length;
    }
    expect(total).toBeGreaterThan(50);
  });

  it('[history 7.2] begins with the newest, and says that there are older ones', async () => {
    const lab = await story(4);
    const all = Array.from({ length: 60 }, (_, at) => allChanges(lab, at + 1));
    const id = all.findIndex((changes) => changes.length >= 3) + 1;
    const offsets = allChanges(lab, id).map(({ offset }) => offset);
    const { changes, hasMore } = rowHistory(lab.disk, labIdentity, asked(id, { changesMax: 2 }));
    expect(changes.map(({ offset }) => offset)).toEqual(offsets.slice(-2).reverse());
    expect(hasMore).toBe(true);
    expect(changes.map(({ op }) => op)).toEqual(['update', 'update']);
    const durableOffset = offsets[1] ?? 0;
    const early = rowHistory(lab.disk, labIdentity, asked(id, { durableOffset }));
    expect(early.changes.map(({ offset }) => offset)).toEqual(offsets.slice(0, 2).reverse());
    expect(early.changes.at(-1)).toMatchObject({ op: 'insert', before: undefined });
  });

  it('[history 7.3] reads no segment that surely does not have the row', async () => {
    const lab = await story(5);
    const { disk, bytesOf } = counting(lab);
    const read = (id: number) => bytesOf(() => rowHistory(disk, labIdentity, asked(id)));
    const most = Array.from({ length: 60 }, (_, at) => allChanges(lab, at + 1));
    const busiest = most.indexOf(most.reduce((a, b) => (a.length >= b.length ? a : b))) + 1;
    expect(read(9_999)).toBeLessThan(read(busiest));
  });

  it('[history 7.2] says which table or key cannot be', async () => {
    const lab = await story(6);
    const ask = (table: string) => rowHistory(lab.disk, labIdentity, { ...asked(1), table });
    expect(() => ask('nothing')).toThrow('table `nothing` does not exist');
    expect(() => ask('line')).toThrow(
      'table `line` has no primary key, so its rows have no history',
    );
  });
});
