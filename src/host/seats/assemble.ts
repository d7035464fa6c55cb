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
import { isForSpace } from '../../log/log-error.ts';
import { emptyCatalog } from '../../schema/build-catalog.ts';
import { Store } from '../../store/store.ts';
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
  const { skipFirstDisconnect = false, failedSchedule } = crash;
  const database = await openDatabase(options);
  if (options.full !== undefined) return database;
  await database.disconnectLeftovers(options.clock.nowMicros(), skipFirstDisconnect);
  if (failedSchedule !== undefined) {
    await database.failScheduled(failedSchedule.mark, failedSchedule.message);
  }
  return database;
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
