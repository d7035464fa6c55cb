import type { Value } from '../values/value.ts';
import type { SystemRow } from './system-rows.ts';

/** One change of the program that a database runs, as `st_deploy` shows it. */
export interface ListedDeploy {
  /** Counts the deploys of a database, from 1. */
  readonly number: number;
  readonly kind: string;
  /** Microseconds since the Unix epoch; `undefined`: nobody knows. */
  readonly micros: number | undefined;
  /** Hex digits of an identity. */
  readonly by: string | undefined;
  /** Hash of the program, in hex. */
  readonly program: string;
  readonly generation: number;
  /** Offset of the commit that began to serve the program. */
  readonly commit: number;
  readonly plan: string;
  readonly migrations: readonly string[];
  readonly message: string;
  readonly staticSet: string | undefined;
  readonly of: number | undefined;
  readonly canary: { readonly state: string; readonly reason: string } | undefined;
}

/** What runs: its hash in hex, and the commit that began to serve it. */
export interface ServedProgram {
  readonly program: string;
  readonly commit: number;
}

/** The deploys of a database, oldest first; the last is that which runs. */
export type ReadDeploys = (served: ServedProgram) => readonly ListedDeploy[];

/** The rows of `st_deploy`, with its columns. */
export function deployRows(deploys: readonly ListedDeploy[]): readonly SystemRow[] {
  return deploys.map((one, at) => [
    BigInt(one.number),
    one.kind,
    optional(one.micros === undefined ? undefined : [BigInt(one.micros)]),
    optional(one.by === undefined ? undefined : BigInt(`0x${one.by}`)),
    BigInt(`0x${one.program}`),
    BigInt(one.commit),
    BigInt(one.generation),
    one.message,
    one.plan,
    one.migrations,
    one.staticSet !== undefined,
    optional(one.of === undefined ? undefined : BigInt(one.of)),
    at === deploys.length - 1,
    optional(one.canary?.state),
    optional(one.canary?.reason),
  ]);
}

function optional(value: Value | undefined): Value {
  return value === undefined ? { tag: 1, value: [] } : { tag: 0, value };
}
