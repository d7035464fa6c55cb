import type { SetForm } from '../../live/set-query.ts';
import { type SourceKey, sourceOfView } from '../../live/source-changes.ts';
import type { ReadSet } from '../../module/read-set.ts';
import type { TableId, ViewId } from '../../schema/ids.ts';
import type { RowList } from '../../store/change-set.ts';
import { noRow } from '../../store/row-ref.ts';
import { Table } from '../../store/table.ts';
import type { CallerIdentity } from '../../values/identity-roles.ts';
import type { ServedView } from './served-views.ts';
import type { ViewFailure } from './view-failure.ts';

/** The result of one view, for one caller or for all: kept as rows that statements read. */
export interface ViewInstance {
  readonly key: string;
  readonly viewId: ViewId;
  /** `undefined` if the view is anonymous. */
  readonly sender: CallerIdentity | undefined;
  /** Under which live queries know its rows. */
  readonly source: SourceKey;
  /** A set: equal rows of one evaluation are one row. Others may share it. */
  rows: ResultRows;
  /** Its result is evaluated again when one of these changes. */
  reads: ReadSet;
  /** Of the query that the program returned, if it did. */
  form: SetForm | undefined;
  /** When it was last requested, in microseconds since the Unix epoch. */
  usedMicros: bigint;
  /** Memory it takes; of rows that are shared it takes all. */
  bytes: number;
  /** How many live queries read it; it is kept while there are any. */
  holdCount: number;
}

/**
 * The rows of a result, or of several that are the same: callers with equal rights share them, so
 * that what changes them alike is written once.
 */
export class ResultRows {
  /** Its id is that of these rows; no two of a database have ever had the same. */
  readonly table: Table;
  readonly holders: Set<ViewInstance>;
  /** Memory of the table when it was last measured. */
  bytes = emptyTableBytes;
  #measuredRows = 0;

  constructor(table: Table, holders: Iterable<ViewInstance>) {
    this.table = table;
    this.holders = new Set(holders);
  }

  /** Measures the table if it may have grown, and returns by how much. */
  growth(): number {
    const { table, bytes } = this;
    if (table.rowCount === this.#measuredRows) return 0;
    this.#measuredRows = table.rowCount;
    this.bytes = emptyTableBytes + table.memory().totalBytes;
    return this.bytes - bytes;
  }

  /** A copy for some of the holders, who leave. The rows are not being changed. */
  split(id: TableId, leaving: readonly ViewInstance[]): ResultRows {
    const { table } = this;
    const copy = new Table({ ...table.spec, id }, table.types);
    for (let ref = table.nextRow(noRow); ref !== noRow; ref = table.nextRow(ref)) {
      copy.changes.load(table.pageOf(ref), table.offsetOf(ref), table.lengthOf(ref));
    }
    const rows = new ResultRows(copy, leaving);
    for (const instance of leaving) {
      this.holders.delete(instance);
      instance.rows = rows;
    }
    rows.growth();
    return rows;
  }

  /** Lets the only holder of other rows, which are the same, have these. */
  join(instance: ViewInstance): void {
    instance.rows.holders.delete(instance);
    instance.rows = this;
    this.holders.add(instance);
  }

  isSameAs({ table: other }: ResultRows): boolean {
    const { table } = this;
    if (table.rowCount !== other.rowCount) return false;
    for (let ref = table.nextRow(noRow); ref !== noRow; ref = table.nextRow(ref)) {
      const [page, at, length] = [table.pageOf(ref), table.offsetOf(ref), table.lengthOf(ref)];
      if (other.changes.findEqual(page, at, length) === noRow) return false;
    }
    return true;
  }
}

/** JavaScript heap used by a table without rows: measured, Node 20. */
const emptyTableBytes = 16_384;

/** The changes of an evaluation to one instance. No row is in both lists. */
export interface ViewChange {
  readonly viewId: ViewId;
  readonly sender: CallerIdentity | undefined;
  /** Of these rows, for live queries. */
  readonly source: SourceKey;
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

/** An instance that has never been evaluated; `number` becomes the id of its table. */
export function newInstance(
  view: ServedView,
  number: TableId,
  sender: CallerIdentity | undefined,
  usedMicros: bigint,
): ViewInstance {
  const table = new Table({ ...view.table, id: number }, { types: view.schema.types });
  const instance: ViewInstance = {
    key: instanceKey(view.id, sender),
    viewId: view.id,
    sender,
    source: sourceOfView(view.id, sender),
    rows: new ResultRows(table, []),
    reads: { tables: new Set<TableId>(), keys: new Map() },
    usedMicros,
    form: undefined,
    bytes: 0,
    holdCount: 0,
  };
  instance.rows.holders.add(instance);
  return instance;
}
