import { LiveQueries, type LiveQuery } from '../../src/live/live-queries.ts';
import type { LiveFailure, LiveUpdate } from '../../src/live/live-update.ts';
import { type RowSet } from '../../src/live/row-set.ts';
import type { SqlSchema, SqlTables } from '../../src/sql/schema.ts';
import type { ChangeSet } from '../../src/store/change-set.ts';
import { Store } from '../../src/store/store.ts';
import type { Table } from '../../src/store/table.ts';
import type { Transaction } from '../../src/store/transaction.ts';
import type { Value } from '../../src/values/value.ts';
import { type SampleTable } from '../sql/sample-tables.ts';
export interface Asker {
  readonly identity: bigint;
  readonly isOwner: boolean;
}
export declare const owner: Asker;
/** How often each row is there, by its text. */
export type Bag = Map<string, number>;
/** Somebody who watches a query and keeps count of its rows, as a client does. */
export interface Watched {
  readonly query: LiveQuery;
  readonly asker: Asker;
  readonly bag: Bag;
}
/** Tables and live queries over them, without a database around. */
export declare class LiveLab {
  #private;
  readonly store: Store;
  readonly live: LiveQueries;
  readonly schema: SqlSchema;
  failures: readonly LiveFailure[];
  /** What the clock says. */
  millis: number;
  constructor(
    tables: readonly SampleTable[],
    filters?: Readonly<Record<string, readonly string[]>>,
  );
  table(name: string): Table;
  /** Watches a query and takes its first rows. */
  watch(sql: string, asker?: Asker): Watched;
  unwatch(watched: Watched): void;
  /** The rows of a query, asked afresh. */
  fresh(query: LiveQuery, { identity }?: Asker): Bag;
  get tables(): SqlTables;
  /** Runs a transaction, and lets everybody who watches have what it changed. */
  transact(
    run: (transaction: Transaction) => void,
    outcome?: 'commit' | 'rollback',
  ): readonly LiveUpdate[];
  committed(changes: ChangeSet | undefined): readonly LiveUpdate[];
  insert(transaction: Transaction, table: string, ...row: Value[]): number;
  remove(transaction: Transaction, table: string, ...row: Value[]): boolean;
  /** What an update says, as `+` and `-` with the rows, in order. */
  textOf({ tableId, changes }: LiveUpdate): string[];
  rowTexts(tableId: number, rows: RowSet, mark?: string): string[];
}
