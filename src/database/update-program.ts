import type { CommitInputs, SchemaChange } from '../log/record.ts';
import { catalogOf } from '../schema/build-catalog.ts';
import type { Catalog } from '../schema/catalog.ts';
import { encodeCatalog } from '../schema/catalog-codec.ts';
import type { ModuleDefinition } from '../schema/definition.ts';
import { ignoredRouteWarnings } from '../schema/flatten.ts';
import type { TableId } from '../schema/ids.ts';
import { logLineOf } from '../schema/migration-log.ts';
import { addedDefaults, planMigration } from '../schema/migration-plan.ts';
import type { MigrationStep } from '../schema/migration-steps.ts';
import type { SqlSchema } from '../sql/schema.ts';
import { type Migration, MigrationError } from '../store/migrate.ts';
import { noConnection } from '../values/connection-number.ts';
import { asCaller } from '../values/identity-roles.ts';
import { type DatabaseCore, requireSpace } from './core.ts';
import { hostLine } from './host-line.ts';
import { connectedClients, disconnectClient } from './lifecycle.ts';
import { type Refusal, type RefusalBody, refusal } from './outcome.ts';
import {
  examineProgram,
  type LoadedProgram,
  type ProgramSurroundings,
  programOf,
} from './program.ts';
import { migrationToken, type ProgramHash } from './program-hash.ts';
import type { ProgramSource, UpdatePermission } from './program-source.ts';
import { requireEnv } from './require-env.ts';
import { filterWarnings, RowFilterError } from './row-filters.ts';
import { noBytes } from './run-reducer.ts';
import { microsOf } from './schedules/due-time.ts';
import { migrateSchedules } from './schedules/migrate-schedules.ts';
import { scheduleWarnings } from './schedules/schedule-warnings.ts';
import { sqlSchemaOf } from './sql-schema.ts';
import { type ViewProgram, viewProgramOf } from './views/served-views.ts';
import { updateFailureText } from './views/view-failure.ts';
import type { ViewChange } from './views/view-instance.ts';

export interface ProgramUpdate {
  readonly loaded: LoadedProgram;
  readonly permission: UpdatePermission;
  readonly timestampMicros: bigint;
  readonly hash: ProgramHash;
  /** Called when the update is allowed, before it changes anything: paused reads have to stop. */
  readonly stopReads: () => void;
}

/** Loads and describes a program that is to serve. Rejects with `Refusal` if it cannot. */
export function loadUpdate(
  { store, identity: databaseIdentity, report: log }: DatabaseCore,
  program: ProgramSource,
  publishedMicros: bigint,
  around: ProgramSurroundings,
): Promise<LoadedProgram> {
  const context = { store, databaseIdentity, log, publishedMicros };
  return examineProgram(program, context, around);
}

/**
 * Plans, checks the permission, migrates, and swaps the program: one record, one offset. Returns
 * whether clients had to be disconnected. If it throws `Refusal`, nothing has changed, and the new
 * runner is disposed.
 */
export function applyUpdate(core: DatabaseCore, update: ProgramUpdate): boolean {
  const { loaded, permission } = update;
  try {
    checkTokenPresence(permission);
    if (loaded.hash === core.program.hash) {
      loaded.runner.dispose();
      return false;
    }
    requireSpace(core);
    requireEnv(loaded.definition, core.env(loaded.hash));
    return migrate(core, update);
  } catch (error) {
    loaded.runner.dispose();
    throw error;
  }
}

/** A consent to break clients must name the transition that it is for. */
export function checkTokenPresence({ policy, token }: UpdatePermission): void {
  if (policy === 'compatible' || token !== undefined) return;
  const text = 'Migration policy is set to `BreakClients`, but no migration token was provided.';
  throw refusal('migration.invalidToken', text);
}

/** The reasons against a migration, as a publisher reads them. */
export function rejectionText(reason: string): string {
  const lines = reason.split('\n').map((line) => `${line}\n\n`);
  return `Errors occurred:\n${lines.join('')}`;
}

/** The record of a schema change, with what replay and a restart need. */
export function schemaChangeOf(
  loaded: LoadedProgram,
  catalog: Catalog,
  before: Catalog,
  steps: readonly MigrationStep[],
): SchemaChange {
  const defaults = [...addedDefaults(steps, catalog)].flatMap(([tableId, values]) => {
    const old = before.tables.find(({ id }) => id === tableId);
    const first = old?.columns.length ?? 0;
    return values.map((value, at) => ({ tableId, column: first + at, value }));
  });
  return {
    catalog: encodeCatalog(catalog),
    definition: loaded.described,
    programKind: loaded.source.kind,
    program: loaded.source.bytes,
    defaults,
  };
}

function migrate(core: DatabaseCore, update: ProgramUpdate): boolean {
  const { loaded, permission, timestampMicros, stopReads } = update;
  const { store, log, program: old } = core;
  const plan = planMigration(old.definition, loaded.definition);
  if (plan.kind === 'manual') {
    const text = `Database update rejected: ${rejectionText(plan.reason)}`;
    throw refusal('migration.refused', text);
  }
  checkPermission(core, permission, plan.breaksClients, update);
  stopReads();
  const before = store.catalog;
  const catalog = catalogOf(loaded.definition, before);
  const sql = checkedSchema(core, loaded.definition, catalog);
  const schema = schemaChangeOf(loaded, catalog, before, plan.steps);
  const migration = prepare(core, catalog, addedDefaults(plan.steps, catalog));
  const offset = migration.apply();
  const views = viewProgramOf(loaded.runner, loaded.definition, sql);
  const viewChanges = replaceViews(core, views, migration, plan.breaksClients);
  const changes = migrateSchedules(core, loaded.definition, microsOf(timestampMicros));
  log.appendSchema(offset, schema, changes, inputsOf(core, timestampMicros));
  core.program = programOf(loaded, { ...core, schemaVersion: offset, sql });
  old.runner.dispose();
  replaceLive(core, viewChanges, plan.breaksClients, timestampMicros);
  core.report(hostLine('info', `Updated program to ${loaded.hash}`));
  for (const step of plan.steps) reportStep(core, step);
  const { definition } = loaded;
  const warnings = [
    ...filterWarnings(sql),
    ...scheduleWarnings(definition),
    ...ignoredRouteWarnings(definition),
  ];
  for (const text of warnings) core.report(hostLine('warn', text));
  if (plan.breaksClients) endConnections(core, timestampMicros);
  core.report(hostLine('info', 'Database updated'));
  return plan.breaksClients;
}

function checkPermission(
  core: DatabaseCore,
  { policy, token }: UpdatePermission,
  breaksClients: boolean,
  { hash, loaded }: ProgramUpdate,
): void {
  if (policy === 'compatible') {
    if (!breaksClients) return;
    const text =
      'Migration plan contains a client-breaking change which is disallowed under current policy';
    throw failed('migration.breaksClients', text);
  }
  if (token === migrationToken(hash, core.identity, core.program.hash, loaded.hash)) return;
  const text = 'Token provided is invalid or does not match expected hash';
  throw failed('migration.invalidToken', text);
}

/** The names statements can use after the update. Throws if row-level security is invalid. */
function checkedSchema(
  core: DatabaseCore,
  definition: ModuleDefinition,
  catalog: Catalog,
): SqlSchema {
  try {
    return sqlSchemaOf(definition, catalog);
  } catch (error) {
    if (!(error instanceof RowFilterError)) throw error;
    throw updateFailed(core, error);
  }
}

function prepare(
  core: DatabaseCore,
  catalog: Catalog,
  defaults: ReadonlyMap<TableId, readonly Uint8Array[]>,
): Migration {
  try {
    return core.store.prepareMigration(catalog, defaults);
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    throw updateFailed(core, error);
  }
}

/**
 * Evaluates live views with the new program over the new tables. If one fails, the migration is
 * undone. Clients that are disconnected take their views with them.
 */
function replaceViews(
  core: DatabaseCore,
  program: ViewProgram,
  migration: Migration,
  breaksClients: boolean,
): readonly ViewChange[] {
  const { views } = core;
  const failure = views.replaceProgram(program, breaksClients);
  if (failure === undefined) return views.commit();
  views.rollback();
  migration.revert();
  throw updateFailed(core, new Error(updateFailureText(failure)));
}

/** Live queries survive an update, unless their connections end with it. */
function replaceLive(
  core: DatabaseCore,
  views: readonly ViewChange[],
  breaksClients: boolean,
  timestampMicros: bigint,
): void {
  const { live } = core;
  if (breaksClients) live.dropEverything(core, timestampMicros);
  live.queries.replaceSchema(core.program.sql);
  const isNewSchema = true;
  live.committed(core, {
    changes: undefined,
    views,
    timestampMicros,
    isOfCall: false,
    isNewSchema,
  });
}

function updateFailed({ report }: DatabaseCore, { message }: Error): Refusal {
  report(hostLine('error', `Database update failed: ${message}`));
  return failed('migration.failed', message);
}

function reportStep(core: DatabaseCore, step: MigrationStep): void {
  const text = logLineOf(step);
  if (text !== undefined) core.report(hostLine('info', text));
}

/** A breaking change ends every connection; the new program runs `client_disconnected`. */
function endConnections(core: DatabaseCore, timestampMicros: bigint): void {
  core.connections.clear();
  for (const client of connectedClients(core)) {
    disconnectClient(core, { ...client, timestampMicros });
  }
}

function inputsOf(core: DatabaseCore, timestampMicros: bigint): CommitInputs {
  return {
    reducer: '',
    caller: asCaller(core.owner),
    connectionId: noConnection,
    timestampMicros,
    seed: noBytes,
    args: noBytes,
  };
}

function failed(code: RefusalBody['code'], detail: string): Refusal {
  return refusal(code, `Failed to create or update the database: ${detail}`);
}
