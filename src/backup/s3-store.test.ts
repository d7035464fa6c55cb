import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { all, pieces } from '../../test/contracts/object-store.contract.ts';
import { S3Server, s3Keys } from '../../test/support/s3-server.ts';
import { limits } from '../limits.ts';
import { Random } from '../testing/random.ts';
import { BackupError } from './backup-error.ts';
import { type ObjectStore, StoreError } from './object-store.ts';
import { parsePlace } from './parse-place.ts';
import { openStore } from './repository-place.ts';
import { ListPages } from './s3-client.ts';
import { endpointOf, type S3Settings } from './s3-settings.ts';

let server: S3Server;

beforeEach(async () => {
  server = await S3Server.start();
});

afterEach(async () => {
  vi.useRealTimers();
  await server.stop();
});

function open(keys = s3Keys as object, bucket = 'bucket'): Promise<ObjectStore> {
  const place = { kind: 's3', bucket, prefix: 'p' } as const;
  return openStore(place, { endpoint: server.endpoint }, () => ({ ...s3Keys, ...keys }));
}

async function firstOf<T>(items: AsyncIterable<T>): Promise<T | undefined> {
  for await (const item of items) return item;
  return undefined;
}

it('[history 5.1] places are folders and addresses of stores', () => {
  expect(parsePlace('/var/backups')).toEqual({ kind: 'folder', folder: '/var/backups' });
  const s3 = (bucket: string, prefix: string) => ({ kind: 's3', bucket, prefix });
  expect(parsePlace('s3://bucket')).toEqual(s3('bucket', ''));
  expect(parsePlace('s3://my.bucket-1/a/b.c/')).toEqual(s3('my.bucket-1', 'a/b.c'));
  for (const text of ['', 'http://host/x', 's3://', 's3://B', 's3://bucket/../x']) {
    expect(() => parsePlace(text), text).toThrow(BackupError);
  }
  expect(() => parsePlace('s3://b/p')).toThrow(/a bucket of 3 to 63 lower-case letters/);
});

it('[history 5.2] keys in an address are refused, and not shown', async () => {
  const addresses = ['s3://id:verysecret@bucket/p', 's3://bucket/p?key=verysecret'];
  for (const address of addresses) {
    expect(() => parsePlace(address)).toThrow(/keys are given by variables/);
    expect(() => parsePlace(address)).not.toThrow(/verysecret/);
  }
  const endpoint = 'https://id:verysecret@host';
  expect(() => endpointOf('bucket', { endpoint })).toThrow(/more than a host/);
  expect(() => endpointOf('bucket', { endpoint })).not.toThrow(/verysecret/);
  const place = { kind: 's3', bucket: 'bucket', prefix: '' } as const;
  await expect(openStore(place)).rejects.toThrow(
    'set REDUCERDB_S3_ACCESS_KEY_ID and REDUCERDB_S3_SECRET_ACCESS_KEY',
  );
});

it('[history 5.1] an endpoint is https, or loopback', () => {
  const of = (settings: S3Settings) => endpointOf('bucket', settings);
  expect(of({})).toBe('https://bucket.s3.us-east-1.amazonaws.com');
  expect(of({ region: 'eu-north-1' })).toBe('https://bucket.s3.eu-north-1.amazonaws.com');
  expect(of({ endpoint: 'https://host:9000' })).toBe('https://host:9000/bucket');
  expect(of({ endpoint: 'https://host/base/' })).toBe('https://host/base/bucket');
  expect(of({ endpoint: 'https://host', pathStyle: false })).toBe('https://bucket.host');
  expect(of({ endpoint: 'http://127.0.0.1:9000' })).toBe('http://127.0.0.1:9000/bucket');
  expect(of({ endpoint: 'http://[::1]:9000' })).toBe('http://[::1]:9000/bucket');
  for (const endpoint of ['http://10.0.0.1', 'http://127.evil.example', 'ftp://127.0.0.1', 'x']) {
    expect(() => of({ endpoint }), endpoint).toThrow(BackupError);
  }
  expect(() => of({ endpoint: 'http://10.0.0.1' })).toThrow(
    'the endpoint http://10.0.0.1 must be https, unless it is loopback',
  );
});

it('[history 5.2] an error of a store shows its code, and no key', async () => {
  const secret = 'not-the-right-secret';
  const store = await open({ secretAccessKey: secret });
  const calls = [
    () => store.head('a'),
    () => store.put('a', Buffer.from('x')),
    () => all(store.get('a')),
    () => store.delete('a'),
    () => firstOf(store.list('')),
    () => store.sweep(0, true),
  ];
  for (const call of calls) {
    const error = await call().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(StoreError);
    const shown = `${(error as Error).stack} ${JSON.stringify(error)} ${(error as Error).cause}`;
    expect(shown).toMatch(/s3:\/\/bucket\/p: .* failed: it answered 403/);
    expect(shown).not.toContain(s3Keys.accessKeyId);
    expect(shown).not.toContain(secret);
  }
});

it('[history 5.2] a session token is signed with each request', async () => {
  server.sessionToken = 'a-token';
  const store = await open({ sessionToken: 'a-token' });
  const bytes = new Random(1).bytes(limits.uploadPartBytes + 5);
  await store.put('large', pieces(bytes, 1_000_000));
  expect(Buffer.compare(await all(store.get('large')), bytes)).toBe(0);
  for await (const { name } of store.list('')) expect(name).toBe('large');
  await store.delete('large');
  await expect((await open()).head('large')).rejects.toThrow('it answered 403');
});

it('[history 5.2] requests of the first moment of a day are signed for it', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 10, 30, 23, 59, 59) });
  const store = await open();
  await store.put('a', Buffer.from('x'));
  vi.setSystemTime(Date.UTC(2026, 11, 1));
  const heads = await Promise.all(['a', 'a', 'a', 'a'].map((name) => store.head(name)));
  expect(heads.map((head) => head?.bytes)).toEqual([1, 1, 1, 1]);
});

it('[history 5.3] a busy store is asked again, and a dead one is reported', async () => {
  const store = await open();
  server.faults = { busy: 3 };
  await store.put('a', Buffer.from('x'));
  server.faults = { busy: 2 };
  expect((await all(store.get('a'))).toString()).toBe('x');
  server.faults = { busy: limits.storeAttemptsMax * 10 };
  await expect(store.head('a')).rejects.toThrow('a look at a failed: it answered 503');
  server.faults = {};
  await server.stop();
  await expect(store.head('a')).rejects.toThrow(/the store cannot be reached: ECONNREFUSED/);
  server = await S3Server.start();
});

it('[history 5.3] a lost answer to an upload is not an object twice', async () => {
  const store = await open();
  server.faults = { lost: 1 };
  expect(await store.put('a', Buffer.from('x'))).toBe('there');
  expect((await all(store.get('a'))).toString()).toBe('x');
  const bytes = new Random(2).bytes(limits.uploadPartBytes + 5);
  server.faults = { lost: 1 };
  expect(await store.put('b', pieces(bytes, 1_000_000))).toBe('put');
  expect(Buffer.compare(await all(store.get('b')), bytes)).toBe(0);
});

it('[history 5.3] an answer that is cut off goes on where it was cut', async () => {
  const store = await open();
  const bytes = new Random(3).bytes(1_000_000);
  await store.put('a', bytes);
  server.faults = { cuts: { count: 4, bytes: 100_000 } };
  expect(Buffer.compare(await all(store.get('a')), bytes)).toBe(0);
  const ranges = server.requests.filter(({ method }) => method === 'GET');
  expect(ranges.length).toBe(5);
  server.faults = { cuts: { count: 100, bytes: 0 } };
  await expect(all(store.get('a'))).rejects.toThrow('reading a failed: the answer was cut off');
});

it('[history 5.3] an upload that was cut off goes on with the parts that are there', async () => {
  const store = await open();
  const bytes = new Random(4).bytes(3 * limits.uploadPartBytes + 99);
  const stop = new AbortController();
  const { signal } = stop;
  const body = pieces(bytes, 1_000_000, (count) => {
    if (count === 40) stop.abort();
  });
  await expect(store.put('a', body, { signal, isRepeatable: true })).rejects.toThrow();
  const [upload] = server.uploads.values();
  const kept = upload?.parts.size ?? 0;
  expect(kept).toBeGreaterThan(0);
  const before = server.requests.length;
  const again = await store.put('a', pieces(bytes, 999_999), { isRepeatable: true });
  expect(again).toBe('put');
  const sent = server.requests.slice(before).reduce((sum, request) => sum + request.bytes, 0);
  expect(sent).toBeLessThan(bytes.length - kept * limits.uploadPartBytes + 2_000);
  expect(Buffer.compare(await all(store.get('a')), bytes)).toBe(0);
  expect(server.uploads.size).toBe(0);
});

it('[history 5.3] parts of other bytes are never used', async () => {
  const store = await open();
  const stop = new AbortController();
  const { signal } = stop;
  const first = new Random(5).bytes(3 * limits.uploadPartBytes);
  const body = pieces(first, 1_000_000, (count) => {
    if (count === 40) stop.abort();
  });
  await expect(store.put('a', body, { signal, isRepeatable: true })).rejects.toThrow();
  const other = new Random(6).bytes(2 * limits.uploadPartBytes + 7);
  await store.put('a', pieces(other, 1_000_000), { isRepeatable: true });
  expect(Buffer.compare(await all(store.get('a')), other)).toBe(0);
});

it('[history 5.19] uploads that were never completed are given up after a day', async () => {
  const store = await open();
  server.faults = { pageMax: 1 };
  for (const name of ['a', 'b', 'c']) {
    const stop = new AbortController();
    const { signal } = stop;
    const body = pieces(new Uint8Array(3 * limits.uploadPartBytes), 1_000_000, (count) => {
      if (count === 40) stop.abort();
    });
    await expect(store.put(name, body, { signal, isRepeatable: true })).rejects.toThrow();
  }
  const uploads = [...server.uploads.values()];
  const day = limits.backupUnnamedMillisMin;
  for (const upload of uploads.slice(0, 2)) upload.begun = new Date(Date.now() - 2 * day);
  const before = (Date.now() - day) * 1000;
  expect(await store.sweep(before, true)).toBe(2);
  expect(server.uploads.size).toBe(3);
  expect(await store.sweep(before, false)).toBe(2);
  expect([...server.uploads.values()]).toEqual(uploads.slice(2));
});

it('[history 5.1] answers without an end are not read on', async () => {
  const store = await open();
  server.faults = { endless: 'answers' };
  const mebibyte = 2 ** 20;
  await expect(all(store.list('') as never)).rejects.toThrow(
    's3://bucket/p: the store answered more than 8 MiB to one request',
  );
  expect(server.endlessBytes).toBeLessThan(limits.storePageBytesMax + 32 * mebibyte);
  await expect(store.sweep(0, true)).rejects.toThrow('more than 8 MiB to one request');
  const before = server.endlessBytes;
  await expect(all(store.get('a'))).rejects.toThrow('it answered 403 AccessDenied');
  expect(server.endlessBytes - before).toBeLessThan(32 * mebibyte);
});

it('[history 5.1] a list whose pages have no end is refused', async () => {
  const store = await open();
  server.faults = { endless: 'circle' };
  await expect(firstOf(store.list(''))).rejects.toThrow(
    's3://bucket/p: a list of p/ has no end: the store names a page again',
  );
  const pages = new ListPages('a list');
  for (let page = 0; page < limits.storeListPagesMax; page++) pages.goOn(`page ${page}`);
  expect(() => pages.goOn('another')).toThrow('a list has more than 10000 pages');
});

it('[history 5.1] a bucket that is not there is an error', async () => {
  const store = await open({}, 'other-bucket');
  await expect(store.put('a', Buffer.from('x'))).rejects.toThrow(StoreError);
});
