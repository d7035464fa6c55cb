import { isVisible, type Rights } from '../sql/rights.ts';
import type { SqlSchema } from '../sql/schema.ts';
import type { Table } from '../store/table.ts';

/** A table whose rows a filter may hide from the caller counts as a private table. */
export function isReadable(schema: SqlSchema, rights: Rights, { spec }: Table): boolean {
  return isVisible(spec, rights) && (rights.bypassesFilters || !schema.filters.has(spec.id));
}
