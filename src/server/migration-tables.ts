import type { Range } from '../declare/range.ts';
import type { RouteTable } from '../schema/migration-route.ts';
import type { Typespace } from '../values/type.ts';
import type { Bridge } from './bridge.ts';
import type { ReadonlyTableMethods, TableMethods } from './handles.ts';
import { filledRow, fillsOf } from './migration-fill.ts';
import type { RowIterator } from './row-iterator.ts';
import type { Row } from './table-access.ts';
import { handlesOf, type TableHandles } from './table-handle.ts';

/** Tables of a migration by name, to read. */
export type OldTables<Tables> = { readonly [Name in keyof Tables]: OldTable<Tables[Name]> };

/** Tables of a migration by name, to read and write. */
export type NewTables<Tables> = { readonly [Name in keyof Tables]: NewTable<Tables[Name]> };

/** Where the type of rows is not known, neither is that of what finds them. */
type IsLoose<Value> = 0 extends Value & 1 ? true : false;

/** The rows of a table, and by the accessor of each index what finds rows by it. */
export type OldTable<Columns> =
  IsLoose<Columns> extends true
    ? any
    : ReadonlyTableMethods<Columns> & {
        readonly [Name in Exclude<keyof Columns, keyof ReadonlyTableMethods<Columns>>]: OldIndex<
          Columns,
          Columns[Name]
        >;
      };

export type NewTable<Columns> =
  IsLoose<Columns> extends true
    ? any
    : TableMethods<Columns, Columns, Partial<Columns>> & {
        readonly [Name in Exclude<keyof Columns, keyof TableMethods<Columns, Columns>>]: NewIndex<
          Columns,
          Columns[Name]
        >;
      };

/** `find` where the index is unique, `filter` where it is not. */
export interface OldIndex<Found, Key> {
  find(key: Key): Found | null;
  filter(bounds: Key | Range<Key>): RowIterator<Found>;
}

export interface NewIndex<Found, Key> extends OldIndex<Found, Key> {
  update(row: Found): Found;
  delete(bounds: Key | Range<Key>): boolean | number;
}

/** The handles of tables, those of submodules inside their namespace. */
export function migrationTables(
  bridge: Bridge,
  tables: readonly RouteTable[],
  access: 'read' | 'write',
): object {
  const root: Record<string, unknown> = {};
  for (const table of tables) {
    const path = table.name.split('.');
    const key = path.pop() ?? '';
    let inside = root;
    for (const namespace of path) {
      inside[namespace] ??= {};
      inside = inside[namespace] as Record<string, unknown>;
    }
    inside[key] = withoutIndexes(table, handles(bridge, table)[access]);
  }
  return root;
}

function handles(bridge: Bridge, table: RouteTable): TableHandles {
  const { name, host, row, counted, indexes } = table;
  const typespace: Typespace = table;
  const rowType = row.kind === 'ref' ? typespace.types[row.ref] : row;
  if (rowType?.kind !== 'product') throw new TypeError(`table ${name} has no columns`);
  const fills = fillsOf(table.fill, typespace);
  return handlesOf(bridge, {
    name,
    host,
    rowType,
    typespace,
    isEvent: false,
    sequences: rowType.elements.flatMap(({ name: column, type }) => {
      return column !== undefined && counted.includes(column) ? [{ name: column, type }] : [];
    }),
    fill: (given) => filledRow(given, fills),
    refusalOf: (_, code) => bridge.error(code),
    indexes: indexes.map(({ host: index, ...shape }) => {
      return { index: { ...shape, name: undefined }, host: index };
    }),
  });
}

/** A column without an index has an accessor that says so. */
function withoutIndexes({ name, row, types }: RouteTable, handle: Row): Row {
  const rowType = row.kind === 'ref' ? types[row.ref] : row;
  const elements = rowType?.kind === 'product' ? rowType.elements : [];
  const refusals = elements.flatMap(({ name: column = '' }) => {
    if (column in handle) return [];
    const refuse = (): never => {
      throw new TypeError(`table ${name} has no index on ${column}: go through iter()`);
    };
    return [[column, { find: refuse, filter: refuse, update: refuse, delete: refuse }] as const];
  });
  return { ...Object.fromEntries(refusals), ...handle };
}
