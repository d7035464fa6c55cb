import type { SqlSchema } from '../sql/schema.ts';
import {
  type CheckedStatement,
  checkStatement,
  isStale,
  type PreparedStatement,
  prepare,
} from '../sql/statement.ts';
import { StatementCache } from '../sql/statement-cache.ts';
import type { SqlRequest } from './outcome.ts';
import type { CallerTables } from './views/caller-tables.ts';

/**
 * Statements ready to run, by their text, for one version of the schema. A prepared statement
 * serves every caller with the same rights: the caller and the parameters are given when it runs.
 */
export class PreparedStatements {
  readonly #schema: SqlSchema;
  readonly #cache = new StatementCache<PreparedStatement>();

  constructor(schema: SqlSchema) {
    this.#schema = schema;
  }

  /**
   * The statement of a request; the views that it reads are evaluated for the caller. Throws
   * `SqlFailure`.
   */
  get(request: SqlRequest, tables: CallerTables): PreparedStatement {
    const key = `${request.caller.rights.key} ${request.sql}`;
    const known = this.#cache.get(key);
    if (known !== undefined && hasAllValues(known, request)) {
      tables.prepareViews(known.typed.views);
      if (!isStale(known, tables)) return known;
    }
    const checked = this.#check(request);
    tables.prepareViews(checked.typed.views);
    const prepared = prepare(checked, tables);
    this.#cache.put(key, prepared);
    return prepared;
  }

  #check({ sql, caller, parameters }: SqlRequest): CheckedStatement {
    const parameterNames = new Set(parameters?.keys());
    return checkStatement(sql, { schema: this.#schema, caller, parameterNames });
  }
}

/** The check rejects a request that leaves a parameter without a value, with its own message. */
function hasAllValues({ typed }: PreparedStatement, { parameters }: SqlRequest): boolean {
  return typed.parameters.every(({ name }) => name === undefined || parameters?.has(name) === true);
}
