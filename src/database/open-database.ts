import { assert } from '../assert.ts';
import { SnapshotLoader } from '../history/load-snapshot.ts';
import { LogReplay } from '../history/replay-log.ts';
import type { ReplayedProgram } from '../history/replayed-program.ts';
import { CommitLog } from '../log/commit-log.ts';
import type { Disk } from '../log/disk.ts';
import { epoch } from '../log/epoch.ts';
import type { LogRecord, SchemaChange } from '../log/record.ts';
import type { SnapshotLoading } from '../log/snapshot.ts';
import type { FetchedSnapshot } from '../log/snapshot-begin.ts';
import type { ModuleLogLine } from '../module/log-line.ts';
import { emptyEnv } from '../module/module-env.ts';
import { ProgramError, type RunnerContext } from '../module/runner.ts';
import { catalogOf, emptyCatalog } from '../schema/build-catalog.ts';
import type { Catalog } from '../schema/catalog.ts';
import { flatDefinition } from '../schema/flat-definition.ts';
import { ignoredRouteWarnings, isReadable, rowFiltersOf } from '../schema/flatten.ts';
import { planMigration } from '../schema/migration-plan.ts';
import { emptyRawModule } from '../schema/raw-module.ts';
import { validateModule } from '../schema/validate.ts';
import type { SqlSchema } from '../sql/schema.ts';
import type { CommitOffset } from '../store/commit-offset.ts';
import { Store } from '../store/store.ts';
import type { Transaction } from '../store/transaction.ts';
import { noConnection } from '../values/connection-number.ts';
import { asCaller, type DatabaseIdentity, type OwnerIdentity } from '../values/identity-roles.ts';
import { ChangedParts } from './changed-parts.ts';
import type { Clock } from './clock.ts';
import type { DatabaseCore } from './core.ts';
import { Database, type DatabaseSurroundings } from './database.ts';
import type { ReadDeploys } from './deploy-rows.ts';
import type { Entropy } from './entropy.ts';
import { hostLine } from './host-line.ts';
import { KeptOutcomes } from './kept-outcomes.ts';
import { KeptChanges } from './live/kept-changes.ts';
import { Subscriptions } from './live/subscriptions.ts';
import { type MigrationSizes, migrationSizesOfLimits } from './migrations/migration-sizes.ts';
import { markMigrations } from './migrations/migration-table.ts';
import { ModuleLines } from './module-lines.ts';
import { Refusal } from './outcome.ts';
import {
  examineProgram,
  type LoadedProgram,
  type Program,
  programOf,
  reloadProgram,
} from './program.ts';
import type { ProgramSource } from './program-source.ts';
import { type Slices, type StartReadRun, slicesOfLimits, startReadRun } from './read-run.ts';
import { requireEnv } from './require-env.ts';
import { filterWarnings, RowFilterError } from './row-filters.ts';
import { inputsOf, noBytes, runUnlogged } from './run-reducer.ts';
import { microsOf } from './schedules/due-time.ts';
import type { ScheduleFollower } from './schedules/ran-schedule.ts';
import { scheduleWarnings } from './schedules/schedule-warnings.ts';
import { Schedules } from './schedules/schedules.ts';
import { sqlSchemaOf } from './sql-schema.ts';
import { StatementMemory } from './statement-memory.ts';
import { type StorageLimits, StorageQuota } from './storage-quota.ts';
import { schemaChangeOf } from './update-program.ts';
import { viewProgramOf } from './views/served-views.ts';
import { ViewInstances } from './views/view-instances.ts';
import { viewQueryRunner } from './views/view-query.ts';

export interface DatabaseOptions extends DatabaseSurroundings {
  readonly identity: DatabaseIdentity;
  readonly ownerIdentity: OwnerIdentity;
  readonly disk: Disk;
  readonly clock: Clock;
  readonly entropy: Entropy;
  /** A digest of 32 bytes for what can be long, such as arguments; `hash` where it is absent. */
  readonly digest?: (bytes: Uint8Array) => Uint8Array;
  /** Time limit of one SQL statement (wall clock), in milliseconds. */
  readonly statementMillisMax: number;
  /** Starts reads, if the SQL room is not to do so. */
  readonly startReadRun?: StartReadRun;
  /** Used instead of those in `limits.ts`, for tests. */
  readonly slices?: Slices;
  readonly migrationSizes?: MigrationSizes;
  /** Memory that the machine can still give, in bytes; absent: it is not known. */
  readonly freeBytes?: () => number;
  /** True: no scheduled run begins until the schedules are resumed. */
  readonly schedulesPaused?: boolean;
  /** Called after each scheduled run. */
  readonly follower?: ScheduleFollower | undefined;
  /** Limits on what it may hold; absent: unlimited. */
  readonly storage?: StorageLimits;
  /** Receives the lines of the module's log. */
  readonly report: (line: ModuleLogLine) => void;
  /** Reads what was published, for statements; absent where nobody lists it. */
  readonly deploys?: ReadDeploys | undefined;
  /** Why a database is opened read-only; see `DatabaseCore`. */
  readonly full?: string | undefined;
  /** Receives full sentences about data cut off by recovery, and bugs that ended one statement. */
  readonly warn: (message: string) => void;
  /** When the log writes the mark of what became durable; see `LogOptions`. */
  readonly later?: (work: () => void) => void;
}

/**
 * Creates a database: its tables and the changes of `init` are one record, durable when this
 * resolves. Rejects with `Refusal` (`program.invalid`, `init.failed`) when nothing is to be kept;
 * the caller then removes the directory.
 */
export async function createDatabase(
  options: DatabaseOptions,
  source: ProgramSource,
  createdMicros: bigint,
): Promise<Database> {
  return new Database(await createCore(options, source, createdMicros), options);
}

/** Creates a database's core, without the actor around it. `empty`: an open log without records. */
export async function createCore(
  given: DatabaseOptions,
  source: ProgramSource,
  createdMicros: bigint,
  empty?: CommitLog,
): Promise<DatabaseCore> {
  const options = withLines(given);
  const store = new Store(emptyCatalog);
  const context = contextOf(options, store, createdMicros);
  const loaded = await examineProgram(source, context, options);
  requireEnvOf(loaded, options);
  const tables = makeTables(store, loaded);
  const log =
    empty ??
    (await openLog(options, true, () => {
      throw new Error('the directory of a new database already contains a log');
    }));
  const program = programIn(options, store, loaded, tables);
  const core = { ...coreOf(options, store, log, program), lastMicros: createdMicros };
  try {
    options.progress.loading();
    initialize(core, tables, createdMicros);
    options.progress.resting();
    await log.sync();
  } catch (error) {
    loaded.runner.dispose();
    log.abandon();
    throw error;
  }
  return core;
}

/**
 * Opens a database from its log: replays it and loads the program that served last. Rejects with
 * `LogDamageError` or `ProgramError` when it cannot serve.
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  return new Database(await openCore(options), options);
}

/** Opens a database's core, without the actor around it. */
export async function openCore(options: DatabaseOptions): Promise<DatabaseCore> {
  const replayed = await replayLog(options);
  try {
    return await coreOfLog(options, replayed);
  } catch (error) {
    replayed.log.abandon();
    throw error;
  }
}

/** An open log, and what its records have made. */
export interface ReplayedLog {
  readonly log: CommitLog;
  readonly store: Store;
  readonly replay: LogReplay;
  readonly snapshots: SnapshotLoader;
  /** Absent: nothing was kept of what its records changed. */
  readonly kept?: KeptChanges;
}

/** Replays a log; `isMember`: other hosts have it, too. */
export async function replayLog(options: LogSurroundings, isMember = false): Promise<ReplayedLog> {
  const store = new Store(emptyCatalog);
  const snapshots = new SnapshotLoader(store, options.warn);
  const replay = new LogReplay(store, snapshots);
  const onRecord = (record: LogRecord): void => replay.apply(record);
  const log = await openLog({ ...options, isMember }, false, onRecord, snapshots);
  return { log, store, replay, snapshots };
}

/** The program with which a log ends, loaded; what it does comes later. */
export interface LoadedAhead {
  readonly options: LinedOptions;
  readonly program: ReplayedProgram;
  readonly loaded: LoadedProgram;
}

/** Loads the program with which a log ends, or will end, for `coreOfLog`. */
export async function loadAhead(
  given: DatabaseOptions,
  store: Store,
  program: ReplayedProgram | undefined,
): Promise<LoadedAhead> {
  const options = withLines(given);
  if (program === undefined) throw new NoProgramError('the log holds no program');
  const { source, described, publishedMicros } = program;
  const context = contextOf(options, store, publishedMicros);
  const loaded = await reloadProgram(source, described, context, options);
  return { options, program, loaded };
}

/**
 * Makes the program serve with which a log ends; `ahead`, if that is loaded. The log stays open
 * when it fails. `isNextTerm`: the last commit may be of another host, whose clock was ahead; its
 * time goes on.
 */
export async function coreOfLog(
  given: DatabaseOptions,
  { log, store, replay, snapshots, kept = new KeptChanges() }: ReplayedLog,
  ahead?: LoadedAhead,
  isNextTerm = false,
): Promise<DatabaseCore> {
  const { program, loaded, ...was } = ahead ?? (await loadAhead(given, store, replay.program));
  const options = { ...was.options, full: given.full };
  assert(program === replay.program, 'the program that serves is that of the log');
  const lastMicros = isNextTerm ? replay.lastMicros + 1n : replay.lastMicros;
  const { offset } = program;
  const sql = reopenedSchema(loaded, store.catalog);
  const served = programIn(options, store, loaded, { sql, offset });
  const snapshot = snapshots.loaded?.place;
  const core = { ...coreOf({ ...options, kept }, store, log, served), lastMicros, snapshot };
  const { schedules } = core;
  if (isNextTerm) schedules.time.goOnFrom(microsOf(lastMicros), schedules.isNeeded);
  schedules.arm(lastMicros);
  return core;
}

/** All lines of a database take one route, which can be redirected for a while. */
interface LinedOptions extends DatabaseOptions {
  readonly lines: ModuleLines;
}

function withLines(options: DatabaseOptions): LinedOptions {
  const lines = new ModuleLines(options.report);
  return { ...options, lines, report: lines.report };
}

/** What opening a log needs. */
export interface LogSurroundings
  extends Pick<DatabaseOptions, 'disk' | 'identity' | 'entropy' | 'warn' | 'later' | 'full'> {
  /** Used instead of that in `limits.ts`, for tests. */
  readonly segmentBytes?: number;
  /**
   * Of a member of a cluster: puts a snapshot of a log position, or of a later one, beside the
   * log, under a name that nothing reads; `undefined`: there is none.
   */
  readonly fetchSnapshot?: ((position: number) => Promise<FetchedSnapshot | undefined>) | undefined;
}

function openLog(
  given: LogSurroundings & { readonly isMember?: boolean },
  create: boolean,
  onRecord: (record: LogRecord) => void,
  snapshots?: SnapshotLoading,
): Promise<CommitLog> {
  const { disk, identity, entropy, warn, later, full, isMember = false, segmentBytes } = given;
  const drawn = new Uint8Array(12);
  entropy.fill(drawn);
  const random = new DataView(drawn.buffer);
  return CommitLog.open(disk, {
    databaseIdentity: identity,
    create,
    salt: random.getInt32(0),
    epoch: epoch(random.getBigUint64(4)),
    isReadOnly: full !== undefined,
    isMember,
    onRecord,
    ...(snapshots !== undefined && { snapshots }),
    warn,
    ...(later !== undefined && { later }),
    ...(segmentBytes !== undefined && { segmentBytes }),
  });
}

function contextOf(
  { identity, report, clock }: DatabaseOptions,
  store: Store,
  publishedMicros: bigint,
): RunnerContext {
  return {
    store,
    databaseIdentity: identity,
    log: report,
    publishedMicros,
    monotonicMillis: () => clock.monotonicMillis(),
  };
}

function programIn(
  { identity, ownerIdentity }: DatabaseOptions,
  store: Store,
  loaded: LoadedProgram,
  { sql, offset }: { readonly sql: SqlSchema; readonly offset: number },
): Program {
  const place = { identity, owner: ownerIdentity, store, schemaVersion: offset, sql };
  return programOf(loaded, place);
}

/** A row-level security filter that was valid once must stay valid: rows depend on it. */
function reopenedSchema({ definition, runner }: LoadedProgram, catalog: Catalog): SqlSchema {
  try {
    return sqlSchemaOf(definition, catalog);
  } catch (error) {
    runner.dispose();
    if (!(error instanceof RowFilterError)) throw error;
    throw new ProgramError(error.message);
  }
}

function coreOf(
  options: LinedOptions & { readonly kept?: KeptChanges },
  store: Store,
  log: CommitLog,
  program: Program,
): Omit<DatabaseCore, 'lastMicros'> {
  const { identity, ownerIdentity, clock, entropy, statementMillisMax } = options;
  const { report, lines, warn } = options;
  return {
    identity,
    owner: ownerIdentity,
    store,
    log,
    clock,
    entropy,
    statementMillisMax,
    report,
    lines,
    warn,
    program,
    connections: new Map(),
    leftover: new Map(),
    changedParts: new ChangedParts(),
    views: viewsOf(options, store, program),
    live: new Subscriptions(program.sql, clock, options.kept ?? new KeptChanges()),
    schedules: schedulesOf(options, store, program),
    kept: new KeptOutcomes(store, options.digest ?? options.hash),
    progress: options.progress,
    startReadRun: options.startReadRun ?? startReadRun,
    slices: options.slices ?? slicesOfLimits,
    migrationSizes: options.migrationSizes ?? migrationSizesOfLimits,
    freeBytes: options.freeBytes,
    statementMemory: new StatementMemory(),
    quota: quotaOf(options),
    env: options.env ?? (() => emptyEnv),
    deploys: options.deploys,
    full: options.full,
    snapshot: undefined,
  };
}

function schedulesOf(options: LinedOptions, store: Store, { definition }: Program): Schedules {
  const { clock, cron, warn, schedulesPaused: isPaused = false, follower } = options;
  const schedules = new Schedules({ store, clock, cron, warn, isPaused, follower });
  schedules.serve(definition);
  return schedules;
}

function quotaOf({ storage = {} }: DatabaseOptions): StorageQuota {
  const quota = new StorageQuota();
  quota.limits = storage;
  return quota;
}

function viewsOf(options: DatabaseOptions, store: Store, program: Program): ViewInstances {
  const { clock, statementMillisMax, report, progress } = options;
  const { runner, definition, sql } = program;
  return new ViewInstances({
    store,
    report,
    progress,
    program: viewProgramOf(runner, definition, sql),
    runQuery: viewQueryRunner({ store, clock, statementMillisMax }),
  });
}

interface FirstTables {
  readonly schema: SchemaChange;
  readonly sql: SqlSchema;
  readonly offset: CommitOffset;
}

/** Disposes the runner when it throws. */
function requireEnvOf({ definition, hash, runner }: LoadedProgram, { env }: DatabaseOptions): void {
  try {
    requireEnv(definition, env?.(hash) ?? emptyEnv);
  } catch (error) {
    runner.dispose();
    throw error;
  }
}

/** The tables of the first program, under offset 1. Disposes the runner when it throws. */
function makeTables(store: Store, loaded: LoadedProgram): FirstTables {
  const { definition, runner } = loaded;
  const plan = planMigration(emptyDefinition, definition);
  assert(plan.kind === 'automatic', 'a first program needs no manual migration');
  const before = store.catalog;
  const catalog = catalogOf(definition, before);
  try {
    const sql = sqlSchemaOf(definition, catalog);
    const schema = schemaChangeOf(loaded, catalog, before, plan.steps);
    return { schema, sql, offset: store.prepareMigration(catalog, new Map()).apply() };
  } catch (error) {
    runner.dispose();
    if (!(error instanceof RowFilterError)) throw error;
    throw new Refusal({ code: 'program.invalid', message: error.message }, { cause: error });
  }
}

/** The rest of the first transaction: the changes of `init`, joined with the new tables. */
function initialize(core: DatabaseCore, tables: FirstTables, createdMicros: bigint): void {
  const { log, report, owner } = core;
  const { definition } = core.program;
  const flat = flatDefinition(definition);
  const names = flat.tables.map(({ name }) => `table \`${name}\``);
  const views = flat.views.filter(isReadable).map(({ name }) => `table for view \`${name}\``);
  const filters = rowFiltersOf(definition).map((sql) => `row level security \`${sql}\``);
  for (const what of [...names, ...views, ...filters]) report(hostLine('info', `Creating ${what}`));
  const warnings = [
    ...filterWarnings(tables.sql),
    ...scheduleWarnings(definition),
    ...ignoredRouteWarnings(definition),
  ];
  for (const text of warnings) report(hostLine('warn', text));
  const reducer = core.program.lifecycle.init;
  if (reducer !== undefined) report(hostLine('info', 'Invoking `init` reducer'));
  const run = {
    reducer,
    sender: asCaller(owner),
    connectionId: noConnection,
    timestampMicros: createdMicros,
    args: noBytes,
    jwtPayload: '',
    isJoined: true,
    after: (transaction: Transaction) => {
      core.schedules.beginCrons(transaction, microsOf(createdMicros));
      const { offset } = tables;
      const added = definition.migrations.map(({ id, hash }) => {
        return { id, hash, offset, micros: createdMicros };
      });
      markMigrations(core.store, transaction, added, []);
    },
  };
  const { outcome, changes, seed } = runUnlogged(core, run);
  if (outcome.kind !== 'returned') {
    throw new Refusal({ code: 'init.failed', message: `init failed: ${outcome.message}` });
  }
  log.appendSchema(tables.offset, tables.schema, changes, inputsOf(run, seed));
  report(hostLine('info', 'Database initialized'));
}

const emptyDefinition = validateModule(emptyRawModule);

/** The log is empty: a crash came before the first transaction was durable. */
export class NoProgramError extends Error {
  override readonly name = 'NoProgramError';
}
