import { describe, expect, it } from 'vitest';
import { ObjectMissingError, type ObjectStore, StoreError } from '../../src/backup/object-store.ts';
import { limits } from '../../src/limits.ts';
import { Random } from '../../src/testing/random.ts';

/** A place under test; `open` gives a store of its own each time, of the same objects. */
export interface StoreUnderTest {
  open(): Promise<ObjectStore>;
  stop(): Promise<void>;
}

/** What each implementation of `ObjectStore` promises. */
export function objectStoreContract(kind: string, begin: () => Promise<StoreUnderTest>): void {
  const withStore = async (use: (store: ObjectStore, other: ObjectStore) => Promise<void>) => {
    const place = await begin();
    try {
      await use(await place.open(), await place.open());
    } finally {
      await place.stop();
    }
  };

  describe(kind, () => {
    it('[history 5.3] an object that was put is there, whole, for another store too', () =>
      withStore(async (store, other) => {
        for (const size of [0, 1, 1000, 300_000]) {
          const bytes = new Random(size).bytes(size);
          const name = `objects/a/${size}.gz`;
          expect(await store.put(name, pieces(bytes, 7777))).toBe('put');
          expect(await other.head(name)).toMatchObject({ bytes: size });
          expect(Buffer.compare(await all(other.get(name)), bytes)).toBe(0);
        }
      }));

    it('[history 5.3] an object is never overwritten', () =>
      withStore(async (store, other) => {
        expect(await store.put('objects/one', Buffer.from('first'))).toBe('put');
        expect(await other.put('objects/one', Buffer.from('second'))).toBe('there');
        expect(await store.put('objects/one', pieces(Buffer.from('third'), 2))).toBe('there');
        expect((await all(other.get('objects/one'))).toString()).toBe('first');
      }));

    it('[history 5.3] of many puts at once of one name, one is put', () =>
      withStore(async (store, other) => {
        const puts = Array.from({ length: 8 }, (_, at) =>
          (at % 2 === 0 ? store : other).put('a/b/c/one', pieces(Buffer.from('same'), 1)),
        );
        const results = await Promise.all(puts);
        expect(results.filter((result) => result === 'put').length).toBeGreaterThan(0);
        expect((await all(store.get('a/b/c/one'))).toString()).toBe('same');
      }));

    it('[history 5.3] a body that fails leaves no object', () =>
      withStore(async (store) => {
        for (const size of [10, limits.uploadPartBytes + 10]) {
          const body = failing(size);
          await expect(store.put('objects/broken', body)).rejects.toThrow('the body failed');
          expect(await store.head('objects/broken')).toBeUndefined();
        }
        const names: string[] = [];
        for await (const { name } of store.list('')) names.push(name);
        expect(names).toEqual([]);
      }));

    it('[history 5.3] more than a part goes up, and any part of it comes down', () =>
      withStore(async (store) => {
        const bytes = new Random(5).bytes(limits.uploadPartBytes + 1234);
        expect(await store.put('objects/large', pieces(bytes, 1_000_003))).toBe('put');
        expect(await store.put('objects/large', pieces(bytes, 1_000_003))).toBe('there');
        expect(await store.head('objects/large')).toMatchObject({ bytes: bytes.length });
        expect(Buffer.compare(await all(store.get('objects/large')), bytes)).toBe(0);
        const part = await all(store.get('objects/large', { from: 500, to: 2_000_000 }));
        expect(Buffer.compare(part, bytes.subarray(500, 2_000_000))).toBe(0);
        const rest = await all(store.get('objects/large', { from: bytes.length - 9 }));
        expect(Buffer.compare(rest, bytes.subarray(-9))).toBe(0);
      }));

    it('[history 5.1] a list has what is below a prefix, with sizes and times', () =>
      withStore(async (store) => {
        const names = ['a/1', 'a/2', 'a/b/3', 'ab/4', 'c'];
        for (const name of names) await store.put(name, Buffer.from(name));
        const listed: string[] = [];
        for await (const { name, bytes, modifiedMicros } of store.list('a/')) {
          expect(bytes).toBe(name.length);
          expect(Math.abs(modifiedMicros / 1000 - Date.now())).toBeLessThan(600_000);
          listed.push(name);
        }
        expect(listed.sort()).toEqual(['a/1', 'a/2', 'a/b/3']);
        const every: string[] = [];
        for await (const { name } of store.list('')) every.push(name);
        expect(every.sort()).toEqual(names);
        for await (const { name } of store.list('nothing/')) throw new Error(name);
      }));

    it('[history 5.1] what is not there is missing, and can be deleted', () =>
      withStore(async (store) => {
        expect(await store.head('no/such')).toBeUndefined();
        await expect(all(store.get('no/such'))).rejects.toThrow(ObjectMissingError);
        await store.delete('no/such');
        await store.put('is/there', Buffer.from('x'));
        await store.delete('is/there');
        expect(await store.head('is/there')).toBeUndefined();
      }));

    it('[history 5.12] what an archive says is replaced', () =>
      withStore(async (store, other) => {
        await store.replace('archive/a.json', Buffer.from('one'));
        await other.replace('archive/a.json', Buffer.from('two'));
        expect((await all(store.get('archive/a.json'))).toString()).toBe('two');
      }));

    it('[history 5.26] a signal ends an upload and a download', () =>
      withStore(async (store) => {
        const stop = new AbortController();
        const { signal } = stop;
        const body = pieces(new Uint8Array(3 * limits.uploadPartBytes), 1_000_000, (count) => {
          if (count === 20) stop.abort();
        });
        await expect(store.put('objects/x', body, { signal })).rejects.toThrow();
        expect(await store.head('objects/x')).toBeUndefined();
        await store.put('objects/y', new Uint8Array(1_000_000));
        await expect(all(store.get('objects/y', { signal }))).rejects.toThrow();
      }));
  });
}

export async function all(bytes: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const found: Uint8Array[] = [];
  for await (const piece of bytes) found.push(piece);
  return Buffer.concat(found);
}

export async function* pieces(
  bytes: Uint8Array,
  size: number,
  onPiece: (count: number) => void = () => undefined,
): AsyncIterable<Uint8Array> {
  for (let at = 0, count = 1; at < bytes.length; at += size, count++) {
    onPiece(count);
    yield bytes.subarray(at, at + size);
  }
}

async function* failing(size: number): AsyncIterable<Uint8Array> {
  yield new Uint8Array(size);
  throw new StoreError('the body failed');
}
