import { limits } from '../limits.ts';
import type { ModuleEnv } from '../module/module-env.ts';
import {
  type ModuleRunner,
  ProgramError,
  programTooLargeText,
  type RunnerContext,
} from '../module/runner.ts';
import { decodeRawModule } from '../schema/decode-raw-module.ts';
import type { Lifecycle, ModuleDefinition } from '../schema/definition.ts';
import { flatDefinition } from '../schema/flat-definition.ts';
import { DefinitionErrors } from '../schema/problems.ts';
import { validateModule } from '../schema/validate.ts';
import type { SqlSchema } from '../sql/schema.ts';
import type { Store } from '../store/store.ts';
import { DecodeError } from '../values/binary-reader.ts';
import { sameBytes } from '../values/bytes.ts';
import type { DatabaseIdentity, OwnerIdentity } from '../values/identity-roles.ts';
import { validatorOf } from '../values/layout.ts';
import type { ProgramReducer } from './call-result.ts';
import { resultCheckOf } from './call-result.ts';
import type { CronReader } from './cron.ts';
import { cronFaults } from './cron-faults.ts';
import type { DatabaseDescription } from './description.ts';
import { appliedMigrations } from './migrations/migration-table.ts';
import { Refusal } from './outcome.ts';
import { PreparedStatements } from './prepared-statements.ts';
import { type ProgramProcedure, proceduresOf } from './procedures/program-procedure.ts';
import { hashHex, type ProgramHash } from './program-hash.ts';
import type { ProgramSource } from './program-source.ts';
import type { Progress } from './progress.ts';
import { SystemTables } from './system-tables.ts';

/** Makes a program runnable. Rejects with `ProgramError` when it cannot be loaded. */
export type ProgramLoader = (
  program: ProgramSource,
  context: LoaderContext,
) => Promise<ModuleRunner>;

export interface LoaderContext extends RunnerContext {
  /**
   * Hash of the program, 64 hex digits. To be called once it is linked: that may know the hash,
   * which takes a long time to compute.
   */
  readonly programHash: () => string;
}

/** The parts of the machine needed to load a program. */
export interface ProgramSurroundings {
  /** Reports `loading` itself while it evaluates the program. */
  readonly loader: ProgramLoader;
  readonly hash: ProgramHash;
  readonly progress: Progress;
  /** Absent where no program has crons. */
  readonly cron?: CronReader;
  /**
   * The configuration at this moment, without its secrets, as the program with this hash may read
   * it; absent: nothing is set.
   */
  readonly env?: ((program: string) => ModuleEnv) | undefined;
}

/** A program that was loaded and described, and whose definition passed all checks. */
export interface LoadedProgram {
  readonly source: ProgramSource;
  /** 64 hex digits. */
  readonly hash: string;
  readonly runner: ModuleRunner;
  /** When it was published. */
  readonly publishedMicros: bigint;
  /** The program's own description, as it is logged. */
  readonly described: Uint8Array;
  readonly definition: ModuleDefinition;
}

/** The program that is serving. */
export interface Program extends LoadedProgram {
  readonly schemaVersion: number;
  /** By canonical name, those of submodules by their full names. */
  readonly reducers: ReadonlyMap<string, ProgramReducer>;
  /** By their position in the definition. */
  readonly reducersById: readonly ProgramReducer[];
  /** By canonical name, like reducers. */
  readonly procedures: ReadonlyMap<string, ProgramProcedure>;
  /** Positions of HTTP handlers, by canonical name. */
  readonly handlers: ReadonlyMap<string, number>;
  readonly lifecycle: Readonly<Record<Lifecycle, ProgramReducer | undefined>>;
  /** The names that statements can use while it serves. */
  readonly sql: SqlSchema;
  readonly systemTables: SystemTables;
  readonly statements: PreparedStatements;
}

/** Where a program serves, and since when. */
export interface ProgramPlace {
  readonly identity: DatabaseIdentity;
  readonly owner: OwnerIdentity;
  /** Has the tables of the program's catalog. */
  readonly store: Store;
  readonly schemaVersion: number;
  readonly sql: SqlSchema;
}

/**
 * Loads and describes a program being published. Rejects with `Refusal` `program.invalid` when it
 * does not load, does not describe itself properly, or has a cron that cannot be read.
 */
export async function examineProgram(
  source: ProgramSource,
  context: RunnerContext,
  around: ProgramSurroundings,
): Promise<LoadedProgram> {
  if (source.bytes.length > limits.programBytesMax) {
    throw invalid(programTooLargeText);
  }
  let runner: ModuleRunner | undefined;
  try {
    const loading = contextOf(source, context, around);
    runner = await around.loader(source, loading);
    const described = describe(runner, around.progress);
    const definition = definitionOf(described);
    const faults = cronFaults(definition.crons, around.cron);
    if (faults.length > 0) throw invalid(faults.join('\n'));
    const { publishedMicros } = context;
    const hash = loading.programHash();
    return { source, hash, publishedMicros, runner, described, definition };
  } catch (error) {
    runner?.dispose();
    throw asInvalid(error);
  }
}

/** Loads a program that served before. Its description comes from the log. */
export async function reloadProgram(
  source: ProgramSource,
  described: Uint8Array,
  context: RunnerContext,
  around: ProgramSurroundings,
): Promise<LoadedProgram> {
  const loading = contextOf(source, context, around);
  const runner = await around.loader(source, loading);
  if (!sameBytes(describe(runner, around.progress), described)) {
    runner.dispose();
    throw new ProgramError('the program describes itself differently than when it was published');
  }
  const definition = definitionOf(described);
  const hash = loading.programHash();
  const { publishedMicros } = context;
  return { source, hash, publishedMicros, runner, described, definition };
}

function contextOf(
  { bytes }: ProgramSource,
  context: RunnerContext,
  { env, hash }: ProgramSurroundings,
): LoaderContext {
  let known: string | undefined;
  const programHash = () => {
    known ??= hashHex(hash(bytes));
    return known;
  };
  return { ...context, programHash, env: env && (() => env(programHash())) };
}

function describe(runner: ModuleRunner, progress: Progress): Uint8Array {
  progress.loading();
  try {
    return runner.describe().slice();
  } finally {
    progress.resting();
  }
}

/** Reads a description. Throws `DecodeError`, or `DefinitionErrors` that list what is wrong. */
export function definitionOf(described: Uint8Array): ModuleDefinition {
  return validateModule(decodeRawModule(described));
}

/** Makes a loaded program the one that serves from `schemaVersion` on. */
export function programOf(loaded: LoadedProgram, place: ProgramPlace): Program {
  const definition = flatDefinition(loaded.definition);
  const reducers = definition.reducers.map((reducer, id) => {
    const end = validatorOf(reducer.params, definition.typespace);
    const checkArguments = (args: Uint8Array): void => {
      end(args, 0, args.length);
    };
    const checkReturned = resultCheckOf(reducer.returns, definition.typespace);
    const checkThrown = resultCheckOf(reducer.throws, definition.typespace);
    return { ...reducer, id, checkArguments, checkReturned, checkThrown };
  });
  const withLifecycle = (lifecycle: Lifecycle) =>
    reducers.find((reducer) => reducer.lifecycle === lifecycle);
  return {
    ...loaded,
    schemaVersion: place.schemaVersion,
    reducers: new Map(reducers.map((reducer) => [reducer.name, reducer])),
    reducersById: reducers,
    procedures: proceduresOf(definition),
    handlers: new Map(definition.httpHandlers.map(({ name }, id) => [name, id])),
    lifecycle: {
      init: withLifecycle('init'),
      onConnect: withLifecycle('onConnect'),
      onDisconnect: withLifecycle('onDisconnect'),
    },
    sql: place.sql,
    systemTables: systemTablesOf(loaded, place),
    statements: new PreparedStatements(place.sql),
  };
}

function systemTablesOf(loaded: LoadedProgram, place: ProgramPlace): SystemTables {
  const { identity, owner, store, schemaVersion, sql } = place;
  return new SystemTables({
    databaseIdentity: identity,
    ownerIdentity: owner,
    program: loaded.source,
    programHash: loaded.hash,
    schemaVersion,
    definition: loaded.definition,
    schema: sql,
    nextId: store.catalog.nextId,
    sequenceMarks: () => store.sequenceMarks(),
  });
}

export function descriptionOf(program: Program, store: Store): DatabaseDescription {
  const { definition, schemaVersion, hash } = program;
  const applied = appliedMigrations(store);
  return { definition, schemaVersion, programHash: hash, applied };
}

/**
 * The fault in a program, as the publisher reads it; an unexpected error is passed on unchanged.
 */
function asInvalid(error: unknown): unknown {
  if (error instanceof DecodeError) {
    return invalid(`the program's description cannot be read: ${error.message}`, error);
  }
  if (error instanceof ProgramError || error instanceof DefinitionErrors) {
    return invalid(error.message, error);
  }
  return error;
}

function invalid(message: string, cause?: unknown): Refusal {
  return new Refusal({ code: 'program.invalid', message }, { cause });
}
