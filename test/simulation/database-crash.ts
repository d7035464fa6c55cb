import { Refusal } from '../../src/database/outcome.ts';
import type { SnapshotSizes } from '../../src/database/snapshots/snapshot-due.ts';
import type { SupervisedDatabase } from '../../src/host/supervision/supervised-database.ts';
import type { Random } from '../../src/testing/random.ts';
import { SimulatedDisk } from '../../src/testing/simulated-disk.ts';
import {
  clientsIn,
  createTiny,
  namesIn,
  openTiny,
  putName,
  type TinyRow,
  tinyDatabase,
} from '../support/tiny-database.ts';

/** What one round of calls, ended by a power cut, was told and what was found afterwards. */
export interface CrashRound {
  /** Calls in the order they were made: call `at` writes the name `n<at>`. */
  readonly calls: number;
  /** Names whose confirmed reply came. */
  readonly confirmed: readonly string[];
  /** Rows found after the power came back. */
  readonly found: readonly TinyRow[];
  /** Rows of the clients table after the power came back. */
  readonly clients: number;
  /** Snapshots on the disk then. */
  readonly snapshots: number;
}

/**
 * Makes a database on a simulated disk, calls it at random, cuts the power at a random operation,
 * opens it again (cutting the power there too, now and then), calls it again, and so on.
 */
export async function crashRounds(
  random: Random,
  rounds: number,
  snapshots?: Partial<SnapshotSizes>,
): Promise<CrashRound[]> {
  let disk = new SimulatedDisk();
  let database = tinyDatabase(disk, createTiny, random, [], { snapshots });
  await database.started();
  const results: CrashRound[] = [];
  let calls = 0;
  let confirmed: string[] = [];
  for (let round = 0; round < rounds; round++) {
    disk.stopAt(disk.operationCount + 1 + random.below(snapshots === undefined ? 40 : 120));
    calls = await callUntilCut(database, disk, random, calls, confirmed);
    [disk, database] = await reopen(disk, random, snapshots);
    const found = await namesIn(database);
    const clients = await clientsIn(database);
    const taken = disk.list().filter((name) => name.endsWith('.rdbs'));
    results.push({ calls, confirmed, found, clients, snapshots: taken.length });
    // Calls that were lost are made again under their names: count on from what is there.
    calls = found.length;
    confirmed = found.map(({ name }) => name);
  }
  await database.close();
  return results;
}

async function callUntilCut(
  database: SupervisedDatabase,
  disk: SimulatedDisk,
  random: Random,
  first: number,
  confirmed: string[],
): Promise<number> {
  let next = first;
  const running: Promise<void>[] = [];
  while (!disk.isOff) {
    const isConfirmed = random.chance(0.7);
    const name = `n${next}`;
    next += 1;
    const done = putName(database, name, isConfirmed).then(
      (outcome) => {
        if (outcome.kind !== 'committed') throw new Error(`aborted: ${outcome.error.code}`);
        if (isConfirmed) confirmed.push(name);
      },
      (error: unknown) => {
        if (!(error instanceof Refusal)) throw error;
      },
    );
    running.push(done);
    const pause = random.below(3);
    if (pause === 0) await done;
    if (pause === 1) await new Promise((resolve) => setImmediate(resolve));
    if (next - first > 2_000) throw new Error('the power was never cut');
  }
  await Promise.all(running);
  return next;
}

async function reopen(
  before: SimulatedDisk,
  random: Random,
  snapshots: Partial<SnapshotSizes> | undefined,
): Promise<[SimulatedDisk, SupervisedDatabase]> {
  let disk = before.crash(random);
  for (;;) {
    if (random.chance(0.3)) disk.stopAt(1 + random.below(6));
    const database = tinyDatabase(disk, openTiny, random, [], { snapshots });
    try {
      await database.started();
      disk.stopAt(Number.POSITIVE_INFINITY);
      return [disk, database];
    } catch (error) {
      if (!disk.isOff) throw error;
      disk = disk.crash(random);
    }
  }
}
