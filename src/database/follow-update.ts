import { decodeInputs } from '../log/decode-record.ts';
import type { SchemaRecord } from '../log/record.ts';
import { decodeCatalog } from '../schema/catalog-codec.ts';
import { planDeclared } from '../schema/plan-declared.ts';
import type { SqlSchema } from '../sql/schema.ts';
import type { DatabaseCore } from './core.ts';
import { appliedMigrations } from './migrations/migration-table.ts';
import { type LoadedProgram, programOf } from './program.ts';
import { RowFilterError } from './row-filters.ts';
import { sqlSchemaOf } from './sql-schema.ts';
import { replaceLive } from './update-program.ts';
import { viewProgramOf } from './views/served-views.ts';

/** A program that the leader has published, and what statements can name with it. */
export interface FollowedProgram {
  readonly loaded: LoadedProgram;
  readonly sql: SqlSchema;
}

/**
 * The program by which a copy goes on, with all its clients, once the record of it is applied.
 * `undefined`: something that clients use may be another thing then. That it is allowed is for the
 * leader to say, which has done it.
 */
export function followable(
  { program, store }: DatabaseCore,
  loaded: LoadedProgram,
  { schema, migration }: SchemaRecord,
): FollowedProgram | undefined {
  if (migration !== undefined) return undefined;
  const { definition } = loaded;
  const plan = planDeclared(program.definition, definition, appliedMigrations(store));
  if (plan.kind !== 'automatic' || plan.breaksClients) return undefined;
  try {
    return { loaded, sql: sqlSchemaOf(definition, decodeCatalog(schema.catalog)) };
  } catch (error) {
    if (!(error instanceof RowFilterError)) throw error;
    return undefined;
  }
}

/**
 * Goes on by a program whose record was just applied, as its leader did. The runner before is left
 * to its owner. False: a view fails, and what clients have cannot be brought up to date.
 */
export function followUpdate(
  core: DatabaseCore,
  { loaded, sql }: FollowedProgram,
  { offset, inputs }: SchemaRecord,
): boolean {
  const { views } = core;
  if (views.replaceProgram(viewProgramOf(loaded.runner, loaded.definition, sql)) !== undefined) {
    views.rollback();
    return false;
  }
  const changes = views.commit();
  core.program = programOf(loaded, { ...core, schemaVersion: offset, sql });
  replaceLive(core, changes, undefined, decodeInputs(inputs).timestampMicros);
  return true;
}
