import type { CommitInputs, SchemaChange } from '../log/record.ts';
import { catalogOf } from '../schema/build-catalog.ts';
import type { Catalog } from '../schema/catalog.ts';
import { encodeCatalog } from '../schema/catalog-codec.ts';
import type { DeclaredPlan } from '../schema/declared-plan.ts';
import type { ModuleDefinition } from '../schema/definition.ts';
import { ignoredRouteWarnings } from '../schema/flatten.ts';
import type { TableId } from '../schema/ids.ts';
import { logLineOf } from '../schema/migration-log.ts';
import { addedDefaults, type MigrationPlan } from '../schema/migration-plan.ts';
import type { MigrationStep } from '../schema/migration-steps.ts';
import { goneMigrationsText, planBack, planDeclared } from '../schema/plan-declared.ts';
import type { SqlSchema } from '../sql/schema.ts';
import type { ChangeSet } from '../store/change-set.ts';
import type { CommitOffset } from '../store/commit-offset.ts';
import { type Migration, MigrationError } from '../store/migrate.ts';
import { type ConnectionNumber, noConnection } from '../values/connection-number.ts';
import { asCaller } from '../values/identity-roles.ts';
import { brokenClients, endBrokenClients } from './broken-clients.ts';
import {
  type BrokenParts,
  brokenParts,
  catalogAfter,
  nothingBroken,
  rewrittenTables,
  type SeenProgram,
} from './broken-parts.ts';
import { type DatabaseCore, requireSpace } from './core.ts';
import { hostLine } from './host-line.ts';
import { MigrationRun, type MigrationRunOptions } from './migrations/migration-run.ts';
import { appliedMigrations, markMigrations } from './migrations/migration-table.ts';
import type { PreparedMigration } from './migrations/prepared-migration.ts';
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
  /** Called before code of a migration runs. */
  readonly calling: () => void;
}

/** An update that is allowed. */
export interface AllowedUpdate {
  readonly update: ProgramUpdate;
  readonly plan: Exclude<UpdatePlan, { readonly kind: 'manual' }>;
}

type UpdatePlan = DeclaredPlan | MigrationPlan;

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
 * Plans and checks the permission. `undefined`: the program is the one that serves, and the runner
 * is disposed. If it throws `Refusal`, nothing has changed, and the runner is disposed, too.
 */
export function allowUpdate(core: DatabaseCore, update: ProgramUpdate): AllowedUpdate | undefined {
  const { loaded, permission } = update;
  try {
    checkTokenPresence(permission);
    if (loaded.hash === core.program.hash) {
      loaded.runner.dispose();
      return undefined;
    }
    requireSpace(core);
    requireEnv(loaded.definition, core.env(loaded.hash));
    const plan = requirePlan(core, loaded.definition, permission.isRollback);
    checkPermission(core, permission, plan.breaksClients, update);
    return { update, plan };
  } catch (error) {
    loaded.runner.dispose();
    throw error;
  }
}

/** What an update did to connected clients. */
export interface AppliedUpdate {
  readonly breaksClients: boolean;
  /** Connections that were ended. */
  readonly ended: readonly ConnectionNumber[];
}

/**
 * Migrates, and swaps the program: one record, one offset. `run`: a migration of whose rows some
 * were taken already. If it throws `Refusal`, nothing has changed, and the new runner is disposed.
 */
export function applyUpdate(
  core: DatabaseCore,
  { update, plan }: AllowedUpdate,
  run?: MigrationRun,
): AppliedUpdate {
  const { loaded } = update;
  try {
    update.stopReads();
    if (plan.kind === 'automatic')
      return commitUpdate(core, update, plan, plainUpdate(core, loaded, plan));
    return commitUpdate(core, update, plan, declaredUpdate(core, update, plan, run));
  } catch (error) {
    run?.cancel();
    loaded.runner.dispose();
    throw error;
  }
}

/** An update that has a plan. */
export interface TriedUpdate {
  readonly plan: AllowedUpdate['plan'];
  readonly broken: BrokenParts;
  /** What an automatic plan has made of the tables, or why the rows do not allow it. */
  readonly made?: Migration | MigrationError;
}

/**
 * The plan of an update that is only tried. Throws `Refusal`, and disposes the runner, if there is
 * none.
 */
export function tryUpdate(
  core: DatabaseCore,
  loaded: LoadedProgram,
  isRollback?: boolean,
): TriedUpdate {
  const { definition } = loaded;
  try {
    const plan = requirePlan(core, definition, isRollback);
    const { catalog: before } = core.store;
    const catalog =
      plan.kind === 'declared' ? catalogAfter(plan, before) : catalogOf(definition, before);
    const sql = checkedSchema(core, definition, catalog);
    const broken = whatBreaks(core, plan, { definition, sql });
    if (plan.kind === 'declared') return { plan, broken };
    return { plan, broken, made: tryRows(core, catalog, plan.steps) };
  } catch (error) {
    loaded.runner.dispose();
    throw error;
  }
}

function tryRows(
  { store }: DatabaseCore,
  catalog: Catalog,
  steps: readonly MigrationStep[],
): Migration | MigrationError {
  try {
    return store.prepareMigration(catalog, addedDefaults(steps, catalog));
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    return error;
  }
}

/** How the database gets to the definition. Throws `Refusal` if it cannot on its own. */
export function requirePlan(
  { program, store }: DatabaseCore,
  next: ModuleDefinition,
  isRollback = false,
): AllowedUpdate['plan'] {
  const planOf = isRollback ? planBack : planDeclared;
  const plan = planOf(program.definition, next, appliedMigrations(store));
  if (plan.kind !== 'manual') return plan;
  const text = `Database update rejected: ${rejectionText(plan.reason)}`;
  throw refusal('migration.refused', text);
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

/** What an update does to the tables; nothing has happened yet. */
interface PreparedUpdate {
  readonly sql: SqlSchema;
  readonly schema: SchemaChange;
  readonly migration: Migration;
  /** Lines that tell about it. */
  readonly lines: readonly string[];
  /** Of a declared migration. */
  readonly declared?: DeclaredChange;
}

interface DeclaredChange {
  readonly prepared: PreparedMigration;
  readonly plan: DeclaredPlan;
}

function plainUpdate(
  core: DatabaseCore,
  loaded: LoadedProgram,
  { steps }: Extract<MigrationPlan, { readonly kind: 'automatic' }>,
): PreparedUpdate {
  const before = core.store.catalog;
  const catalog = catalogOf(loaded.definition, before);
  const sql = checkedSchema(core, loaded.definition, catalog);
  const schema = schemaChangeOf(loaded, catalog, before, steps);
  const migration = prepare(core, catalog, addedDefaults(steps, catalog));
  return { sql, schema, migration, lines: linesOf(steps) };
}

/** Carries out what is left of a declared migration, beside the tables that serve. */
function declaredUpdate(
  core: DatabaseCore,
  update: ProgramUpdate,
  plan: DeclaredPlan,
  begun: MigrationRun | undefined,
): PreparedUpdate {
  const { loaded } = update;
  const run = begun ?? new MigrationRun(core, runOptionsOf(core, update, plan));
  const prepared = orFailed(core, () => run.complete());
  const { catalog, defaults, migration } = prepared;
  const overQuota = core.quota.faultOfRows(core, prepared.rowBytes);
  if (overQuota !== undefined) throw refusal('quota.exceeded', overQuota);
  const sql = checkedSchema(core, loaded.definition, catalog);
  const schema = { ...schemaChangeOf(loaded, catalog, catalog, []), defaults };
  const steps = plan.stages.flatMap(({ automatic }) => linesOf(automatic));
  const applied = plan.added.map(({ id }) => `Applied migration \`${id}\``);
  const removed = plan.removed.map((id) => `Undid migration \`${id}\``);
  const lines = [...steps, ...applied, ...removed];
  return { sql, schema, migration, lines, declared: { prepared, plan } };
}

/** A migration on the way back is carried out by the program that declares it. */
export function runOptionsOf(
  core: DatabaseCore,
  { loaded, timestampMicros, calling }: Omit<ProgramUpdate, 'permission' | 'hash' | 'stopReads'>,
  plan: DeclaredPlan,
): MigrationRunOptions {
  const isBack = plan.stages[0]?.direction === 'down';
  const { runner } = isBack ? core.program : loaded;
  return { plan, runner, timestampMicros, calling };
}

function commitUpdate(
  core: DatabaseCore,
  { loaded, timestampMicros, permission: { isRollback = false } }: ProgramUpdate,
  plan: AllowedUpdate['plan'],
  { sql, schema, migration, lines, declared }: PreparedUpdate,
): AppliedUpdate {
  const { log, program: old } = core;
  const { breaksClients } = plan;
  const broken = whatBreaks(core, plan, { definition: loaded.definition, sql });
  const ended = brokenClients(core, broken);
  const offset = migration.apply();
  const views = viewProgramOf(loaded.runner, loaded.definition, sql);
  const viewChanges = replaceViews(core, views, migration);
  const nowMicros = microsOf(timestampMicros);
  const rewritten = declared?.prepared.rewritten;
  const schedules = migrateSchedules(core, loaded.definition, nowMicros, rewritten);
  const marks = declared && markedMigrations(core, declared.plan, offset, timestampMicros);
  const changes = joined(offset, declared?.prepared, [schedules, marks]);
  const inputs = inputsOf(core, timestampMicros);
  log.appendSchema(offset, schema, changes, inputs, declared?.prepared.tables);
  core.program = programOf(loaded, { ...core, schemaVersion: offset, sql });
  old.runner.dispose();
  core.changedParts.note(broken, offset);
  for (const id of ended) core.live.dropConnection(core, id, timestampMicros);
  replaceLive(core, viewChanges, keptChanges(offset, declared?.prepared), timestampMicros);
  core.report(hostLine('info', `Updated program to ${loaded.hash}`));
  for (const text of lines) core.report(hostLine('info', text));
  const { definition } = loaded;
  const applied = appliedMigrations(core.store);
  const gone = isRollback ? undefined : goneMigrationsText(old.definition, definition, applied);
  const warnings = [
    ...(gone === undefined ? [] : [gone]),
    ...filterWarnings(sql),
    ...scheduleWarnings(definition),
    ...ignoredRouteWarnings(definition),
  ];
  for (const text of warnings) core.report(hostLine('warn', text));
  endBrokenClients(core, ended, timestampMicros);
  core.report(hostLine('info', 'Database updated'));
  return { breaksClients, ended };
}

/** What a plan changes for clients of the program that serves. */
export function whatBreaks(
  { program, store }: DatabaseCore,
  plan: AllowedUpdate['plan'],
  after: SeenProgram,
): BrokenParts {
  if (!plan.breaksClients) return nothingBroken;
  const isDeclared = plan.kind === 'declared';
  return brokenParts(program, after, isDeclared ? rewrittenTables(plan, store.catalog) : new Set());
}

/** The changed rows of tables that a migration has kept: clients that watch them stay. */
function keptChanges(
  offset: CommitOffset,
  prepared: PreparedMigration | undefined,
): ChangeSet | undefined {
  if (prepared === undefined) return undefined;
  const tables = prepared.changes.filter(({ tableId }) => !prepared.rewritten.has(tableId));
  return tables.length === 0 ? undefined : { offset, tables, sequences: prepared.sequences };
}

/** The rows that say which migrations the database has, in the transaction of the update. */
function markedMigrations(
  { store }: DatabaseCore,
  { added, removed }: DeclaredPlan,
  offset: CommitOffset,
  micros: bigint,
): ChangeSet | undefined {
  const transaction = store.begin();
  markMigrations(
    store,
    transaction,
    added.map(({ id, hash }) => ({ id, hash, offset, micros })),
    removed,
  );
  return transaction.commitJoined();
}

/** All changes of the update's transaction. */
function joined(
  offset: CommitOffset,
  prepared: PreparedMigration | undefined,
  parts: readonly (ChangeSet | undefined)[],
): ChangeSet | undefined {
  const tables = [...(prepared?.changes ?? []), ...parts.flatMap((part) => part?.tables ?? [])];
  const drawn = parts.flatMap((part) => part?.sequences ?? []);
  const sequences = [...(prepared?.sequences ?? []), ...drawn];
  if (tables.length === 0 && sequences.length === 0) return undefined;
  return { offset, tables, sequences };
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
  return orFailed(core, () => core.store.prepareMigration(catalog, defaults));
}

/** What the rows do not allow becomes a refusal. */
export function orFailed<Result>(core: DatabaseCore, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    throw updateFailed(core, error);
  }
}

/**
 * Evaluates live views with the new program over the new tables. If one fails, the migration is
 * undone.
 */
function replaceViews(
  core: DatabaseCore,
  program: ViewProgram,
  migration: Migration,
): readonly ViewChange[] {
  const { views } = core;
  const failure = views.replaceProgram(program);
  if (failure === undefined) return views.commit();
  views.rollback();
  migration.revert();
  throw updateFailed(core, new Error(updateFailureText(failure)));
}

/** Live queries survive an update, unless their connections end with it. */
export function replaceLive(
  core: DatabaseCore,
  views: readonly ViewChange[],
  changes: ChangeSet | undefined,
  timestampMicros: bigint,
): void {
  const { live } = core;
  live.queries.replaceSchema(core.program.sql);
  const isNewSchema = true;
  live.committed(core, {
    changes,
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

function linesOf(steps: readonly MigrationStep[]): string[] {
  return steps.flatMap((step) => logLineOf(step) ?? []);
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
