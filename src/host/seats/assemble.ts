import { unreachable } from '../../assert.ts';
import type { Database } from '../../database/database.ts';
import {
  createDatabase,
  type DatabaseOptions,
  NoProgramError,
  openDatabase,
} from '../../database/open-database.ts';
import { Refusal } from '../../database/outcome.ts';
import { examineProgram } from '../../database/program.ts';
import type { ProgramSource } from '../../database/program-source.ts';
import { limits } from '../../limits.ts';
import { isForSpace } from '../../log/log-error.ts';
import { emptyCatalog } from '../../schema/build-catalog.ts';
import { Store } from '../../store/store.ts';
import type { MemberRun } from '../replication/member-run.ts';
import type { SeatMode } from './seat.ts';

/**
 * Builds the actor of a seat: a new database, or one from its log with the leftovers of a crash.
 */
export async function assembleDatabase(
  mode: SeatMode,
  options: DatabaseOptions,
): Promise<Database> {
  const database = await assemble(mode, options);
  database.beginSchedules();
  return database;
}

/** The actor of a database of a cluster, as soon as this host leads it. */
export async function assembleMember(
  mode: SeatMode,
  options: DatabaseOptions,
  member: MemberRun,
): Promise<Database> {
  const first = mode.kind === 'open' ? undefined : mode;
  const database = await member.serve({ first, mustBeNew: mode.kind === 'create' }, options);
  const { skipFirstDisconnect = false, failedSchedule }: Crash = mode.kind === 'open' ? mode : {};
  if (failedSchedule !== undefined) await failScheduled(database, failedSchedule);
  // Clients of the leader before may be many, and callers wait; other hosts announce theirs.
  database.leftovers.begin(skipFirstDisconnect, limits.announceMillis);
  database.beginSchedules();
  return database;
}

async function assemble(mode: SeatMode, options: DatabaseOptions): Promise<Database> {
  switch (mode.kind) {
    case 'create':
      return createDatabase(options, mode.program, mode.createdMicros);
    case 'open':
      return open({ ...options, full: mode.full }, mode);
    case 'openOrCreate':
      try {
        if (options.disk.list().length > 0) return await open(options, {});
      } catch (error) {
        if (!(error instanceof NoProgramError)) throw error;
      }
      return createDatabase(options, mode.program, mode.createdMicros).catch(refuseForSpace);
    default:
      return unreachable(mode);
  }
}

async function open(options: DatabaseOptions, crash: Crash): Promise<Database> {
  const database = await openDatabase(options);
  if (options.full === undefined) await settleCrash(database, options, crash);
  return database;
}

/** Deals with what the actor before has left. */
async function settleCrash(
  database: Database,
  options: DatabaseOptions,
  crash: Crash,
): Promise<void> {
  const { skipFirstDisconnect = false, failedSchedule } = crash;
  await database.leftovers.endAll(options.clock.nowMicros(), skipFirstDisconnect);
  if (failedSchedule !== undefined) await failScheduled(database, failedSchedule);
}

async function failScheduled(
  { leftovers }: Database,
  { mark, message }: NonNullable<Crash['failedSchedule']>,
): Promise<void> {
  await leftovers.failScheduled(mark, message);
}

/** How the actor before this one ended. */
type Crash = Partial<
  Pick<Extract<SeatMode, { kind: 'open' }>, 'skipFirstDisconnect' | 'failedSchedule'>
>;

/** Refuses a new database for lack of space: unlike an existing one, it has nothing to read. */
function refuseForSpace(error: unknown): never {
  if (!isForSpace(error)) throw error;
  throw new Refusal({ code: 'database.full', message: String(error) }, { cause: error });
}

export type ExamineOptions = Pick<
  DatabaseOptions,
  'identity' | 'loader' | 'hash' | 'progress' | 'clock' | 'cron'
>;

/** Loads a program without any data and returns its description. Rejects with `Refusal`. */
export async function examineAside(
  program: ProgramSource,
  { identity, clock, ...around }: ExamineOptions,
): Promise<Uint8Array> {
  const context = {
    store: new Store(emptyCatalog),
    databaseIdentity: identity,
    log: () => undefined,
    publishedMicros: clock.nowMicros(),
  };
  const loaded = await examineProgram(program, context, around);
  loaded.runner.dispose();
  return loaded.described;
}
