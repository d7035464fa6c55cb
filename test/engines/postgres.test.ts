import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { PostgresDirectory } from '../../src/engines/postgres/postgres-directory.ts';
import { PostgresEngine } from '../../src/engines/postgres/postgres-engine.ts';
import { PostgresParts } from '../../src/engines/postgres/postgres-parts.ts';
import { parsePostgresPlace } from '../../src/engines/postgres/postgres-place.ts';
import { Session } from '../../src/engines/postgres/session.ts';
import { Sessions } from '../../src/engines/postgres/sessions.ts';
import { standbyCount } from '../../src/engines/postgres/standby-count.ts';
import { limits } from '../../src/limits.ts';
import type { SharedLog } from '../../src/shared-log/shared-log.ts';
import { directoryContract, row } from '../contracts/directory.contract.ts';
import {
  appendOne,
  type EngineUnderTest,
  freshLog,
  sharedLogContract,
} from '../contracts/shared-log.contract.ts';
import { snapshotStoreContract } from '../contracts/snapshot-store.contract.ts';
import { type CutPlace, CuttingProxy } from '../support/cutting-proxy.ts';
import { PostgresCluster, until, withoutPostgres } from '../support/postgres-cluster.ts';
import { TransactionPool, type TransactionPoolKind } from '../support/transaction-pool.ts';

const cuts: readonly CutPlace[] = ['before the request', 'within the request', 'before the answer'];

/** `TEST_SLOWNESS`: the factor for a machine that runs other tests at the same time. */
const slowness = Number(process.env.TEST_SLOWNESS ?? 1);

let cluster: PostgresCluster;
const opened: { close(): void }[] = [];
const proxies: CuttingProxy[] = [];

function placeOf(address: string) {
  const reading = parsePostgresPlace(address);
  if (reading.kind !== 'valid') throw new Error(reading.reason);
  return reading.place;
}

async function open(address = cluster.address, history?: string): Promise<PostgresEngine> {
  const engine = await PostgresEngine.open(placeOf(address), history);
  opened.push(engine);
  return engine;
}

/** An engine beyond a proxy that cuts its next large request. */
async function openCut(place: CutPlace): Promise<SharedLog> {
  const proxy = await CuttingProxy.to(cluster.primary.port);
  proxies.push(proxy);
  const engine = await open(`postgres://postgres@127.0.0.1:${proxy.port}/postgres`);
  proxy.arm(place);
  return engine;
}

const engine: EngineUnderTest = {
  open,
  cuts: cuts.map((name) => ({ name, open: () => openCut(name) })),
  // Without notices it would be a second.
  wakeMillis: 50 * slowness,
  fill: async (log, count) => {
    const row = `decode('${log}', 'hex'), n, convert_to('entry ' || n, 'UTF8')`;
    cluster.primary.run(
      `insert into reducerdb_entry select ${row} from generate_series(1, ${count}) n`,
    );
  },
  stop: async () => undefined,
};

describe.skipIf(withoutPostgres !== undefined)(
  `PostgreSQL with a synchronous standby${withoutPostgres === undefined ? '' : `: ${withoutPostgres}`}`,
  () => {
    beforeAll(async () => {
      cluster = await PostgresCluster.start();
    });
    afterEach(async () => {
      for (const one of opened.splice(0)) one.close();
      for (const proxy of proxies.splice(0)) await proxy.stop();
    });
    afterAll(async () => {
      await cluster.stop();
    });

    sharedLogContract('as a shared log', () => engine);

    snapshotStoreContract('as a place for snapshots', async () => {
      cluster.primary.run('drop table if exists reducerdb_part');
      const all: Sessions[] = [];
      return {
        open: async () => {
          const sessions = new Sessions(placeOf(cluster.address));
          all.push(sessions);
          return new PostgresParts(sessions);
        },
        stop: async () => {
          for (const sessions of all) sessions.close();
        },
      };
    });

    directoryContract('as a directory', async () => {
      cluster.primary.run(
        'drop table if exists reducerdb_host, reducerdb_hint, reducerdb_box, reducerdb_part',
      );
      const directories: { close(): void }[] = [];
      return {
        open: async () => {
          const sessions = new Sessions(placeOf(cluster.address));
          const directory = new PostgresDirectory(sessions);
          directories.push(directory, sessions);
          return directory;
        },
        pass: async (millis) => {
          const earlier = `beat_at - interval '${millis} milliseconds'`;
          cluster.primary.run(`update reducerdb_host set beat_at = ${earlier}`);
        },
        stop: async () => {
          for (const one of directories) one.close();
        },
      };
    });

    it('[replication 14.2] an entry behind another one than the writer knows is not stored', async () => {
      const one = await open();
      const log = freshLog();
      await one.create(log, Buffer.from('zero'));
      const item = { log, seq: 1, bytes: Buffer.from('one') };
      expect(await one.append([{ ...item, after: Buffer.from('other') }])).toEqual(['passed']);
      expect(await one.append([{ ...item, after: Buffer.from('ze') }])).toEqual(['stored']);
      const others = [
        { log, seq: 2, bytes: Buffer.from('two'), after: Buffer.from('zero') },
        { log: freshLog(), seq: 2, bytes: Buffer.from('two'), after: Buffer.from('one') },
      ];
      expect(await one.append(others)).toEqual(['passed', 'passed']);
    });

    it('[replication 14.3] of several servers the primary is used', async () => {
      const one = await open();
      const { history } = await one.capabilities();
      expect(history).toMatch(/^postgres:\d+:1$/);
      const alone = `postgres://postgres@127.0.0.1:${cluster.standby.port}/postgres`;
      await expect(open(alone)).rejects.toThrow('all are in recovery');
    });

    it('[replication 3.4, 14.3] a server of another past is refused', async () => {
      const one = await open();
      const { history } = await one.capabilities();
      await expect(open(cluster.address, 'postgres:1:1')).rejects.toThrow('another engine');
      const later = history.replace(/:1$/, ':2');
      await expect(open(cluster.address, later)).rejects.toThrow('already seen timeline 2');
    });

    it('[replication 14.7] a host hears of an entry also without a notice', async () => {
      const one = await open();
      const log = freshLog();
      await one.create(log, Buffer.from('zero'));
      const stop = new AbortController();
      const heard = one.wait(log, 1, stop.signal);
      await engine.fill?.(log, 1);
      await heard;
      expect((await one.read(log, 1, limits.sharedReadBytesMax)).entries).toHaveLength(1);
    });

    it('[replication 14.1] sessions have their own settings, whatever the server has', async () => {
      const others = [
        "synchronous_commit = 'off'",
        "statement_timeout = '7s'",
        "lock_timeout = '0'",
      ];
      const set = (words: string) => cluster.primary.run(`alter role postgres ${words}`);
      for (const one of [...others, "default_transaction_isolation = 'serializable'"]) {
        set(`set ${one}`);
      }
      try {
        const place = placeOf(cluster.address);
        const server = place.servers.find(({ port }) => port === cluster.primary.port);
        if (server === undefined) throw new Error('the address names the primary');
        const session = await Session.open(place, server, 'on');
        opened.push({ close: () => session.end() });
        const names = ['synchronous_commit', 'statement_timeout', 'lock_timeout'];
        const all = [...names, 'default_transaction_isolation'];
        const text = `select ${all.map((name) => `current_setting('${name}') as ${name}`).join()}`;
        const { rows } = await session.run<Record<string, string>>({ name: '', text, values: [] });
        expect(Object.values(rows[0] ?? {})).toEqual(['on', '0', '5s', 'read committed']);
      } finally {
        set('reset all');
      }
    });

    it('[replication 14.8] a pool in transaction mode is refused', async () => {
      const pools: readonly TransactionPoolKind[] = ['drops settings', 'passes settings on'];
      for (const kind of pools) {
        const pool = await TransactionPool.to(cluster.primary.port, kind);
        try {
          const address = `postgres://postgres@127.0.0.1:${pool.port}/postgres`;
          await expect(open(address)).rejects.toThrow('transaction mode');
        } finally {
          await pool.stop();
        }
      }
    });

    it('[replication 14.6] says how many copies an entry has', async () => {
      const one = await open();
      expect((await one.capabilities()).copies).toBe(2);
      const external = await open(`${cluster.address}?replication=external`);
      expect((await external.capabilities()).copies).toBe('external');
      expect(
        ['', 'a', 'a, b', '2 (a, b)', 'ANY 1 (a, b)', 'FIRST 2 (a, b, c)'].map(standbyCount),
      ).toEqual([0, 1, 1, 2, 1, 2]);
      // The session that is open sees a reload, too.
      const { primary } = cluster;
      const names = primary.run('show synchronous_standby_names');
      const set = (to: string) => {
        primary.run(`alter system set synchronous_standby_names = '${to}'`);
        primary.run('select pg_reload_conf()');
      };
      set('');
      try {
        await expect.poll(async () => (await one.capabilities()).copies).toBe(1);
      } finally {
        set(names);
      }
      await expect.poll(async () => (await one.capabilities()).copies).toBe(2);
    });

    it('[replication 3.8, 7.1] a row that no host wrote concerns nobody', async () => {
      const sessions = new Sessions(placeOf(cluster.address));
      const directory = new PostgresDirectory(sessions);
      const me = row(41, 'row');
      await directory.beat(me);
      cluster.primary.run(`insert into reducerdb_host values ('zz', 'zz', 'not json', now())`);
      cluster.primary.run(`insert into reducerdb_hint values ('zz', '{}')`);
      expect((await directory.beat(me)).map(({ name }) => name)).toContain('row');
      await directory.hints();
      cluster.primary.run(`delete from reducerdb_host where host = 'zz'`);
      cluster.primary.run(`delete from reducerdb_hint where database = 'zz'`);
      await directory.forget(me.host);
      directory.close();
      sessions.close();
    });

    it('[replication 14.8] a truncation goes in slices', async () => {
      const one = await open();
      const log = freshLog();
      await one.create(log, Buffer.from('zero'));
      const name = `decode('${log}', 'hex')`;
      const rows = 2 * limits.truncateSliceRows + 500;
      cluster.primary.run(
        `insert into reducerdb_entry select ${name}, n, 'x' from generate_series(1, ${rows}) n`,
      );
      await one.truncate(log, rows - 3);
      const { first } = await one.read(log, 0, limits.sharedReadBytesMax);
      expect(first).toBe(rows - 3);
    });

    it('[replication 14.4] a wait for the standby that is cancelled is unknown (F2)', async () => {
      const one = await open();
      const log = freshLog();
      await one.create(log, Buffer.from('zero'));
      await cluster.standby.stop('SIGQUIT');
      try {
        const asked = appendOne(one, log, 1, Buffer.from('one'));
        await untilOneWaits(cluster);
        cluster.primary.run(`select pg_cancel_backend(pid) from pg_stat_activity ${forStandby}`);
        expect(await asked).toBe('unknown');
        // It is shown, and nobody acknowledged it.
        const { entries } = await one.read(log, 0, limits.sharedReadBytesMax);
        expect(entries).toHaveLength(2);
      } finally {
        await cluster.standby.start();
        await cluster.untilSynchronous();
      }
      expect(await appendOne(one, log, 2, Buffer.from('two'))).toBe('stored');
    });

    it('[replication 14.5] a confirmation waits for the standby, as an append does', async () => {
      const one = await open();
      const log = freshLog();
      await one.create(log, Buffer.from('zero'));
      await cluster.standby.stop('SIGQUIT');
      try {
        const asked = one.confirm([{ log, seq: 0 }]);
        expect(await asked).toEqual(['unknown']);
      } finally {
        await cluster.standby.start();
        await cluster.untilSynchronous();
      }
      expect(await one.confirm([{ log, seq: 0 }])).toEqual(['last']);
    });

    it('[replication 14.4] what waits when the primary crashes is unknown, and shown (F1)', async () => {
      const one = await open();
      const log = freshLog();
      await one.create(log, Buffer.from('zero'));
      await cluster.standby.stop('SIGQUIT');
      try {
        const asked = appendOne(one, log, 1, Buffer.from('one'));
        await untilOneWaits(cluster);
        const before = await one.read(log, 0, limits.sharedReadBytesMax);
        expect(before.entries).toHaveLength(1);
        await cluster.primary.stop('SIGQUIT');
        expect(await asked).toBe('unknown');
        await cluster.primary.start();
        const after = await one.read(log, 0, limits.sharedReadBytesMax);
        expect(after.entries).toHaveLength(2);
      } finally {
        await cluster.standby.start();
        await cluster.untilSynchronous();
      }
    });
  },
);

const forStandby = "where wait_event = 'SyncRep'";

/** Resolves when a commit waits for the standby. */
function untilOneWaits({ primary }: PostgresCluster): Promise<void> {
  return until(() => primary.run(`select count(*) from pg_stat_activity ${forStandby}`) === '1');
}

describe('the address of PostgreSQL', () => {
  it('[replication 14.3] names several servers', () => {
    const reading = parsePostgresPlace(
      'postgres://u%40x:p%3aw@pg1,pg2:5433,[::1]:6000/app?sslmode=require',
    );
    expect(reading).toEqual({
      kind: 'valid',
      place: {
        kind: 'postgres',
        servers: [
          { host: 'pg1', port: 5432 },
          { host: 'pg2', port: 5433 },
          { host: '::1', port: 6000 },
        ],
        ...{ user: 'u@x', password: 'p:w', database: 'app', usesTls: true, isExternal: false },
      },
    });
  });

  it('[replication 14.3] is refused with what is wrong, and without its password', () => {
    for (const [text, reason] of [
      ['mysql://u@h/d', 'does not begin with postgres://'],
      ['postgres://h/d', 'names no user'],
      ['postgres://u:secret@h', 'names no database'],
      ['postgres://u:secret@h:99999/d', 'a host, or its port, is not valid'],
      ['postgres://u:secret@h/d?pool=9', 'unknown option pool'],
    ] as const) {
      const reading = parsePostgresPlace(text);
      expect(reading).toMatchObject({ kind: 'invalid', reason: expect.stringContaining(reason) });
      expect(JSON.stringify(reading)).not.toContain('secret');
    }
  });
});
