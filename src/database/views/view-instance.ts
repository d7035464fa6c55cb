import { type ReadSet, readSetBytes } from '../../module/read-set.ts';
import type { TableId, ViewId } from '../../schema/ids.ts';
import type { RowList } from '../../store/change-set.ts';
import { Table } from '../../store/table.ts';
import type { CallerIdentity } from '../../values/identity-roles.ts';
import type { ServedView } from './served-views.ts';
import type { ViewFailure } from './view-failure.ts';

/** The result of one view, for one caller or for all: kept as rows that statements read. */
export interface ViewInstance {
  readonly key: string;
  /** `id` of its table; no two instances of a database have ever shared one. */
  readonly number: TableId;
  readonly viewId: ViewId;
  /** `undefined` if the view is anonymous. */
  readonly sender: CallerIdentity | undefined;
  /** A set: equal rows of one evaluation are one row. */
  readonly table: Table;
  reads: ReadSet;
  /** When it was last requested, in microseconds since the Unix epoch. */
  usedMicros: bigint;
  /** Memory it took when it was last evaluated. */
  bytes: number;
  /** How many live queries read it; it is kept while there are any. */
  holdCount: number;
}

/** Approximate memory of an instance. */
export function instanceBytes({ table, reads }: ViewInstance): number {
  return emptyTableBytes + table.memory().totalBytes + readSetBytes(reads);
}

/** JavaScript heap used by a table without rows: measured, Node 20. */
const emptyTableBytes = 16_384;

/** The changes of an evaluation to one instance. No row is in both lists. */
export interface ViewChange {
  readonly viewId: ViewId;
  readonly sender: CallerIdentity | undefined;
  readonly inserts: RowList;
  readonly deletes: RowList;
}

/** A held instance that was dropped: it failed in a transaction that could not be refused. */
export interface LostInstance {
  readonly viewId: ViewId;
  readonly sender: CallerIdentity | undefined;
  readonly failure: ViewFailure;
}

export function instanceKey(viewId: ViewId, sender: CallerIdentity | undefined): string {
  return sender === undefined ? String(viewId) : `${viewId} ${sender.toString(16)}`;
}

/** An instance that has never been evaluated. */
export function newInstance(
  view: ServedView,
  number: TableId,
  sender: CallerIdentity | undefined,
  usedMicros: bigint,
): ViewInstance {
  const table = new Table({ ...view.table, id: number }, { types: view.schema.types });
  const key = instanceKey(view.id, sender);
  const reads = { tables: new Set<TableId>(), keys: new Map() };
  return { key, number, viewId: view.id, sender, table, reads, usedMicros, bytes: 0, holdCount: 0 };
}
