import type { Typespace } from '../values/type.ts';
import { typesEqual } from '../values/typespace.ts';
import type { ColumnSpec, ViewSpec } from './catalog.ts';

/**
 * The parts of a view that clients know, except its name: if any of them changes, it is another
 * view. Definitions are such signatures; views take no parameters.
 */
export interface ViewSignature {
  readonly isAnonymous: boolean;
  readonly columns: readonly ColumnSpec[];
  /** Name of the key column. */
  readonly primaryKey: string | undefined;
}

export function signatureOf({ isAnonymous, columns, primaryKey }: ViewSpec): ViewSignature {
  return { isAnonymous, columns, primaryKey: columns[primaryKey ?? -1]?.name };
}

/** Columns are compared by canonical name, place and structure of their types. */
export function isSameSignature(
  a: ViewSignature,
  b: ViewSignature,
  typesA: Typespace,
  typesB: Typespace,
): boolean {
  const isSameKind = a.isAnonymous === b.isAnonymous && a.primaryKey === b.primaryKey;
  if (!isSameKind || a.columns.length !== b.columns.length) return false;
  return a.columns.every((column, position) => {
    const other = b.columns[position];
    if (other === undefined || column.name !== other.name) return false;
    return typesEqual(column.type, other.type, typesA, typesB);
  });
}
