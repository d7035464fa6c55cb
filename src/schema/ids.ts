import type { Brand } from '../brand.ts';

/**
 * Ids of the things that a catalog names. Those of a module come from one counter, those of system
 * tables are constants below `firstUserId`, so none is used twice in a database; each kind has a
 * type of its own, so that an index is not looked up as a table.
 */

/**
 * Id of a table, stored or computed; also of a view's rows, which statements read like a table's.
 * A view for which every caller has rows of their own has one table for each of them.
 */
export type TableId = Brand<number, 'TableId' | 'ViewId'>;

/** Id of a view. Statements name the view's rows by it: a `ViewId` is a `TableId`. */
export type ViewId = Brand<number, 'ViewId'>;

export type IndexId = Brand<number, 'IndexId'>;

/** Mints the id of a table in a catalog, a log or a program; that it exists is not checked. */
export function tableId(raw: number): TableId {
  return raw as TableId;
}

export function viewId(raw: number): ViewId {
  return raw as ViewId;
}

export function indexId(raw: number): IndexId {
  return raw as IndexId;
}
