import type { ProgramSource } from '../../src/database/program-source.ts';
import { programHash } from '../../src/host/linking/program-hash.ts';
import { LocalSeat } from '../../src/host/seats/local-seat.ts';
import { SupervisedDatabase } from '../../src/host/supervision/supervised-database.ts';
import { temporaryConnection } from '../../src/host/supervision/temporary-connection.ts';
import { MemoryDisk } from '../../src/node/memory-disk.ts';
import type { Store } from '../../src/store/store.ts';
import { TestClock } from '../../src/testing/test-clock.ts';
import { encodeValue } from '../../src/values/encode.ts';
import { asOwner, databaseIdentity } from '../../src/values/identity-roles.ts';
import { InlineDesk, type LaneBody } from './inline-desk.ts';
import { AccountRunner, LaneAccounts, owner, procedureParams } from './procedure-database.ts';

const identity = databaseIdentity(3n);
const program: ProgramSource = { kind: 'js', bytes: Uint8Array.of(1) };

/** A database in this thread whose lanes are those of a desk, and the desk of its last actor. */
export async function openProcedures(bodies: Readonly<Record<string, LaneBody>>, lanesMax = 4) {
  const clock = new TestClock();
  const desks: InlineDesk[] = [];
  const seats: LocalSeat[] = [];
  const parts = {
    identity,
    ownerIdentity: asOwner(owner.identity),
    disk: new MemoryDisk(),
    clock,
    entropy: { fill: (bytes: Uint8Array) => void bytes.fill(5) },
    loaderFor:
      () =>
      (_: unknown, { store }: { store: Store }) =>
        Promise.resolve(new AccountRunner(store, Object.keys(bodies), 1)),
    hash: programHash,
    statementMillisMax: 1_000,
  };
  const database = new SupervisedDatabase(
    {
      identity,
      clock,
      hash: programHash,
      takeSeat: (start, events) => {
        const lanes = new InlineDesk(bodies, { lanesMax });
        desks.push(lanes);
        const options = { ...parts, lanes, unsupported: () => undefined };
        const seat = new LocalSeat(options, start, events);
        seats.push(seat);
        return seat;
      },
      examine: () => Promise.resolve(program.bytes),
      lines: () => undefined,
      report: () => undefined,
      warn: () => undefined,
    },
    { kind: 'create', program, createdMicros: 1n },
  );
  await database.started();
  const call = (procedure: string, signal?: AbortSignal) =>
    database.procedure(
      {
        caller: owner,
        connection: temporaryConnection(),
        procedure,
        args: encodeValue(procedureParams, [1]),
        schemaVersion: undefined,
        confirmed: true,
      },
      signal,
    );
  return { database, clock, desks, seats, call };
}

/** Something to wait for, and what ends that. */
export function gate() {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** What the bodies below return. */
export const value = encodeValue({ kind: 'u32' }, 1);

export function waiting(until: Promise<unknown>): LaneBody {
  return function* () {
    yield { kind: 'wait', until };
    return value;
  };
}

/** Commits one account. */
export const deposit: LaneBody = function* () {
  yield {
    kind: 'write',
    run: (data) => {
      new LaneAccounts(data).put(1, 1);
      return 'commit';
    },
  };
  return value;
};
