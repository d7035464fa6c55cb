import type { Database } from '../database/database.ts';
import {
  createDatabase,
  type DatabaseOptions,
  openDatabase,
} from '../database/open-database.ts';
import { examineProgram, type ProgramSource } from '../database/program.ts';
import { emptyCatalog } from '../schema/build-catalog.ts';
import { Store } from '../store/store.ts';
import type { SeatMode } from './seat.ts';

/** Builds the actor of a seat: a new database, or one from its log with the leftovers of a crash. */
export async function assembleDatabase(
  mode: SeatMode,
  options: DatabaseOptions,
): Promise<Database> {
  if (mode.kind === 'create') return createDatabase(options, mode.program, mode.createdMicros);
  const database = await openDatabase(options);
  await database.disconnectLeftovers(options.clock.nowMicros(), mode.skipFirstDisconnect);
  return database;
}

export type ExamineOptions = Pick<
  DatabaseOptions,
  'identity' | 'loader' | 'hash' | 'progress' | 'clock'
>;

/** Loads a program beside no data at all and returns its description. Rejects with `Refusal`. */
export async function examineAside(
  program: ProgramSource,
  { identity, loader, hash, progress, clock }: ExamineOptions,
): Promise<Uint8Array> {
  const context = {
    store: new Store(emptyCatalog),
    databaseIdentity: identity,
    log: () => undefined,
    publishedMicros: clock.nowMicros(),
  };
  const loaded = await examineProgram(program, context, { loader, hash, progress });
  loaded.runner.dispose();
  return loaded.described;
}
