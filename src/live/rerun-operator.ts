import type { WholeRead } from './kept-stages.ts';
import type { LiveOperator, OperatorSurroundings } from './live-operator.ts';
import type { RowChanges } from './live-update.ts';
import type { PreparedQuery } from './prepared-query.ts';
import { joinedRows, RowsReader } from './read-rows.ts';
import { rowDifference } from './row-bag.ts';
import { emptyRowSet, type RowSet, rowCountOf } from './row-set.ts';
import type { SourceKey } from './source-changes.ts';

/**
 * A query without an incremental form: it is asked again after every commit that changed something
 * it reads, and its rows are compared with those that it gave before.
 */
export class RerunOperator implements LiveOperator {
  readonly fragments = [];
  readonly sources: readonly SourceKey[];
  readonly #query: PreparedQuery;
  readonly #identity: bigint;
  #rows: RowSet = emptyRowSet;

  constructor(query: PreparedQuery, identity: bigint, sources: readonly SourceKey[]) {
    this.#query = query;
    this.#identity = identity;
    this.sources = sources;
  }

  /** Comparing takes a place in a map for each row. */
  get bytes(): number {
    return this.#rows.data.length + comparedRowBytes * rowCountOf(this.#rows);
  }

  open(whole: WholeRead): void {
    this.#rows = this.#read(whole);
  }

  changes(_hits: unknown, { reread }: OperatorSurroundings): readonly RowChanges[] {
    const before = this.#rows;
    this.#rows = reread((whole) => this.#read(whole));
    const change = rowDifference(before, this.#rows);
    return change === undefined ? [] : [change];
  }

  rows(): RowSet {
    return { ...this.#rows, data: this.#rows.data.slice() };
  }

  #read({ tables, budget }: WholeRead): RowSet {
    const reader = new RowsReader({ tables, budget, identity: this.#identity });
    return joinedRows(reader.rowsOf(this.#query), this.#query);
  }
}

/** Measured, Node 20: twice, because the rows before are there as well. */
const comparedRowBytes = 160;
