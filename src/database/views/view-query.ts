import { present } from '../../assert.ts';
import { limits } from '../../limits.ts';
import { LiveSchema } from '../../live/live-schema.ts';
import { type SetForm, SetQuery, unfollowedReason } from '../../live/set-query.ts';
import type { TableSpec } from '../../schema/catalog.ts';
import type { TableId } from '../../schema/ids.ts';
import { QueryBudget } from '../../sql/budget.ts';
import type { TypedRead } from '../../sql/check/typed.ts';
import { SqlFailure } from '../../sql/failure.ts';
import { checkSharedViewQuery, prepareViewQuery, sharedViewText } from '../../sql/published.ts';
import { type CompiledRead, ReadExecution } from '../../sql/run/execution.ts';
import type { SqlSchema } from '../../sql/schema.ts';
import { StatementCache } from '../../sql/statement-cache.ts';
import type { Store } from '../../store/store.ts';
import { type CallerIdentity, callerIdentity } from '../../values/identity-roles.ts';
import { specialKindOf } from '../../values/special-types.ts';
import type { ProductType } from '../../values/type.ts';
import type { ServedView } from './served-views.ts';

/** Runs the query that a view returned to a caller, or to all, instead of rows. */
export type ViewQueryRunner = (
  text: string,
  view: ServedView,
  sender: CallerIdentity | undefined,
) => ViewQueryResult;

export type ViewQueryResult =
  | {
      readonly kind: 'rows';
      readonly rows: Uint8Array;
      readonly count: number;
      /** Ids of the tables it read. */
      readonly tables: readonly TableId[];
      /** How the rows are kept up to date; `undefined`: there are none, whatever changes. */
      readonly form: SetForm | undefined;
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
  return (text, view, sender) => {
    if (text.trim() === '') return noRows;
    try {
      const query = queries.get(text, view);
      const { tables } = query.compiled.plan;
      const fault = tables.map((table) => faultOf(table, around.store)).find(Boolean);
      if (fault !== undefined) return invalid(fault);
      const { rows, rowCount } = run(query.compiled, around);
      const form = queries.formOf(text, query, view, sender);
      return { kind: 'rows', rows, count: rowCount, tables: tables.map(({ id }) => id), form };
    } catch (error) {
      if (error instanceof SqlFailure) return invalid(error.message);
      throw error;
    }
  };
}

interface PreparedViewQuery {
  readonly typed: TypedRead;
  readonly compiled: CompiledRead;
}

/** Queries are prepared once: a view mostly returns the same text. Plans do not depend on rows. */
class PreparedQueries {
  #schema: SqlSchema | undefined;
  #live: LiveSchema | undefined;
  #queries = new StatementCache<PreparedViewQuery>();
  /** By view and text, as `sharedKey` and `ownKey` say. */
  #forms = new StatementCache<SetForm>();

  get(text: string, { id, table, schema }: ServedView): PreparedViewQuery {
    if (schema !== this.#schema) {
      this.#schema = schema;
      this.#live = new LiveSchema(schema);
      this.#queries = new StatementCache();
      this.#forms = new StatementCache();
    }
    const key = `${id} ${text}`;
    const known = this.#queries.get(key);
    if (known !== undefined) return known;
    const prepared = prepareViewQuery(text, schema, rowTypeOf(table));
    this.#queries.put(key, prepared);
    return prepared;
  }

  /** `query` is what `get` has just returned. */
  formOf(
    text: string,
    { typed }: PreparedViewQuery,
    view: ServedView,
    sender: CallerIdentity | undefined,
  ): SetForm {
    const shared = sender === undefined ? text : sharedViewText(text, sender);
    const known = this.#forms.get(sharedKey(view, shared)) ?? this.#forms.get(ownKey(view, text));
    if (known !== undefined) return known;
    const sharable = shared === text ? undefined : sharedRead(shared, view);
    const read = sharable ?? typed;
    const query = new SetQuery(read, present(this.#live, 'the schema of the query'));
    const reason = unfollowedReason(query.fragmentFor(sender ?? nobody));
    const form: SetForm =
      reason === undefined ? { kind: 'followed', query } : { kind: 'rerun', reason };
    // What is not the same for all callers is kept for those who return the very text.
    this.#forms.put(sharable === undefined ? ownKey(view, text) : sharedKey(view, shared), form);
    return form;
  }
}

/** Of a text in which the caller is `:sender`: it is the same query for all callers. */
function sharedKey({ id }: ServedView, text: string): string {
  return `${id} shared ${text}`;
}

/** Of a text as it is, which may say who the caller is. */
function ownKey({ id }: ServedView, text: string): string {
  return `${id} own ${text}`;
}

/** `undefined` where `:sender` would not mean what the identity did in its place. */
function sharedRead(text: string, { schema, table }: ServedView): TypedRead | undefined {
  try {
    const read = checkSharedViewQuery(text, schema, rowTypeOf(table));
    const isOfIdentities = read.parameters.every(({ type }) => specialKindOf(type) === 'identity');
    return isOfIdentities ? read : undefined;
  } catch (error) {
    if (error instanceof SqlFailure) return undefined;
    throw error;
  }
}

function rowTypeOf({ columns }: TableSpec): ProductType {
  return { kind: 'product', elements: columns };
}

/** Stands for the caller of a query that has none. */
const nobody = callerIdentity(0n);

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

const noRows: ViewQueryResult = {
  kind: 'rows',
  rows: new Uint8Array(0),
  count: 0,
  tables: [],
  form: undefined,
};

function invalid(message: string): ViewQueryResult {
  return { kind: 'invalid', message };
}
