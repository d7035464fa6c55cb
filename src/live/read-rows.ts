import { present } from '../assert.ts';
import { limits } from '../limits.ts';
import type { TableId } from '../schema/ids.ts';
import { quotedName } from '../schema/quoted-name.ts';
import type { QueryBudget } from '../sql/budget.ts';
import type { ReadPlan } from '../sql/plan/plan.ts';
import { requireAllWithinRowLimit, rowLimitOf } from '../sql/planning.ts';
import { compileRead, ReadExecution } from '../sql/run/execution.ts';
import type { SqlTables } from '../sql/schema.ts';
import type { CallerIdentity } from '../values/identity-roles.ts';
import type { WholeRead } from './kept-stages.ts';
import type { LiveQuery } from './live-query.ts';
import { type PreparedQuery, prepareFull } from './prepared-query.ts';
import { type RowSet, rowCountOf } from './row-set.ts';
import { RowSetPieces, tooLarge } from './row-set-pieces.ts';
import { type RowsPart, RowsRead } from './rows-read.ts';

/** What the reads of one request share. */
export interface RowsRequest {
  readonly tables: SqlTables;
  readonly identity: CallerIdentity;
  readonly budget: QueryBudget;
  /** For reads that cannot be sliced, where `budget` has slices. */
  readonly wholeBudget?: QueryBudget;
  /** For `now()`, where it is allowed. */
  readonly nowMicros?: bigint;
}

/** Reads the rows of queries; the results of all of them together are bounded. */
export class RowsReader {
  readonly #request: RowsRequest;
  /** Planned once, for the limit and for the rows. */
  readonly #plans = new Map<PreparedQuery, readonly ReadPlan[]>();
  #rowCount = 0;
  #byteCount = 0;

  constructor(request: RowsRequest) {
    this.#request = request;
  }

  /** For code that reads on its own, in one go. */
  get whole(): WholeRead {
    return { ...this.#request, budget: this.#request.wholeBudget ?? this.#request.budget };
  }

  /** Stops counting the rows: they were handed over, or are no longer wanted. */
  release(): void {
    this.#request.budget.release();
  }

  /** The rows of a live query that keeps them. Throws `SqlFailure`. */
  keptRows({ operator }: LiveQuery): RowSet[] | undefined {
    const rows = operator.rows();
    if (rows === undefined) return undefined;
    this.#count({ rowCount: rowCountOf(rows), byteCount: rows.data.length });
    return [rows];
  }

  /** Refuses queries that would look at more rows than their callers may. Throws `SqlFailure`. */
  requireWithinLimit(queries: readonly PreparedQuery[]): void {
    const { tables } = this.#request;
    const limited = queries.filter(({ rights }) => !rights.exceedsRowLimit);
    if (limited.length === 0 || rowLimitOf(tables) === undefined) return;
    const plans = limited.flatMap((query) => this.#plansOf(query));
    try {
      requireAllWithinRowLimit(plans, tables, this.#visibleSizes(limited));
    } catch (error) {
      this.release();
      throw error;
    }
  }

  /** The visible sizes of tables with hidden rows: their true sizes must not be revealed. */
  #visibleSizes(queries: readonly PreparedQuery[]): ReadonlyMap<TableId, number> {
    const sizes = new Map<TableId, number>();
    for (const query of queries) {
      const { rights, schema } = query;
      if (rights.bypassesFilters) continue;
      for (const { id, name } of this.#plansOf(query).flatMap(({ tables }) => tables)) {
        if (sizes.has(id) || !schema.sql.filters.has(id)) continue;
        const sql = `SELECT COUNT(*) AS n FROM ${quotedName(name)}`;
        const [counted] = this.rowsOf(prepareFull({ sql, rights, schema }, false));
        const { data } = present(counted, 'the count');
        sizes.set(id, Number(new DataView(data.buffer, data.byteOffset, 8).getBigUint64(0, true)));
      }
    }
    return sizes;
  }

  /**
   * Returns a set for each fragment, except those that read an empty table; one set for a query of
   * the full dialect. Throws `SqlFailure`.
   */
  rowsOf(query: PreparedQuery): readonly RowSet[] {
    const read = this.begin(query);
    try {
      while (read.run() === 'paused');
      return read.rows();
    } finally {
      read.dispose();
    }
  }

  /** Begins to read the rows of a query in slices. */
  begin(query: PreparedQuery): RowsRead {
    const { tables } = this.#request;
    const isOfFragments = query.dialect === 'subscription';
    const plans = this.#plansOf(query).filter((_, at) => {
      const { body } = present(query.reads[at], 'the read of a plan').query;
      const isEmpty =
        isOfFragments &&
        body.kind === 'block' &&
        body.relations.some(
          ({ source }) => source.kind === 'table' && tables.table(source.table.id).rowCount === 0,
        );
      return !isEmpty;
    });
    const parts = plans.map((plan) => this.#partOf(query, plan));
    return new RowsRead(parts, this.#request.budget, (pieces) => this.#count(pieces));
  }

  #plansOf(query: PreparedQuery): readonly ReadPlan[] {
    const known = this.#plans.get(query);
    if (known !== undefined) return known;
    const made = query.plans(this.#request.tables);
    this.#plans.set(query, made);
    return made;
  }

  #partOf(query: PreparedQuery, plan: ReadPlan): RowsPart {
    const { tables, identity, budget, nowMicros = 0n } = this.#request;
    const { types } = query.schema;
    const parameters = query.parametersOf(plan, identity);
    const request = { tables, parameters, budget, nowMicros };
    const pieces = new RowSetPieces(budget);
    return { execution: new ReadExecution(compileRead(plan, types), request, pieces), pieces };
  }

  #count({ rowCount, byteCount }: Pick<RowSetPieces, 'rowCount' | 'byteCount'>): void {
    this.#rowCount += rowCount;
    this.#byteCount += byteCount;
    const { sqlResultRowsMax, sqlResultBytesMax } = limits;
    if (this.#rowCount > sqlResultRowsMax) throw tooLarge(`${sqlResultRowsMax} rows`);
    if (this.#byteCount > sqlResultBytesMax) throw tooLarge(`${sqlResultBytesMax} bytes`);
  }
}
