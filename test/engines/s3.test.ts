import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Clocks } from '../../src/engines/s3/moment.ts';
import { OpenedStore } from '../../src/engines/s3/opened-store.ts';
import { S3Directory } from '../../src/engines/s3/s3-directory.ts';
import { S3Engine } from '../../src/engines/s3/s3-engine.ts';
import { parseS3Place, type S3Access } from '../../src/engines/s3/s3-place.ts';
import { StoreClock } from '../../src/engines/s3/store-clock.ts';
import { limits } from '../../src/limits.ts';
import type { SharedLog } from '../../src/shared-log/shared-log.ts';
import { directoryContract, row } from '../contracts/directory.contract.ts';
import {
  all,
  appendOne,
  type EngineUnderTest,
  freshLog,
  sharedLogContract,
} from '../contracts/shared-log.contract.ts';
import { type CutPlace, CuttingProxy } from '../support/cutting-proxy.ts';
import { S3Server, s3Keys } from '../support/s3-server.ts';

const cuts: readonly CutPlace[] = ['before the request', 'within the request', 'before the answer'];

/** `TEST_SLOWNESS`: the factor for a machine that runs other tests at the same time. */
const slowness = Number(process.env.TEST_SLOWNESS ?? 1);

let server: S3Server;
const opened: { close(): void }[] = [];
const proxies: CuttingProxy[] = [];

beforeAll(async () => {
  server = await S3Server.start();
});
afterEach(async () => {
  server.faults = {};
  for (const one of opened.splice(0)) one.close();
  for (const proxy of proxies.splice(0)) await proxy.stop();
});
afterAll(() => server.stop());

function accessAt(endpoint = server.endpoint, prefix = 'cluster/a'): S3Access {
  const reading = parseS3Place(`s3://bucket/${prefix}?endpoint=${encodeURIComponent(endpoint)}`);
  if (reading.kind !== 'valid') throw new Error(reading.reason);
  return { ...reading.place, keys: s3Keys };
}

async function open(access = accessAt(), history?: string, clocks?: Clocks): Promise<S3Engine> {
  const engine = await S3Engine.open(access, history, clocks);
  opened.push(engine);
  return engine;
}

/** An engine beyond a proxy that cuts its next large request. */
async function openCut(place: CutPlace): Promise<SharedLog> {
  const proxy = await CuttingProxy.to(server.port);
  proxies.push(proxy);
  const engine = await open(accessAt(`http://127.0.0.1:${proxy.port}`));
  proxy.arm(place);
  return engine;
}

function keyOf(log: string, seq: number): string {
  return `cluster/a/log/${log}/${seq.toString(16).padStart(16, '0')}`;
}

const engine: EngineUnderTest = {
  open,
  cuts: cuts.map((name) => ({ name, open: () => openCut(name) })),
  wakeMillis: 500 * slowness,
  fill: async (log, count) => {
    for (let seq = 1; seq <= count; seq++)
      server.store(keyOf(log, seq), Buffer.from(`entry ${seq}`));
  },
  stop: async () => undefined,
};

sharedLogContract('an S3-compatible store as a shared log', () => engine);

let directories = 0;
directoryContract('an S3-compatible store as a directory', async () => {
  const access = accessAt(server.endpoint, `directory/${directories++}`);
  return {
    open: async () => new S3Directory(new OpenedStore(access)),
    // The store counts in whole seconds: what goes by is one more, so that it is certain.
    pass: async (millis) => {
      for (const [key, object] of server.objects) {
        const modified = new Date(object.modified.getTime() - millis - 2_000);
        if (key.includes('/host/')) server.objects.set(key, { ...object, modified });
      }
    },
    stop: async () => undefined,
  };
});

/** Lets time go by, for the store and for what is sent to it. */
function later(millis: number): void {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + millis });
}
afterEach(() => void vi.useRealTimers());

const hour = 3_600_000;

/** A log with entries up to `last`, by one client. */
async function begun(client: SharedLog, last: number) {
  const log = freshLog();
  expect(await client.create(log, Buffer.from('zero'))).toBe('created');
  for (let seq = 1; seq <= last; seq++) {
    expect(await appendOne(client, log, seq, Buffer.from(`${seq}`))).toBe('stored');
  }
  return log;
}

describe('entries in an S3-compatible store', () => {
  it('[replication 14.9] are objects that are put if there is none of the name', async () => {
    const one = await open();
    const log = await begun(one, 1);
    const put = server.requests.findLast(({ method }) => method === 'PUT');
    expect(put?.key).toBe(keyOf(log, 1));
    expect(put?.headers['if-none-match']).toBe('*');
    expect(server.objects.get(keyOf(log, 1))?.bytes.toString()).toBe('1');
  });

  it('[replication 3.1, 14.9] one behind another than the writer knows is not stored', async () => {
    const one = await open();
    const other = await open();
    const log = await begun(one, 0);
    const item = { log, seq: 1, bytes: Buffer.from('one') };
    for (const client of [one, other]) {
      expect(await client.append([{ ...item, after: Buffer.from('other') }])).toEqual(['passed']);
      expect(await client.append([{ ...item, after: Buffer.from('zero, longer') }])).toEqual([
        'passed',
      ]);
    }
    expect(await other.append([{ ...item, after: Buffer.from('ze') }])).toEqual(['stored']);
    const others = [
      { log, seq: 2, bytes: Buffer.from('two'), after: Buffer.from('zero') },
      { log: freshLog(), seq: 2, bytes: Buffer.from('two'), after: Buffer.from('one') },
    ];
    expect(await one.append(others)).toEqual(['passed', 'passed']);
    expect(await all(one, log)).toHaveLength(2);
  });

  it('[replication 14.9] a store that is busy with the name is asked the same again', async () => {
    const one = await open();
    const log = await begun(one, 0);
    server.faults.conflicts = 3;
    expect(await appendOne(one, log, 1, Buffer.from('one'))).toBe('stored');
    server.faults.conflicts = 1_000;
    expect(await appendOne(one, log, 2, Buffer.from('two'))).toBe('unknown');
    server.faults = {};
    expect(await appendOne(one, log, 2, Buffer.from('two'))).toBe('stored');
  });

  it('[replication 14.9] every other answer, and none, is unknown', async () => {
    const one = await open();
    const log = await begun(one, 0);
    server.faults.lost = 1;
    expect(await appendOne(one, log, 1, Buffer.from('one'))).toBe('unknown');
    expect(await appendOne(one, log, 1, Buffer.from('one'))).toBe('passed');
    expect(await all(one, log)).toHaveLength(2);
    server.faults.busy = 1;
    expect(await appendOne(one, log, 2, Buffer.from('two'))).toBe('unknown');
    server.faults.conditions = 'unknown';
    expect(await appendOne(one, log, 2, Buffer.from('two'))).toBe('unknown');
    server.faults = {};
    expect(await appendOne(one, log, 2, Buffer.from('two'))).toBe('stored');
  });

  it('[replication 14.9] an answer that took more than 10 minutes is unknown', async () => {
    let wall = 0;
    const clocks = { now: () => ({ steady: performance.now(), wall }) };
    const one = await open(accessAt(), undefined, clocks);
    const log = await begun(one, 0);
    let release = (): void => undefined;
    const until = new Promise<void>((resolve) => {
      release = resolve;
    });
    server.faults.held = { count: 1, until };
    const slow = appendOne(one, log, 1, Buffer.from('one'));
    await expect.poll(() => server.faults.held?.count).toBe(0);
    wall += limits.s3KnownMillisMax + 1;
    release();
    expect(await slow).toBe('unknown');
    expect(await all(one, log)).toHaveLength(2);
    // What was known of the entry before is old as well, and is read again.
    expect(await appendOne(one, log, 2, Buffer.from('two'))).toBe('stored');
  });

  it('[replication 14.9] a request that arrives more than 15 minutes later is refused', async () => {
    const one = await open();
    const log = await begun(one, 1);
    const late = server.requests.findLast(({ method }) => method === 'PUT');
    server.objects.delete(keyOf(log, 1));
    const send = () => {
      if (late === undefined) throw new Error('nothing was put');
      const { host: _, ...headers } = late.headers as Record<string, string>;
      const address = `${server.endpoint}/bucket/${late.key}`;
      return fetch(address, { method: 'PUT', headers, body: '1' });
    };
    later(16 * 60_000);
    expect((await send()).status).toBe(403);
    expect(await all(one, log)).toHaveLength(1);
  });
});

describe('a truncation in an S3-compatible store', () => {
  it('[replication 14.9] marks what it removes, and deletes it 2 hours later', async () => {
    const [one, other] = [await open(), await open()];
    const log = await begun(one, 12);
    await one.truncate(log, 5);
    await other.truncate(log, 9);
    expect(await other.read(log, 0, limits.sharedReadBytesMax)).toMatchObject({ first: 9 });
    for (let seq = 0; seq <= 12; seq++) expect(server.objects.has(keyOf(log, seq))).toBe(true);
    later(limits.s3DeleteAfterMillis - 60_000);
    await other.truncate(log, 9);
    expect(server.objects.has(keyOf(log, 0))).toBe(true);
    later(2 * 60_000);
    await other.truncate(log, 9);
    for (let seq = 0; seq <= 12; seq++) {
      expect([seq, server.objects.has(keyOf(log, seq))]).toEqual([seq, seq >= 9]);
    }
  });

  it('[replication 14.9] hosts that mark at the same moment lose no mark', async () => {
    const clients = await Promise.all([open(), open(), open(), open()]);
    const log = await begun(clients[0] as SharedLog, 12);
    await Promise.all(clients.map((client, at) => client.truncate(log, 3 + at)));
    const { first } = await (clients[0] as SharedLog).read(log, 0, limits.sharedReadBytesMax);
    expect(first).toBe(6);
  });

  it('[replication 14.9] a host that slept meanwhile stores nothing at a free position', async () => {
    const [one, sleeper] = [await open(), await open()];
    const log = await begun(one, 1);
    expect(await appendOne(sleeper, log, 2, Buffer.from('2'))).toBe('stored');
    for (let seq = 3; seq <= 12; seq++) await appendOne(one, log, seq, Buffer.from(`${seq}`));
    await one.truncate(log, 9);
    later(3 * hour);
    await one.truncate(log, 9);
    expect(server.objects.has(keyOf(log, 3))).toBe(false);
    // It wrote entry 2 itself, and nobody else had written entry 3 as far as it knows.
    expect(await appendOne(sleeper, log, 3, Buffer.from('late'))).toBe('passed');
    expect(await sleeper.confirm([{ log, seq: 2 }])).toEqual(['passed']);
    expect(server.objects.has(keyOf(log, 3))).toBe(false);
    expect(await sleeper.create(log, Buffer.from('late'))).toBe('exists');
  });

  it('[replication 14.9] what lands there nevertheless is not shown, and is deleted', async () => {
    const one = await open();
    const log = await begun(one, 12);
    await one.truncate(log, 9);
    later(3 * hour);
    await one.truncate(log, 9);
    server.store(keyOf(log, 3), Buffer.from('late'));
    expect((await all(one, log)).map(({ seq }) => seq)).toEqual([9, 10, 11, 12]);
    await one.truncate(log, 10);
    expect(server.objects.has(keyOf(log, 3))).toBe(false);
  });
});

describe('the probe of a store', () => {
  const refusals = [
    [{ conditions: 'ignored' }, 'does not honour `If-None-Match: *`'],
    [{ ignoresMatch: true }, 'in spite of an `If-Match` that is old'],
    [{ stale: true }, 'does not show what was written before it'],
    [{ dateless: true }, 'its answers have no `Date`'],
  ] as const;

  for (const [faults, reason] of refusals) {
    it(`[replication 14.10] refuses one that ${Object.keys(faults)[0]}`, async () => {
      server.faults = { ...faults };
      const access = accessAt(server.endpoint, `probed/${Object.keys(faults)[0]}`);
      await expect(S3Engine.open(access)).rejects.toThrow(reason);
      server.faults = {};
      await open(access);
      expect([...server.objects.keys()].filter((key) => key.includes('/probe/'))).toEqual([]);
    });
  }

  it('[replication 14.10] does not take a store that is away, or shut, for a bad one', async () => {
    const keys = { ...s3Keys, secretAccessKey: 'another-secret' };
    const refused = S3Engine.open({ ...accessAt(), keys });
    await expect(refused).rejects.toThrow('403 SignatureDoesNotMatch');
    await expect(refused).rejects.not.toThrow(/another-secret|AKID/);
    await expect(S3Engine.open(accessAt('http://127.0.0.1:9'))).rejects.toThrow('reached');
  });

  it('[replication 3.4] another store than the host has used is refused', async () => {
    const { history } = await (await open()).capabilities();
    await open(accessAt(), history);
    const other = accessAt(server.endpoint, 'cluster/other');
    await expect(S3Engine.open(other, history)).rejects.toThrow('another engine');
  });
});

describe('followers of an S3-compatible store', () => {
  it('[replication 14.12] read the next 4 positions at once, and list nothing', async () => {
    const [one, other] = [await open(), await open()];
    const log = await begun(one, 40);
    server.requests.length = 0;
    await other.read(log, 40, limits.sharedReadBytesMax);
    const asked = server.requests.map(({ method, key }) => `${method} ${key}`);
    const entries = [40, 41, 42, 43].map((seq) => `GET ${keyOf(log, seq)}`);
    expect(asked.sort()).toEqual([...entries, `GET cluster/a/log/${log}/first`].sort());
    expect(await other.read(log, 0, limits.sharedReadBytesMax)).toMatchObject({ first: 0 });
    expect(server.requests.some(({ query }) => query.includes('list-type'))).toBe(false);
  });

  it('[replication 14.12] do not have the last entry sent again', async () => {
    const [one, other] = [await open(), await open()];
    const log = await begun(one, 1);
    await other.read(log, 1, limits.sharedReadBytesMax);
    server.requests.length = 0;
    const { entries } = await other.read(log, 1, limits.sharedReadBytesMax);
    expect(entries.map(({ bytes }) => Buffer.from(bytes).toString())).toEqual(['1']);
    const again = server.requests.find(({ key }) => key === keyOf(log, 1));
    expect(again?.headers['if-none-match']).toMatch(/^"[0-9a-f]{32}"$/);
  });

  it('[replication 3.6] never more than 8 requests are under way', async () => {
    const store = new OpenedStore(accessAt());
    const one = new S3Engine(store);
    const directory = new S3Directory(store);
    const log = await begun(one, 0);
    server.faults.latencyMillis = 5;
    server.mostAtOnce = 0;
    const logs = Array.from({ length: 50 }, () => freshLog());
    await Promise.all([
      ...logs.map((name) => one.create(name, Buffer.from('zero'))),
      ...logs.map(() => one.read(log, 0, limits.sharedReadBytesMax)),
      directory.beat(row(3, 'c')),
    ]);
    expect(server.mostAtOnce).toBeLessThanOrEqual(limits.s3RequestsMax + limits.s3BeatRequestsMax);
    expect(server.mostAtOnce).toBeGreaterThan(1);
  });
});

describe('a store that takes no commits', () => {
  it('[replication 15.1] says why, as far as it is known', async () => {
    const store = new OpenedStore(accessAt());
    const one = new S3Engine(store);
    const log = await begun(one, 0);
    expect(await store.trouble()).toBeUndefined();
    server.faults.conditions = 'unknown';
    expect(await appendOne(one, log, 1, Buffer.from('one'))).toBe('unknown');
    expect(await store.trouble()).toContain('it answered 501 NotImplemented');
    server.faults = {};
    expect(await appendOne(one, log, 1, Buffer.from('one'))).toBe('stored');
    expect(await store.trouble()).toBeUndefined();
    server.faults.busy = 1;
    expect(await store.trouble()).toContain('it answered 503 SlowDown');
  });
});

describe('beats in an S3-compatible store', () => {
  it('[replication 14.11] are an object for each host, put once a beat', async () => {
    const directory = new S3Directory(new OpenedStore(accessAt()));
    const me = row(51, 'me');
    await directory.beat(me);
    server.requests.length = 0;
    await directory.beat(me);
    const writes = server.requests.filter(({ method }) => method === 'PUT');
    expect(writes.map(({ key }) => key)).toEqual([
      `cluster/a/host/${me.host.toString(16).padStart(32, '0')}`,
    ]);
    expect(writes[0]?.headers['if-match']).toBeDefined();
    await directory.forget(me.host);
    expect((await directory.beat(me)).map(({ name }) => name)).toContain('me');
    await directory.forget(me.host);
  });

  it('[replication 14.11] whose answer was lost do not make a host another', async () => {
    const directory = new S3Directory(new OpenedStore(accessAt()));
    const me = row(52, 'me');
    await directory.beat(me);
    server.faults.lost = 1;
    await expect(directory.beat(me)).rejects.toThrow('reached');
    const seen = (await directory.beat(me)).find(({ name }) => name === 'me');
    expect(seen).toMatchObject({ boot: me.boot, ageMillis: 0 });
    await directory.forget(me.host);
  });

  it('[replication 3.8, 7.1] a row that no host wrote concerns nobody', async () => {
    const directory = new S3Directory(new OpenedStore(accessAt(server.endpoint, 'rows')));
    server.store('rows/host/zz', Buffer.from('not json'));
    server.store('rows/hint/zz', Buffer.from('{}'));
    expect((await directory.beat(row(53, 'me'))).map(({ name }) => name)).toEqual(['me']);
    expect(await directory.hints()).toEqual([]);
  });
});

describe('the clock of a store', () => {
  it('[replication 14.11] is known far better than its whole seconds', () => {
    const clock = new StoreClock();
    expect(clock.at(0)).toBeUndefined();
    const ahead = 1_700_000_000_250;
    for (let now = 0; now < 30_000; now += 370) {
      const date = new Date(Math.floor((now + ahead + 10) / 1_000) * 1_000).toUTCString();
      clock.take(date, now, now + 20);
    }
    expect(Math.abs((clock.at(30_000) ?? 0) - 30_000 - ahead)).toBeLessThan(100);
    // It was set.
    clock.take(new Date(ahead + hour).toUTCString(), 30_000, 30_020);
    expect(Math.abs((clock.at(30_020) ?? 0) - ahead - hour)).toBeLessThan(1_500);
  });
});

describe('the address of a store', () => {
  it('[replication 16.1] names a bucket, and what backups name of a store', () => {
    const text = 's3://my-bucket/a/b?endpoint=https://s3.example.com&region=eu-1&path-style=false';
    expect(parseS3Place(text)).toEqual({
      kind: 'valid',
      place: {
        ...{ kind: 's3', bucket: 'my-bucket', prefix: 'a/b' },
        settings: { endpoint: 'https://s3.example.com', region: 'eu-1', pathStyle: false },
      },
    });
    expect(parseS3Place('s3://my-bucket')).toMatchObject({ place: { prefix: '' } });
  });

  it('[replication 16.1] is refused with what is wrong, and without its secrets', () => {
    for (const [text, reason] of [
      ['s3://id:verysecret@bucket/p', 'keys are given by variables'],
      ['s3://bucket/p?secret-key=verysecret', 'unknown option secret-key'],
      ['s3://bucket/p?endpoint=http://example.com', 'must be https'],
      ['s3://bucket/p?endpoint=https://id:verysecret@example.com', 'more than a host'],
      ['s3://bucket/p?path-style=1', 'path-style is'],
      ['s3://', 'has a bucket'],
    ] as const) {
      const reading = parseS3Place(text);
      expect(reading).toMatchObject({ kind: 'invalid', reason: expect.stringContaining(reason) });
      expect(JSON.stringify(reading)).not.toContain('verysecret');
    }
  });
});
