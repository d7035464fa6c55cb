import { AssertionError } from '../../src/assert.ts';
import type { CallOutcome, SqlOutcome } from '../../src/database/outcome.ts';
import { LocalSnapshots } from '../../src/database/snapshots/local-snapshots.ts';
import { type SnapshotSizes, sizesOfLimits } from '../../src/database/snapshots/snapshot-due.ts';
import { programHash } from '../../src/host/linking/program-hash.ts';
import {
  RegistryRunner,
  registryProgram,
  registryReducers,
} from '../../src/host/registry/registry-module.ts';
import { LocalSeat } from '../../src/host/seats/local-seat.ts';
import type { SeatMode } from '../../src/host/seats/seat.ts';
import type { Space } from '../../src/host/supervision/full-disk.ts';
import { SupervisedDatabase } from '../../src/host/supervision/supervised-database.ts';
import type { Disk } from '../../src/log/disk.ts';
import type { ModuleRunner } from '../../src/module/runner.ts';
import { ownerRights } from '../../src/sql/rights.ts';
import type { Store } from '../../src/store/store.ts';
import { Random } from '../../src/testing/random.ts';
import { TestClock } from '../../src/testing/test-clock.ts';
import { BinaryReader } from '../../src/values/binary-reader.ts';
import { connectionNumber } from '../../src/values/connection-number.ts';
import { decodeValue } from '../../src/values/decode.ts';
import { encodeValue } from '../../src/values/encode.ts';
import { asCaller, databaseIdentity, ownerIdentity } from '../../src/values/identity-roles.ts';
import type { Value } from '../../src/values/value.ts';

/**
 * A database that starts in a moment and needs no machine: the registry's module, in this thread,
 * on any disk. Its table `name` takes what `putName` writes; a few names do something else:
 *
 * - `waste…` takes a value of the sequence and refuses;
 * - `bug…` ends in an assertion of the engine.
 */
export const tinyIdentity = databaseIdentity(1n);
export const tinyProgram = { kind: 'js', bytes: registryProgram() } as const;
export const createTiny: SeatMode = { kind: 'create', program: tinyProgram, createdMicros: 1n };
export const openTiny: SeatMode = { kind: 'open', skipFirstDisconnect: false };

export const tinyOwner = ownerIdentity(1n);
const owner = { identity: asCaller(tinyOwner), rights: ownerRights, jwtPayload: '' };

interface TinyParts {
  readonly beforeLoad?: () => void;
  readonly clock?: TestClock;
  readonly space?: Space;
  /** How often it takes snapshots; absent: it takes none. */
  readonly snapshots?: Partial<SnapshotSizes> | undefined;
}

export function tinyDatabase(
  disk: Disk,
  mode: SeatMode,
  random = new Random(1),
  reports: string[] = [],
  { beforeLoad = () => undefined, clock = new TestClock(), space, snapshots }: TinyParts = {},
): SupervisedDatabase {
  const fill = (bytes: Uint8Array): void => {
    for (let at = 0; at < bytes.length; at++) bytes[at] = random.below(256);
  };
  const seat = {
    identity: tinyIdentity,
    ownerIdentity: tinyOwner,
    disk,
    clock,
    entropy: { fill },
    loaderFor:
      () =>
      async (_: unknown, { store }: { store: Store }) => {
        beforeLoad();
        return tinyRunner(store);
      },
    hash: programHash,
    statementMillisMax: 1_000,
    ...(snapshots === undefined ? {} : snapshotsOn(disk, snapshots)),
  };
  return new SupervisedDatabase(
    {
      identity: tinyIdentity,
      clock,
      hash: programHash,
      takeSeat: (start, events) => new LocalSeat(seat, start, events),
      examine: () => Promise.resolve(tinyProgram.bytes),
      lines: () => undefined,
      space,
      report: (_, message) => reports.push(message),
      warn: (sentence) => reports.push(sentence),
    },
    mode,
  );
}

function snapshotsOn(disk: Disk, sizes: Partial<SnapshotSizes>) {
  return {
    snapshotDesk: new LocalSnapshots({ disk, salt: () => 7 }),
    snapshotSizes: { ...sizesOfLimits, ...sizes },
  };
}

function tinyRunner(store: Store): ModuleRunner {
  const registry = new RegistryRunner(store, tinyProgram.bytes);
  return {
    describe: () => registry.describe(),
    callReducer(call, transaction) {
      const [name] = decodeValue(registryReducers.put_name, call.args) as readonly Value[];
      const outcome = registry.callReducer(call, transaction);
      if (String(name).startsWith('bug')) throw new AssertionError('a bug of ours');
      if (String(name).startsWith('waste')) return { kind: 'refused', message: 'wasted' };
      return outcome;
    },
    dispose() {},
  };
}

let lastConnection = 0n;

export async function putName(
  database: SupervisedDatabase,
  name: string,
  confirmed = true,
): Promise<CallOutcome> {
  const { schemaVersion } = await database.describe();
  lastConnection += 1n;
  return database.call({
    caller: owner,
    connection: { kind: 'temporary', id: connectionNumber(lastConnection) },
    reducer: 'put_name',
    args: encodeValue(registryReducers.put_name, [name, 1n, 2n]),
    schemaVersion,
    confirmed,
  });
}

export interface TinyRow {
  readonly name: string;
  readonly number: bigint;
}

/** The names in the order of their numbers. */
export async function namesIn(database: SupervisedDatabase): Promise<TinyRow[]> {
  const outcome = await queryTiny(database, 'SELECT name, number FROM name');
  const reader = new BinaryReader(outcome.rows);
  const found = Array.from({ length: outcome.rowCount }, () => ({
    name: reader.string(),
    number: reader.u64(),
  }));
  return found.sort((one, other) => (one.number < other.number ? -1 : 1));
}

/** Rows of the clients table beside that of the query itself. */
export async function clientsIn(database: SupervisedDatabase): Promise<number> {
  return (await queryTiny(database, 'SELECT * FROM st_client')).rowCount - 1;
}

export async function queryTiny(
  database: SupervisedDatabase,
  sql: string,
): Promise<Extract<SqlOutcome, { kind: 'result' }>> {
  lastConnection += 1n;
  const outcome = await database.query({
    caller: owner,
    connection: { kind: 'temporary', id: connectionNumber(lastConnection) },
    sql,
    confirmed: true,
  });
  if (outcome.kind === 'failed') throw new Error(outcome.error.message);
  return outcome;
}
