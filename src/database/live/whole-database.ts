import { quotedName } from '../../schema/quoted-name.ts';
import { isVisible, type Rights } from '../../sql/rights.ts';
import type { SqlSchema } from '../../sql/schema.ts';

/** True for `SELECT * FROM *`: everything that the caller can read. */
export function isOfAll(sql: string): boolean {
  return /^select\s*\*\s*from\s*\*$/i.test(sql);
}

/**
 * One query for each table and view of the program that the caller can read at this moment, except
 * event tables.
 */
export function expandAll(schema: SqlSchema, rights: Rights): readonly string[] {
  return schema.tables
    .filter(({ kind, isEvent }) => kind !== 'system' && !isEvent)
    .filter((table) => isVisible(table, rights))
    .map(({ name }) => `SELECT * FROM ${quotedName(name)}`);
}
