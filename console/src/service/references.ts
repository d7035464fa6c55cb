import type { DatabaseSchema, TableSchema } from './schema.ts';
import { type Field, typeName } from './types.ts';

/** A key of a table to which a column leads. */
export interface Reference {
  readonly table: string;
  readonly column: string;
}

/** A column, and the key to which it leads. */
export interface ColumnReference {
  readonly from: Reference;
  readonly to: Reference;
}

/**
 * The key that a column leads to, by its name and its type: `customer_id` to the key of `customer`
 * (or `customers`), an identity to a table whose key is an identity. References are not declared,
 * and what the types do not bear out is none.
 */
export function referenceOf(
  field: Field,
  own: TableSchema,
  tables: readonly TableSchema[],
): Reference | null {
  const [, stem] = /^(.+?)_id$/.exec(field.name) ?? [];
  const type = field.type.kind === 'option' ? field.type.some() : field.type;
  const found = tables.find((table) => {
    const key = table.columns.find(({ name }) => name === table.primaryKey);
    if (key === undefined || typeName(key.type) !== typeName(type)) return false;
    if (table.name === own.name && key.name === field.name) return false;
    if (stem !== undefined) return [stem, `${stem}s`, `${stem}es`].includes(table.name);
    return type.kind === 'identity';
  });
  if (found === undefined || found.primaryKey === null) return null;
  return { table: found.name, column: found.primaryKey };
}

/** Every reference of a schema. */
export function referencesOf({ tables }: DatabaseSchema): readonly ColumnReference[] {
  return tables.flatMap((table) =>
    table.columns.flatMap((field) => {
      const to = referenceOf(field, table, tables);
      return to === null ? [] : [{ from: { table: table.name, column: field.name }, to }];
    }),
  );
}
