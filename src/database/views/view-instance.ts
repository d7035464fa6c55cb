import { type ReadSet, readSetBytes } from '../../module/read-set.ts';
import type { RowList } from '../../store/change-set.ts';
import { Table } from '../../store/table.ts';
import type { ServedView } from './served-views.ts';
import type { ViewFailure } from './view-failure.ts';

/** The result of one view, for one caller or for all: kept as rows that statements read. */
export interface ViewInstance {
  readonly key: string;
  /** `id` of its table; no two instances of a database have had the same. */
  readonly number: number;
  readonly viewId: number;
  /** `undefined`: of an anonymous view. */
  readonly sender: bigint | undefined;
  /** A set: equal rows of one evaluation are one row. */
  readonly table: Table;
  reads: ReadSet;
  /** When somebody last asked for it, in microseconds since the Unix epoch. */
  usedMicros: bigint;
  /** Memory it took when it was last evaluated. */
  bytes: number;
  /** How many live queries read it; as long as there is one, it stays. */
  holdCount: number;
}

/** Memory of an instance, about. */
export function instanceBytes({ table, reads }: ViewInstance): number {
  return emptyTableBytes + table.memory().totalBytes + readSetBytes(reads);
}

/** What a table without rows takes of the JavaScript heap: measured, Node 20. */
const emptyTableBytes = 16_384;

/** What an evaluation changed in one instance. No row is in both lists. */
export interface ViewChange {
  readonly viewId: number;
  readonly sender: bigint | undefined;
  readonly inserts: RowList;
  readonly deletes: RowList;
}

/** An instance that was held and is gone: it failed in a transaction that nothing could stop. */
export interface LostInstance {
  readonly viewId: number;
  readonly sender: bigint | undefined;
  readonly failure: ViewFailure;
}

export function instanceKey(viewId: number, sender: bigint | undefined): string {
  return sender === undefined ? String(viewId) : `${viewId} ${sender.toString(16)}`;
}

/** An instance that was never evaluated. */
export function newInstance(
  view: ServedView,
  number: number,
  sender: bigint | undefined,
  usedMicros: bigint,
): ViewInstance {
  const table = new Table({ ...view.table, id: number }, { types: view.schema.types });
  const key = instanceKey(view.id, sender);
  const reads = { tables: new Set<number>(), keys: new Map() };
  return { key, number, viewId: view.id, sender, table, reads, usedMicros, bytes: 0, holdCount: 0 };
}
