import { typedText } from '../../parts/values.ts';
import type { Json } from '../../service/json.ts';
import type { TableSchema } from '../../service/schema.ts';
import type { Field } from '../../service/types.ts';
import { pageAddress } from '../../shell/router.tsx';
import { filterText } from './grid-query.ts';

/** A column that names a row of another table. */
export interface Reference {
  readonly table: string;
  readonly column: string;
}

/**
 * The table that a column leads to: `customer_id` to the key of `customer` (or `customers`), an
 * identity to a table whose key is an identity. What the types do not bear out is no reference.
 */
export function referenceOf(
  field: Field,
  own: TableSchema,
  tables: readonly TableSchema[],
): Reference | null {
  const [, stem] = /^(.+?)_id$/.exec(field.name) ?? [];
  const type = field.type.kind === 'option' ? field.type.some() : field.type;
  const candidates = tables.filter((table) => {
    const key = table.columns.find(({ name }) => name === table.primaryKey);
    if (key === undefined || key.type.kind !== type.kind) return false;
    if (table.name === own.name && key.name === field.name) return false;
    if (stem !== undefined) return [stem, `${stem}s`, `${stem}es`].includes(table.name);
    return type.kind === 'identity';
  });
  const [found] = candidates;
  if (found === undefined || found.primaryKey === null) return null;
  return { table: found.name, column: found.primaryKey };
}

/** The address of the row that a value leads to; `null` where there is none. */
export function followAddress(
  database: string,
  field: Field,
  value: Json | undefined,
  reference: Reference,
): string | null {
  const text = typedText(field.type, value);
  if (text === '') return null;
  const where = filterText({ column: reference.column, operator: '=', text });
  return pageAddress(database, 'data', { table: reference.table, where });
}
