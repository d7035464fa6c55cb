import type { Sealed } from '../../auth/secret-keys.ts';
import {
  type CallerIdentity,
  callerIdentity,
  type DatabaseIdentity,
} from '../../values/identity-roles.ts';
import type { Value } from '../../values/value.ts';

/** One value of the configuration of a database, as the registry keeps it. */
export interface EnvRow {
  readonly name: string;
  /** Higher than that of any value that was set before. */
  readonly version: bigint;
  readonly value: { readonly plain: string } | { readonly sealed: Sealed };
  readonly setBy: CallerIdentity;
  /** Microseconds since the Unix epoch. */
  readonly setMicros: bigint;
}

/**
 * Values that come with a publish. They are set when it has happened, and until then only its
 * program, in its generation, reads them.
 */
export interface StagedEnv {
  /** Counts the resets of the database. */
  readonly generation: number;
  /** Hash of the program, 64 hex digits. */
  readonly program: string;
  /**
   * What shows that it has happened: the program of the database, which the log knows, or its
   * generation, which the registry does.
   */
  readonly decider: 'program' | 'generation';
  readonly rows: readonly EnvRow[];
}

export function envKey(database: DatabaseIdentity, name: string): string {
  return `${database.toString(16)} ${name}`;
}

/** The columns of the registry's table but the last. */
export function envValues(database: DatabaseIdentity, row: EnvRow): readonly Value[] {
  const { name, version, value, setBy, setMicros } = row;
  const [bytes, by] =
    'plain' in value
      ? [new TextEncoder().encode(value.plain), '']
      : [value.sealed.bytes, value.sealed.by];
  return [envKey(database, name), database, name, version, bytes, by, setBy, setMicros];
}

export function envRowOf(row: readonly Value[]): EnvRow {
  const bytes = row[4] as Uint8Array;
  const by = row[5] as string;
  return {
    name: row[2] as string,
    version: row[3] as bigint,
    value: by === '' ? { plain: new TextDecoder().decode(bytes) } : { sealed: { bytes, by } },
    setBy: callerIdentity(row[6] as bigint),
    setMicros: row[7] as bigint,
  };
}

/** What a row of the registry's table says of the publish that its value comes with. */
export function publishOf(row: readonly Value[]): Omit<StagedEnv, 'rows'> {
  const [generation, program, decider] = row.slice(8);
  return {
    generation: generation as number,
    program: program as string,
    decider: decider as StagedEnv['decider'],
  };
}
