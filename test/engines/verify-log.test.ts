import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { advisedFaults } from '../../src/cluster/verify-logs.ts';
import { PostgresEngine } from '../../src/engines/postgres/postgres-engine.ts';
import { parsePostgresPlace } from '../../src/engines/postgres/postgres-place.ts';
import { S3Engine } from '../../src/engines/s3/s3-engine.ts';
import { parseS3Place } from '../../src/engines/s3/s3-place.ts';
import type { LogName } from '../../src/shared-log/log-name.ts';
import type { SharedLog } from '../../src/shared-log/shared-log.ts';
import { verifySharedLog } from '../../src/shared-log/verify-log.ts';
import { freshLog } from '../contracts/shared-log.contract.ts';
import { PostgresCluster, withoutPostgres } from '../support/postgres-cluster.ts';
import { S3Server, s3Keys } from '../support/s3-server.ts';
import { logOf, store } from '../support/stored-log.ts';

const entries = logOf(40);

/** A log of 40 entries in an engine. */
async function stored(sharedLog: SharedLog): Promise<LogName> {
  const log = freshLog();
  await store(sharedLog, log, entries);
  return log;
}

const verified = (sharedLog: SharedLog, log: LogName) =>
  verifySharedLog({ sharedLog, log, snapshots: undefined });

const whole = { first: 0, entryCount: 40, term: 2, faults: [] };

describe.skipIf(withoutPostgres !== undefined)('a log in PostgreSQL', () => {
  let postgres: PostgresCluster;
  let engine: PostgresEngine;

  beforeAll(async () => {
    postgres = await PostgresCluster.start();
    const reading = parsePostgresPlace(postgres.address);
    if (reading.kind !== 'valid') throw new Error(reading.reason);
    engine = await PostgresEngine.open(reading.place);
  });
  afterAll(async () => {
    engine?.close();
    await postgres?.stop();
  });

  const rows = (log: LogName) => `reducerdb_entry where log = decode('${log}', 'hex')`;

  it('[replication 16.4] is read whole, and nothing is wrong with it', async () => {
    const log = await stored(engine);
    const report = await verified(engine, log);
    expect(report).toMatchObject({ ...whole, offset: 74 });
    expect(report.bytes).toBe(entries.reduce((sum, { bytes }) => sum + bytes.length, 0));
  });

  it('[replication 16.4] of which rows were deleted, says which entry, and behind which commit', async () => {
    const log = await stored(engine);
    postgres.primary.run(`delete from ${rows(log)} and seq between 10 and 12`);
    const { faults, entryCount } = await verified(engine, log);
    expect(entryCount).toBe(10);
    expect(faults).toMatchObject([{ kind: 'missing', seq: 10, offset: 16 }]);
    expect(faults[0]?.reason).toContain('entry 13 is there');
    postgres.primary.run(`delete from ${rows(log)} and seq < 5`);
    expect((await verified(engine, log)).faults).toMatchObject([
      { kind: 'missing', seq: 0, offset: 0, reason: expect.stringContaining('entries 0 to 4') },
    ]);
    postgres.primary.run(`delete from ${rows(log)}`);
    expect((await verified(engine, log)).faults).toMatchObject([{ kind: 'absent', seq: 0 }]);
  });

  it('[replication 16.4] with one changed byte in a row, or rows in another order, says which', async () => {
    const log = await stored(engine);
    const changed = 'set_byte(bytes, 120, (get_byte(bytes, 120) + 1) % 256)';
    postgres.primary.run(
      `update reducerdb_entry set bytes = ${changed} where log = decode('${log}', 'hex') and seq = 15`,
    );
    expect((await verified(engine, log)).faults).toMatchObject([
      { kind: 'damaged', seq: 15, offset: 26 },
    ]);
    const other = await stored(engine);
    const of = (seq: number) => `(select bytes from ${rows(other)} and seq = ${seq})`;
    postgres.primary.run(
      `update reducerdb_entry set bytes = ${of(6)} where log = decode('${other}', 'hex') and seq = 7`,
    );
    expect((await verified(engine, other)).faults).toMatchObject([
      { kind: 'damaged', seq: 7, offset: 10 },
    ]);
  });

  it('[replication 16.4, 6.9] whose end was lost, is compared with what hosts have', async () => {
    const log = await stored(engine);
    postgres.primary.run(`delete from ${rows(log)} and seq >= 38`);
    const report = await verified(engine, log);
    expect(report).toMatchObject({ faults: [], offset: 70 });
    const copies = [
      { host: 'a', role: 'follower', offset: 71, acknowledged: 70, known: true },
      { host: 'b', role: 'follower', offset: 74, acknowledged: 74, known: true },
    ] as const;
    expect(advisedFaults('shop', report, copies)).toMatchObject([
      {
        ...{ kind: 'behind', seq: 38, offset: 70 },
        reason: 'b has commits up to 74 that were acknowledged',
        advice: expect.stringContaining('reducerdb cluster repair shop --from b'),
      },
    ]);
    expect(advisedFaults('shop', report, copies.slice(0, 1))).toEqual([]);
  });
});

describe('a log in an S3-compatible store', () => {
  let server: S3Server;
  let engine: S3Engine;

  beforeAll(async () => {
    server = await S3Server.start();
    const endpoint = encodeURIComponent(server.endpoint);
    const reading = parseS3Place(`s3://bucket/cluster/a?endpoint=${endpoint}`);
    if (reading.kind !== 'valid') throw new Error(reading.reason);
    engine = await S3Engine.open({ ...reading.place, keys: s3Keys });
  });
  afterAll(async () => {
    engine?.close();
    await server?.stop();
  });

  const keyOf = (log: string, seq: number): string =>
    `cluster/a/log/${log}/${seq.toString(16).padStart(16, '0')}`;

  it('[replication 16.4] of which objects were removed, says which entry is missing', async () => {
    const log = await stored(engine);
    expect(await verified(engine, log)).toMatchObject(whole);
    server.objects.delete(keyOf(log, 20));
    const { faults } = await verified(engine, log);
    expect(faults).toMatchObject([{ kind: 'missing', seq: 20, offset: 36 }]);
    for (let seq = 21; seq < 25; seq++) server.objects.delete(keyOf(log, seq));
    const more = await verified(engine, log);
    expect(more.faults).toMatchObject([{ kind: 'missing', seq: 20, offset: 36 }]);
  });

  it('[replication 16.4] in which an object was cut or replaced, says which', async () => {
    const log = await stored(engine);
    const object = server.objects.get(keyOf(log, 9));
    if (object === undefined) throw new Error('no such object');
    server.objects.set(keyOf(log, 9), { ...object, bytes: object.bytes.slice(0, -8) });
    expect((await verified(engine, log)).faults).toMatchObject([{ kind: 'damaged', seq: 9 }]);
  });
});
