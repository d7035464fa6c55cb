import { present } from '../../assert.ts';
import { limits } from '../../limits.ts';
import type { TableSpec } from '../../schema/catalog.ts';
import type { TableId } from '../../schema/ids.ts';
import { QueryBudget } from '../../sql/budget.ts';
import { SqlFailure } from '../../sql/failure.ts';
import { prepareViewQuery } from '../../sql/published.ts';
import { type CompiledRead, ReadExecution } from '../../sql/run/execution.ts';
import type { SqlSchema } from '../../sql/schema.ts';
import { StatementCache } from '../../sql/statement-cache.ts';
import type { Store } from '../../store/store.ts';
import type { ServedView } from './served-views.ts';

/** Runs the query that a view returned instead of rows. */
export type ViewQueryRunner = (text: string, view: ServedView) => ViewQueryResult;

export type ViewQueryResult =
  | {
      readonly kind: 'rows';
      readonly rows: Uint8Array;
      readonly count: number;
      /** Ids of the tables it read. */
      readonly tables: readonly TableId[];
    }
  /** `message` is for the view's author, and for the caller that requested it. */
  | { readonly kind: 'invalid'; readonly message: string };

export interface ViewQuerySurroundings {
  readonly store: Store;
  readonly clock: { monotonicMillis(): number };
  /** Time limit of one query (wall clock), in milliseconds. */
  readonly statementMillisMax: number;
}

/**
 * Runs queries of views as the database itself, over the current rows: private tables are visible,
 * and row-level security filters do not apply. A query returns whole rows of one table, which has
 * the columns of the view.
 */
export function viewQueryRunner(around: ViewQuerySurroundings): ViewQueryRunner {
  const queries = new PreparedQueries();
  return (text, view) => {
    if (text.trim() === '') return noRows;
    try {
      const query = queries.get(text, view);
      const { tables } = query.plan;
      const fault = tables.map((table) => faultOf(table, around.store)).find(Boolean);
      if (fault !== undefined) return invalid(fault);
      const { rows, rowCount } = run(query, around);
      return { kind: 'rows', rows, count: rowCount, tables: tables.map(({ id }) => id) };
    } catch (error) {
      if (error instanceof SqlFailure) return invalid(error.message);
      throw error;
    }
  };
}

/** Queries are prepared once: a view mostly returns the same text. Plans do not depend on rows. */
class PreparedQueries {
  #schema: SqlSchema | undefined;
  #queries = new StatementCache<CompiledRead>();

  get(text: string, { id, table, schema }: ServedView): CompiledRead {
    if (schema !== this.#schema) {
      this.#schema = schema;
      this.#queries = new StatementCache();
    }
    const key = `${id} ${text}`;
    const known = this.#queries.get(key);
    if (known !== undefined) return known;
    const compiled = prepareViewQuery(text, schema, { kind: 'product', elements: table.columns });
    this.#queries.put(key, compiled);
    return compiled;
  }
}

/** Runs without pauses: nothing must come between a transaction and its views. */
function run(query: CompiledRead, around: ViewQuerySurroundings) {
  const { store, clock, statementMillisMax } = around;
  const execution = new ReadExecution(query, {
    tables: { table: (id) => present(store.table(id), `table ${id} of a view's query`) },
    parameters: [],
    budget: new QueryBudget({
      now: () => clock.monotonicMillis(),
      millisMax: statementMillisMax,
      memoryBytesMax: limits.sqlMemoryBytesMax,
    }),
    nowMicros: 0n,
  });
  while (execution.run() === 'paused');
  return execution.result();
}

/** A view can depend only on rows that transactions write, and that stay. */
function faultOf(table: TableSpec, store: Store): string | undefined {
  if (table.isEvent) return `views cannot read the event table \`${table.name}\``;
  if (store.table(table.id) !== undefined) return undefined;
  return `views cannot read the system table \`${table.name}\``;
}

const noRows: ViewQueryResult = { kind: 'rows', rows: new Uint8Array(0), count: 0, tables: [] };

function invalid(message: string): ViewQueryResult {
  return { kind: 'invalid', message };
}
