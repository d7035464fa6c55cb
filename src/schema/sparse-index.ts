import { specialKindOf } from '../values/special-types.ts';
import type { Typespace } from '../values/type.ts';
import { resolveType } from '../values/typespace.ts';
import type { IndexSpec, TableSpec } from './catalog.ts';

/**
 * Whether a unique index is sparse: it has an option among its columns, and compares only rows that
 * hold a value in each of them. Any number of other rows share a key. The index of a primary key is
 * never sparse: each row has a key of its own.
 */
export function isSparse(
  { isUnique, columns }: Pick<IndexSpec, 'isUnique' | 'columns'>,
  table: Pick<TableSpec, 'columns' | 'primaryKey'>,
  types: Typespace,
): boolean {
  if (!isUnique) return false;
  const isPrimaryKey = columns.length === 1 && columns[0] === table.primaryKey;
  if (isPrimaryKey) return false;
  return columns.some((column) => {
    const type = table.columns[column]?.type;
    return type !== undefined && specialKindOf(resolveType(type, types)) === 'option';
  });
}
