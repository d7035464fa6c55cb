import { present } from '../assert.ts';
import { limits } from '../limits.ts';
import { bindParameters } from '../sql/check/bind.ts';
import { overBudget } from '../sql/failure.ts';
import type { ReadPlan } from '../sql/plan/plan.ts';
import { requireAllWithinRowLimit } from '../sql/row-limit.ts';
import type { QueryBudget } from '../sql/run/budget.ts';
import { compileRead, ReadExecution } from '../sql/run/execution.ts';
import type { SqlTables } from '../sql/schema.ts';
import type { WholeRead } from './kept-stages.ts';
import type { LiveQuery } from './live-queries.ts';
import { noValues, type PreparedQuery } from './prepared-query.ts';
import { type RowSet, rowCountOf, rowSetOf } from './row-set.ts';

/** What reads of one request share. */
export interface RowsRequest {
  readonly tables: SqlTables;
  readonly identity: bigint;
  readonly budget: QueryBudget;
  /** For `now()`, where it may be asked for. */
  readonly nowMicros?: bigint;
}

/** Reads the rows of queries; the results of all of them together are bounded. */
export class RowsReader {
  readonly #request: RowsRequest;
  /** Made once for the limit and for the rows. */
  readonly #plans = new Map<PreparedQuery, readonly ReadPlan[]>();
  #rowCount = 0;
  #byteCount = 0;

  constructor(request: RowsRequest) {
    this.#request = request;
  }

  /** For what reads by itself. */
  get whole(): WholeRead {
    return this.#request;
  }

  /** The rows of a live query that keeps them. Throws `SqlFailure`. */
  keptRows({ operator }: LiveQuery): RowSet[] | undefined {
    const rows = operator.rows();
    if (rows === undefined) return undefined;
    this.#count(rowCountOf(rows), rows.data.length);
    return [rows];
  }

  /** Refuses queries that look at more rows than callers may. Throws `SqlFailure`. */
  requireWithinLimit(queries: readonly PreparedQuery[]): void {
    const { tables } = this.#request;
    const limited = queries.filter(({ rights }) => !rights.exceedsRowLimit);
    if (limited.length === 0) return;
    requireAllWithinRowLimit(
      limited.flatMap((query) => this.#plansOf(query)),
      tables,
    );
  }

  /**
   * A set for each fragment, without those that read an empty table; one for a query of the full
   * dialect. Throws `SqlFailure`.
   */
  rowsOf(query: PreparedQuery): RowSet[] {
    const { tables } = this.#request;
    const sets: RowSet[] = [];
    const isOfFragments = query.dialect === 'subscription';
    this.#plansOf(query).forEach((plan, at) => {
      const read = present(query.reads[at], 'the read of a plan');
      const { body } = read.query;
      const isEmpty =
        isOfFragments &&
        body.kind === 'block' &&
        body.relations.some(
          ({ source }) => source.kind === 'table' && tables.table(source.table.id).rowCount === 0,
        );
      if (!isEmpty) sets.push(this.#run(query, plan));
    });
    return sets;
  }

  #plansOf(query: PreparedQuery): readonly ReadPlan[] {
    const known = this.#plans.get(query);
    if (known !== undefined) return known;
    const made = query.plans(this.#request.tables);
    this.#plans.set(query, made);
    return made;
  }

  #run({ schema, shape }: PreparedQuery, plan: ReadPlan): RowSet {
    const { tables, identity, budget, nowMicros = 0n } = this.#request;
    const { types } = schema;
    const parameters = bindParameters(plan.parameters, noValues, identity, types);
    const request = { tables, parameters, budget, nowMicros };
    const execution = new ReadExecution(compileRead(plan, types), request);
    while (execution.run() === 'paused');
    const { rows, rowCount } = execution.result();
    this.#count(rowCount, rows.length);
    return rowSetOf(rows, rowCount, shape);
  }

  #count(rowCount: number, byteCount: number): void {
    this.#rowCount += rowCount;
    this.#byteCount += byteCount;
    const { sqlResultRowsMax, sqlResultBytesMax } = limits;
    if (this.#rowCount > sqlResultRowsMax) throw tooLarge(`${sqlResultRowsMax} rows`);
    if (this.#byteCount > sqlResultBytesMax) throw tooLarge(`${sqlResultBytesMax} bytes`);
  }
}

function tooLarge(bound: string): Error {
  return overBudget(
    `The queries have more than ${bound} together; narrow their WHERE clauses or ask in parts`,
  );
}
