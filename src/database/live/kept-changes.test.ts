import { describe, expect, it } from 'vitest';
import { limits } from '../../limits.ts';
import { tableId } from '../../schema/ids.ts';
import { emptyRowList, type TableChange } from '../../store/change-set.ts';
import { commitOffset } from '../../store/commit-offset.ts';
import { KeptChanges } from './kept-changes.ts';

/** A change of one table with rows of so many bytes. */
function change(byteCount: number, buffer = new ArrayBuffer(byteCount + 1)): TableChange {
  const bytes = new Uint8Array(buffer, 0, byteCount).fill(byteCount);
  const inserts = { bytes, count: 1 };
  return { tableId: tableId(4096), inserts, deletes: emptyRowList, truncated: false };
}

function add(kept: KeptChanges, offset: number, byteCount = 10): void {
  kept.add(commitOffset(offset), [change(byteCount)]);
}

/** Offsets of the commits behind `offset`. */
function since(kept: KeptChanges, offset: number, end: number): readonly number[] | undefined {
  return kept.since(offset, end)?.map((commit) => commit.offset);
}

describe('[replication 11.5] the changes kept for clients that come back', () => {
  it('are those behind the moment when somebody wanted them', () => {
    const kept = new KeptChanges();
    add(kept, 1);
    expect([kept.isOn, kept.bytes, since(kept, 1, 1)]).toEqual([false, 0, undefined]);
    kept.begin(1);
    kept.begin(0);
    expect(since(kept, 1, 1)).toEqual([]);
    for (const offset of [2, 3, 4]) add(kept, offset);
    expect(since(kept, 1, 4)).toEqual([2, 3, 4]);
    expect(since(kept, 3, 4)).toEqual([4]);
    expect(since(kept, 4, 4)).toEqual([]);
    expect(since(kept, 0, 4)).toBeUndefined();
    expect(since(kept, 5, 4)).toBeUndefined();
  });

  it('[replication 11.5] hold nothing of a log but their rows', () => {
    const kept = new KeptChanges();
    kept.begin(0);
    const log = new ArrayBuffer(1_000_000);
    kept.add(commitOffset(1), [change(8, log)], true);
    const buffers = kept
      .since(0, 1)
      ?.flatMap(({ tables }) => tables.flatMap(({ inserts, deletes }) => [inserts, deletes]))
      .map(({ bytes }) => bytes.buffer);
    expect(buffers?.map((buffer) => buffer === log || buffer.byteLength > 100)).toEqual([
      false,
      false,
    ]);
  });

  it('[replication 11.5] are none where a commit is missing, or the schema has changed', () => {
    const kept = new KeptChanges();
    kept.begin(1);
    add(kept, 2);
    // The last commit of the database is another one.
    expect(since(kept, 1, 3)).toBeUndefined();
    add(kept, 4);
    expect([since(kept, 1, 4), since(kept, 3, 4), since(kept, 4, 4)]).toEqual([
      undefined,
      undefined,
      [],
    ]);
    add(kept, 5);
    expect(since(kept, 4, 5)).toEqual([5]);
    kept.forget(6);
    expect([since(kept, 4, 6), since(kept, 6, 6), kept.bytes]).toEqual([undefined, [], 0]);
  });

  it('stay within their bytes, however large and many the commits are', () => {
    const bytesMax = 3 * (2 * limits.resumeCommitBytes + 100);
    const kept = new KeptChanges(bytesMax);
    kept.begin(0);
    for (let offset = 1; offset <= 10_000; offset++) {
      add(kept, offset, 100);
      expect(kept.bytes).toBeLessThanOrEqual(bytesMax);
    }
    expect(since(kept, 9_997, 10_000)).toEqual([9_998, 9_999, 10_000]);
    expect(since(kept, 9_996, 10_000)).toBeUndefined();
    // One that does not fit at all leaves nothing, and the next one is kept again.
    add(kept, 10_001, bytesMax);
    expect([since(kept, 10_000, 10_001), since(kept, 10_001, 10_001)]).toEqual([undefined, []]);
    add(kept, 10_002, 100);
    expect(since(kept, 10_001, 10_002)).toEqual([10_002]);
  });

  it('do not lose rows whose buffer is given away with an update', () => {
    const kept = new KeptChanges();
    kept.begin(0);
    const own = change(5_000, new ArrayBuffer(5_000));
    kept.add(commitOffset(1), [own]);
    const { buffer } = own.inserts.bytes;
    structuredClone(buffer, { transfer: [buffer as ArrayBuffer] });
    expect(own.inserts.bytes.length).toBe(0);
    const [commit] = kept.since(0, 1) ?? [];
    const bytes = commit?.tables[0]?.inserts.bytes ?? expect.fail('kept rows');
    expect([bytes.length, bytes[4_999]]).toEqual([5_000, 5_000 % 256]);
    // What a resumed client gets of them is a part of a buffer, which is copied.
    expect(bytes.buffer.byteLength).toBeGreaterThan(bytes.length);
  });
});
