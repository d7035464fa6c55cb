import { queryOfTable, type TableQuery } from '../declare/query.ts';
import { and, type BooleanExpr } from '../declare/query-expression.ts';
import { Range } from '../declare/range.ts';
import type { ModuleNames, NamedIndex, NamedTable } from './module-names.ts';

/** A row in the module's own spelling. */
export type ModuleRow = Readonly<Record<string, unknown>>;

/** Reads the rows of `sql`, which are whole rows of `table`. */
export type ReadRows = (sql: string, table: NamedTable) => Promise<ModuleRow[]>;
/** Reads the only column of the only row of `sql`. */
export type ReadCount = (sql: string) => Promise<bigint>;

export interface TableReads {
  readonly rows: ReadRows;
  readonly count: ReadCount;
}

/**
 * `db.tables`: each is a query, which has the methods that read rows and the look-ups by indexes in
 * addition. `module-types.ts` says what compiles.
 */
export function tablesOf(names: ModuleNames, reads: TableReads): object {
  const items = [...names.tables].map(([path, table]) => [path, tableOf(table, reads)] as const);
  return nested(items, 'table');
}

/**
 * `a.b` as `{ a: { b } }`. A name that is not there is an error that says so: in JavaScript, the
 * compiler does not find it.
 */
export function nested(items: Iterable<readonly [string, object]>, what: string): object {
  const root: Record<string, object> = {};
  const groups = [{ path: '', group: root }];
  for (const [path, item] of items) {
    const keys = path.split('.');
    const last = keys.pop() ?? '';
    let group = root;
    for (const [at, key] of keys.entries()) {
      const found = group[key];
      if (found === undefined) {
        const made: Record<string, object> = {};
        groups.push({ path: `${keys.slice(0, at + 1).join('.')}.`, group: made });
        group[key] = made;
        group = made;
      } else group = found as Record<string, object>;
    }
    group[last] = item;
  }
  for (const { path, group } of groups) refuseOthers(group, path, what);
  return root;
}

/** By the prototype, so that what is there costs nothing. */
function refuseOthers(group: object, path: string, what: string): void {
  const known = Object.keys(group).map((name) => `\`${path}${name}\``);
  const refusing = new Proxy(Object.prototype, {
    get: (target, key, receiver) => {
      if (typeof key === 'symbol' || key in target || key === 'then') {
        return Reflect.get(target, key, receiver);
      }
      const list = known.length === 0 ? 'it has none' : `it has ${known.join(', ')}`;
      throw new TypeError(`the module has no ${what} \`${path}${key}\`; ${list}`);
    },
  });
  Object.setPrototypeOf(group, refusing);
}

function tableOf(table: NamedTable, { rows, count }: TableReads): TableQuery {
  const query = queryOfTable(table.name, table.columns);
  const lookups = table.indexes.map((index) => {
    const within = (bounds: unknown) => {
      const condition = conditionOf(query.source.row, index, bounds);
      return rows(query.where(() => condition).toSql(), table);
    };
    const find = async (key: unknown) => {
      // An option without a value is no key.
      if (index.columns.length === 1 && (key ?? undefined) === undefined) return null;
      return (await within(key))[0] ?? null;
    };
    return [index.accessor, index.isUnique ? { find } : { filter: within }] as const;
  });
  const all = query.toSql();
  return Object.assign(query, {
    count: () => count(all.replace('SELECT *', 'SELECT COUNT(*) AS n')),
    iter: () => rows(all, table),
    ...Object.fromEntries(lookups),
  });
}

/** Leading columns by value; the last one given can be a range. */
function conditionOf(
  row: Readonly<Record<string, object>>,
  { accessor, columns }: NamedIndex,
  bounds: unknown,
): BooleanExpr {
  const values = columns.length > 1 && Array.isArray(bounds) ? bounds : [bounds];
  if (values.length > columns.length) {
    throw new TypeError(`${accessor}: ${values.length} values for ${columns.length} columns`);
  }
  return and(
    ...values.flatMap((value, at) => {
      const column = row[columns[at] ?? ''] as Comparisons;
      return value instanceof Range ? ends(column, value) : [equals(column, value)];
    }),
  );
}

type Comparisons = Readonly<
  Record<'eq' | 'gt' | 'gte' | 'lt' | 'lte', (value: unknown) => BooleanExpr>
> & { isNull(): BooleanExpr };

function equals(column: Comparisons, value: unknown): BooleanExpr {
  return value === undefined || value === null ? column.isNull() : column.eq(value);
}

function ends(column: Comparisons, { from, to }: Range<unknown>): BooleanExpr[] {
  const lower = from.tag === 'included' ? 'gte' : 'gt';
  const upper = to.tag === 'included' ? 'lte' : 'lt';
  return [
    ...(from.tag === 'unbounded' ? [] : [column[lower](from.value)]),
    ...(to.tag === 'unbounded' ? [] : [column[upper](to.value)]),
  ];
}
