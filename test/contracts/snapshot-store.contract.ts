import { describe, expect, it } from 'vitest';
import type { SnapshotStore } from '../../src/shared-log/snapshot-store.ts';
import { Random } from '../../src/testing/random.ts';

/** A store under test; `open` gives one of its own each time, of the same objects. */
export interface SnapshotsUnderTest {
  open(): Promise<SnapshotStore>;
  stop(): Promise<void>;
}

/** What each implementation of `SnapshotStore` promises. */
export function snapshotStoreContract(kind: string, begin: () => Promise<SnapshotsUnderTest>) {
  describe(kind, () => {
    it('[replication 3.8] gives back what was put, to every host, and never another', async () => {
      const place = await begin();
      try {
        const [one, other] = [await place.open(), await place.open()];
        for (const size of [0, 1, 3_000_000]) {
          const bytes = new Random(size).bytes(size);
          expect(await one.putIfAbsent(`log/part-${size}`, bytes)).toBe(true);
          expect(await other.putIfAbsent(`log/part-${size}`, Buffer.from('other'))).toBe(false);
          const found = await other.get(`log/part-${size}`);
          expect(Buffer.compare(found ?? Buffer.from('none'), bytes)).toBe(0);
        }
        expect(await other.get('log/part-2')).toBeUndefined();
      } finally {
        await place.stop();
      }
    });

    it('[replication 3.8] lists names in order, of one log and one kind', async () => {
      const place = await begin();
      try {
        const store = await place.open();
        for (const name of ['b/x-2', 'a/x-2', 'a/x-1', 'a/y-1']) {
          await store.putIfAbsent(name, Buffer.from(name));
        }
        expect(await store.list('a/x-')).toEqual(['a/x-1', 'a/x-2']);
        expect(await store.list('a/')).toEqual(['a/x-1', 'a/x-2', 'a/y-1']);
        expect(await store.list('c/')).toEqual([]);
        await store.remove('a/x-1');
        await store.remove('a/x-1');
        expect(await store.list('a/x-')).toEqual(['a/x-2']);
        expect(await store.get('a/x-1')).toBeUndefined();
        expect(await store.putIfAbsent('a/x-1', Buffer.from('again'))).toBe(true);
      } finally {
        await place.stop();
      }
    });

    it('[replication 3.8] of many puts of one name at once, one is put', async () => {
      const place = await begin();
      try {
        const stores = [await place.open(), await place.open()];
        const puts = Array.from({ length: 16 }, (_, at) =>
          stores[at % 2]?.putIfAbsent('a/one', Buffer.from('same')),
        );
        expect((await Promise.all(puts)).filter((isPut) => isPut === true).length).toBeGreaterThan(
          0,
        );
        expect(Buffer.from((await stores[0]?.get('a/one')) ?? []).toString()).toBe('same');
      } finally {
        await place.stop();
      }
    });
  });
}
