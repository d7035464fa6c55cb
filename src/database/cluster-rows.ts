import type { Value } from '../values/value.ts';
import type { SystemRow } from './system-rows.ts';

/** A host of the cluster, or a database and where it is, as `st_cluster` shows it. */
export interface ListedPart {
  readonly kind: 'host' | 'database';
  readonly name: string;
  /** Hex digits: 32 of a host, 64 of a database. */
  readonly id: string;
  readonly state: string;
  /** Of a host: where others and clients reach it, where it stands, and its version. */
  readonly address?: string;
  readonly clientAddress?: string;
  readonly zone?: string;
  readonly version?: string;
  readonly seenSeconds?: number;
  readonly leads?: number;
  /** Of a database: who leads it, and who shall have how many copies. */
  readonly leader?: string;
  readonly term?: number;
  readonly copies?: number;
  readonly wishes: readonly string[];
}

/** The rows of `st_cluster`, with its columns. */
export function clusterRows(parts: readonly ListedPart[]): readonly SystemRow[] {
  return parts.map((one) => [
    ...[one.kind, one.name, one.id, one.state],
    ...[one.address, one.clientAddress, one.zone, one.version].map(optional),
    optional(one.seenSeconds),
    optional(counted(one.leads)),
    optional(one.leader),
    optional(counted(one.term)),
    optional(counted(one.copies)),
    one.wishes,
  ]);
}

function counted(count: number | undefined): bigint | undefined {
  return count === undefined ? undefined : BigInt(count);
}

function optional(value: Value | undefined): Value {
  return value === undefined ? { tag: 1, value: [] } : { tag: 0, value };
}
