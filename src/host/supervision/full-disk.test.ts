import { describe, expect, it } from 'vitest';
import {
  clientsIn,
  createTiny,
  namesIn,
  openTiny,
  putName,
  queryTiny,
  tinyDatabase,
  tinyProgram,
} from '../../../test/support/tiny-database.ts';
import { ownerRights } from '../../sql/rights.ts';
import { Random } from '../../testing/random.ts';
import { type DiskOperation, SimulatedDisk } from '../../testing/simulated-disk.ts';
import { TestClock } from '../../testing/test-clock.ts';
import { connectionNumber } from '../../values/connection-number.ts';
import { callerIdentity } from '../../values/identity-roles.ts';
import type { SupervisedDatabase } from './supervised-database.ts';

const roomText = 'the disk of /data/log-1 is full (12 KiB free)';
/** Callers can be strangers, so the text has neither a path nor the free space. */
const callersText = /^The database (is read-only|was not created): the disk of the service is full/;
const full = { body: { code: 'database.full', message: expect.stringMatching(callersText) } };

function spaceOf(disk: SimulatedDisk) {
  return { folder: '/data/log-1', freeBytes: () => 12 * 1024, has: () => !disk.isFull };
}

async function tinyWithSpace(disk: SimulatedDisk, reports: string[] = []) {
  const parts = { space: spaceOf(disk) };
  const database = tinyDatabase(disk, createTiny, undefined, reports, parts);
  await database.started();
  return database;
}

const sortedNames = async (database: SupervisedDatabase) =>
  (await namesIn(database)).map(({ name }) => name).sort();

const untilWritten = (database: SupervisedDatabase) =>
  expect.poll(() => database.statistics().isReadOnly).toBe(false);

describe('a database whose disk is full', () => {
  it('is read, refuses what writes, and is written again when there is space', async () => {
    const disk = new SimulatedDisk();
    const reports: string[] = [];
    const database = await tinyWithSpace(disk, reports);
    await putName(database, 'before', false);
    disk.isFull = true;
    const { operationCount } = disk;
    const refused = ['a', 'b'].map((name) => putName(database, name).catch((error) => error));
    for (const one of await Promise.all(refused)) expect(one).toMatchObject(full);
    expect(await sortedNames(database)).toEqual(['before']);
    expect(await clientsIn(database)).toBe(-1);
    expect(database.statistics()).toMatchObject({ state: 'serving', isReadOnly: true });
    const dml = queryTiny(database, "DELETE FROM name WHERE name = 'before'");
    await expect(dml).rejects.toMatchObject(full);
    const other = { kind: 'js', bytes: Uint8Array.of(...tinyProgram.bytes, 32) } as const;
    const permission = { policy: 'compatible', token: undefined } as const;
    await expect(database.update(other, permission, 1_000)).rejects.toMatchObject(full);
    expect(disk.list().filter((name) => name.includes('torn'))).toEqual([]);
    expect(disk.operationCount - operationCount).toBeLessThan(12);

    disk.isFull = false;
    await untilWritten(database);
    expect(await putName(database, 'after')).toMatchObject({ kind: 'committed' });
    expect(await sortedNames(database)).toEqual(['after', 'before']);
    expect(reports).toEqual([
      `is read-only: ${roomText}`,
      'accepts writes again: there is space on its disk',
    ]);
    await database.close();
    const again = tinyDatabase(disk.afterKill(), openTiny);
    expect(await sortedNames(again)).toEqual(['after', 'before']);
    await again.close();
  });

  it.each(['write', 'allocate'] as const)(
    'keeps what was acknowledged and nothing that was refused, whichever %s fails',
    async (operation) => {
      for (let number = 1; number <= 4; number++) await failAndCrash(operation, number);
    },
  );

  it('is opened to be read when it starts so, and ends what a crash left over later', async () => {
    const disk = new SimulatedDisk();
    const first = await tinyWithSpace(disk);
    await putName(first, 'before');
    const caller = { identity: callerIdentity(7n), rights: ownerRights, jwtPayload: '' };
    await first.connect(caller, connectionNumber(77n));
    const killed = disk.afterKill();
    killed.isFull = true;
    const database = tinyDatabase(killed, openTiny, undefined, [], { space: spaceOf(killed) });
    expect(await sortedNames(database)).toEqual(['before']);
    await expect(putName(database, 'a')).rejects.toMatchObject(full);
    killed.isFull = false;
    await untilWritten(database);
    await expect.poll(() => clientsIn(database)).toBe(0);
    await database.close();
  });

  it('that is only to be made is not, and says why', async () => {
    const disk = new SimulatedDisk();
    disk.isFull = true;
    const database = tinyDatabase(disk, createTiny, undefined, [], { space: spaceOf(disk) });
    await expect(database.started()).rejects.toMatchObject(full);
    const either = { ...createTiny, kind: 'openOrCreate' } as typeof createTiny;
    const registry = tinyDatabase(disk, either, undefined, [], { space: spaceOf(disk) });
    const refused = { body: { code: 'database.full' } };
    await expect(registry.started()).rejects.toMatchObject(refused);
    expect(disk.list()).toEqual([]);
  });

  it('[durability D7] is not served again when the sync of what it keeps fails', async () => {
    const disk = new SimulatedDisk();
    const database = await tinyWithSpace(disk);
    await putName(database, 'before');
    disk.isFull = true;
    disk.failAt('sync', (disk.counts.get('sync') ?? 0) + 1, 'EIO');
    const broken = { body: { code: expect.stringMatching(/database\.(lost|broken)/) } };
    await expect(putName(database, 'a')).rejects.toMatchObject(broken);
    expect(database.statistics().state).toBe('broken');
    disk.isFull = false;
    await expect(putName(database, 'b')).rejects.toMatchObject({
      body: { code: 'database.broken' },
    });
  });

  it('ends in order while it is full', async () => {
    const disk = new SimulatedDisk();
    const database = await tinyWithSpace(disk);
    disk.isFull = true;
    await expect(putName(database, 'a')).rejects.toMatchObject(full);
    await database.close();
    expect(database.statistics().state).toBe('stopped');
  });
});

/** Lets one operation find no space, goes on, and cuts the power. */
async function failAndCrash(operation: DiskOperation, number: number): Promise<void> {
  const disk = new SimulatedDisk();
  const database = await tinyWithSpace(disk);
  disk.failAt(operation, (disk.counts.get(operation) ?? 0) + number, 'ENOSPC');
  const kept: string[] = [];
  const refused: string[] = [];
  for (let at = 0; at < 40 && refused.length === 0; at++) {
    const names = [0, 1, 2].map((each) => `${operation} ${at} ${each} ${'x'.repeat(3000)}`);
    const outcomes = await Promise.allSettled(names.map((name) => putName(database, name)));
    outcomes.forEach((outcome, each) => {
      const list = outcome.status === 'fulfilled' ? kept : refused;
      list.push(names[each] ?? '');
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject(full);
    });
  }
  expect(await sortedNames(database)).toEqual(kept.toSorted());
  for (const seed of [1, 2, 3]) {
    const found = tinyDatabase(disk.afterKill().crash(new Random(seed)), openTiny);
    expect(await sortedNames(found)).toEqual(kept.toSorted());
    await found.close();
  }
}

describe('times', () => {
  it('do not go back with the clock, nor when the database is opened again', async () => {
    const disk = new SimulatedDisk();
    const clock = new TestClock();
    const database = tinyDatabase(disk, createTiny, undefined, [], { clock });
    await database.started();
    const first = await nowIn(database);
    clock.advance(-60_000);
    expect(await nowIn(database)).toBe(first);
    clock.advance(61_000);
    expect(await nowIn(database)).toBe(first + 1_000_000n);
    await database.close();
    const late = new TestClock();
    late.advance(-3_600_000);
    const again = tinyDatabase(disk, openTiny, undefined, [], { clock: late });
    // Asked before it serves.
    expect(await nowIn(again)).toBeGreaterThanOrEqual(first);
    await again.close();
  });
});

async function nowIn(database: SupervisedDatabase): Promise<bigint> {
  const { rows } = await queryTiny(database, 'SELECT now() AS n FROM st_table LIMIT 1');
  return new DataView(rows.buffer, rows.byteOffset).getBigInt64(0, true);
}
