import { isTypedQuery, queryOfTable, queryOfUnknownTable, TableQuery } from '../declare/query.ts';
import type { ClientSchema } from './client-schema.ts';
import { SchemaMismatchError } from './errors.ts';
import { kept } from './kept.ts';
import { type SqlParameters, withParameters } from './sql-parameters.ts';

/**
 * The queries that a program passes: SQL, a query, a function that returns one, or several of
 * these.
 */
export type GivenQueries = unknown;

/** The SQL texts of `given`. `roots` is passed to functions. */
export function sqlOf(given: GivenQueries, roots: unknown): readonly string[] {
  const made = typeof given === 'function' ? given(roots) : given;
  const queries = listOf(made);
  if (queries.length === 0) throw new TypeError('Subscriptions must have at least one query');
  return queries.map((query) => {
    if (typeof query === 'string') return query;
    if (isTypedQuery(query)) return query.toSql();
    throw new TypeError('Subscriptions must be SQL strings or typed queries');
  });
}

export function listOf(given: unknown): readonly unknown[] {
  return Array.isArray(given) ? given : [given];
}

/** Fills the values of parameters into SQL texts. */
export function withValues(given: GivenQueries, params: SqlParameters | undefined): GivenQueries {
  if (params === undefined) return given;
  const texts = listOf(given);
  if (texts.every((text) => typeof text === 'string')) return withParameters(texts, params);
  throw new TypeError('`params` are for SQL texts only');
}

const rootsBySchema = new WeakMap<ClientSchema, object>();

/** Starting points of queries over all tables of a database; unknown ones and columns throw. */
export function rootsOf(schema: ClientSchema): object {
  return kept(rootsBySchema, schema, () => {
    const items = [...schema.tables.values()].map(({ parts: { accessor, name, columns } }) => {
      const { source } = queryOfTable(name, columns);
      const row = checked(source.row, `${accessor}.`, 'column');
      return [accessor, new TableQuery({ name, row })] as const;
    });
    return checked(nested(items), '', 'table');
  });
}

/**
 * A key that distinguishes queries before the schema is known: their SQL with the names that the
 * program uses. Equal queries give the same text, queries with different values never do.
 */
export function keyOf(given: GivenQueries): string {
  return sqlOf(given, unknownRoots('')).join('\n');
}

function unknownRoots(path: string): object {
  const query = queryOfUnknownTable(path);
  return new Proxy(query, {
    get: (target, key) => {
      const value = (target as unknown as Record<PropertyKey, unknown>)[key];
      if (typeof value === 'function') return value.bind(target);
      if (value !== undefined || typeof key === 'symbol') return value;
      return unknownRoots(path === '' ? key : `${path}.${key}`);
    },
  });
}

/** `a.b` as `{ a: { b } }`. */
export function nested<Item>(items: Iterable<readonly [string, Item]>): Record<string, any> {
  const root: Record<string, any> = {};
  for (const [path, item] of items) {
    const keys = path.split('.');
    const last = keys.pop() ?? '';
    let place = root;
    for (const key of keys) {
      place[key] ??= {};
      place = place[key];
    }
    place[last] = item;
  }
  return root;
}

/** Throws on access to a missing item; `path` precedes its name. */
function checked<Items extends object>(items: Items, path: string, what: string): Items {
  return new Proxy(items, {
    get: (target, key) => {
      if (typeof key === 'string' && !(key in target)) {
        throw new SchemaMismatchError(path + key, `has no ${what}`);
      }
      return Reflect.get(target, key);
    },
  });
}
