import { limits } from '../limits.ts';
import { SqlFailure } from '../sql/failure.ts';
import { type LiteralText, literalTextOf } from '../sql/literal-text.ts';
import type { StatementCaller } from '../sql/rights.ts';
import type { SqlSchema, SqlTables } from '../sql/schema.ts';
import {
  checkShared,
  fitsShared,
  type SharedShape,
  sharedKeyOf,
  sharedShapeOf,
  sharedValuesOf,
} from '../sql/shared-statement.ts';
import { checkStatement, isStale, type PreparedStatement, prepare } from '../sql/statement.ts';
import { StatementCache } from '../sql/statement-cache.ts';
import type { SqlParameters, SqlRequest } from './outcome.ts';
import type { CallerTables } from './views/caller-tables.ts';

/** The tables of a caller, whose views are evaluated before a statement is planned. */
type PreparingTables = SqlTables & Pick<CallerTables, 'prepareViews'>;

/** What of a request decides its statement. */
type Asked = Pick<SqlRequest, 'sql' | 'parameters'> & { readonly caller: StatementCaller };

/** A statement ready to run, with the values of its parameters. */
export interface FoundStatement {
  readonly statement: PreparedStatement;
  readonly parameters: SqlParameters;
}

/**
 * Statements ready to run, by their text, for one version of the schema. A prepared statement
 * serves every caller with the same rights: the caller and the parameters are given when it runs.
 * Texts that differ only in literals share a statement, in which these are parameters.
 */
export class PreparedStatements {
  readonly #schema: SqlSchema;
  readonly #cache = new StatementCache<PreparedStatement>();
  readonly #shapes = new StatementCache<SharedShape>();
  readonly #shared = new StatementCache<PreparedStatement>();

  constructor(schema: SqlSchema) {
    this.#schema = schema;
  }

  /**
   * The statement of a request; the views that it reads are evaluated for the caller. Throws
   * `SqlFailure`.
   */
  get(request: Asked, tables: PreparingTables): FoundStatement {
    const { parameters = noParameters } = request;
    const key = `${request.caller.rights.key} ${request.sql}`;
    const known = this.#current(this.#cache.get(key), parameters, tables);
    if (known !== undefined) return { statement: known, parameters };
    const shared = this.#sharedStatement(request, tables);
    if (shared !== undefined) return shared;
    const checked = checkStatement(request.sql, this.#scopeOf(request));
    tables.prepareViews(checked.typed.views);
    const statement = prepare(checked, tables);
    this.#cache.put(key, statement);
    return { statement, parameters };
  }

  /** `undefined`: it must be prepared by itself, which also tells what is wrong with it. */
  #sharedStatement(request: Asked, tables: PreparingTables): FoundStatement | undefined {
    // A long text is not kept, and one that is too long is refused before anything reads it.
    if (request.sql.length > limits.sqlCachedTextLengthMax) return undefined;
    const text = literalTextOf(request.sql);
    if (text === undefined) return undefined;
    const shapeKey = `${request.caller.rights.key} ${text.key}`;
    const shape = this.#shapes.get(shapeKey) ?? this.#shapeOf(shapeKey, request.sql, text);
    if (shape === undefined || shape.values.length === 0) return undefined;
    const values = sharedValuesOf(text, shape);
    const parameters = new Map([...(request.parameters ?? []), ...values]);
    const key = `${request.caller.rights.key} ${sharedKeyOf(text, shape)}`;
    const known = this.#current(this.#shared.get(key), parameters, tables);
    if (known !== undefined) {
      return fitsShared(known, values) ? { statement: known, parameters } : undefined;
    }
    try {
      const checked = checkShared(request.sql, shape, this.#scopeOf(request));
      if (!fitsShared(checked, values)) return undefined;
      tables.prepareViews(checked.typed.views);
      const statement = prepare(checked, tables);
      this.#shared.put(key, statement);
      return { statement, parameters };
    } catch (error) {
      if (!(error instanceof SqlFailure)) throw error;
      this.#shapes.put(shapeKey, { values: [], fixed: [] });
      return undefined;
    }
  }

  #shapeOf(key: string, sql: string, text: LiteralText): SharedShape | undefined {
    try {
      const shape = sharedShapeOf(sql, text);
      this.#shapes.put(key, shape);
      return shape;
    } catch (error) {
      if (error instanceof SqlFailure) return undefined;
      throw error;
    }
  }

  /** What was prepared, if it has all values and its plan is still good. */
  #current(
    known: PreparedStatement | undefined,
    parameters: SqlParameters,
    tables: PreparingTables,
  ): PreparedStatement | undefined {
    if (known === undefined || !hasAllValues(known, parameters)) return undefined;
    tables.prepareViews(known.typed.views);
    return isStale(known, tables) ? undefined : known;
  }

  #scopeOf({ caller, parameters }: Asked) {
    return { schema: this.#schema, caller, parameterNames: new Set(parameters?.keys()) };
  }
}

/** The check rejects a request that leaves a parameter without a value, with its own message. */
function hasAllValues({ typed }: PreparedStatement, parameters: SqlParameters): boolean {
  return typed.parameters.every(({ name }) => name === undefined || parameters.has(name));
}

const noParameters: SqlParameters = new Map();
