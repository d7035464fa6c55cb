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
  if (stem === undefined && type.kind !== 'identity') return null;
  const keyed = keyedTables(tables);
  const candidates =
    stem === undefined
      ? keyed.ofIdentities
      : [stem, `${stem}s`, `${stem}es`].flatMap((name) => keyed.byName.get(name) ?? []);
  const found = candidates.find(({ table, column, type: keyType }) => {
    if (table === own.name && column === field.name) return false;
    return keyType === typeName(type);
  });
  return found === undefined ? null : { table: found.table, column: found.column };
}

interface KeyedTable extends Reference {
  /** The name of the key's type. */
  readonly type: string;
}

interface KeyedTables {
  readonly byName: ReadonlyMap<string, KeyedTable>;
  readonly ofIdentities: readonly KeyedTable[];
}

const known = new WeakMap<readonly TableSchema[], KeyedTables>();

/** The tables with a key, found once for each schema: one of thousands of tables stays quick. */
function keyedTables(tables: readonly TableSchema[]): KeyedTables {
  const before = known.get(tables);
  if (before !== undefined) return before;
  const keyed = tables.flatMap((table): KeyedTable[] => {
    const key = table.columns.find(({ name }) => name === table.primaryKey);
    if (key === undefined) return [];
    return [{ table: table.name, column: key.name, type: typeName(key.type) }];
  });
  const found = {
    byName: new Map(keyed.map((each) => [each.table, each])),
    ofIdentities: keyed.filter(({ type }) => type === 'identity'),
  };
  known.set(tables, found);
  return found;
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
