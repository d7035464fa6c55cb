import type { SqlError } from '../database/outcome.ts';

/** A place in the text of a statement, as editors need it. */
export interface SqlPosition {
  /** UTF-16 units before it. */
  readonly offset: number;
  /** Counted from 1, columns in characters. */
  readonly line: number;
  readonly column: number;
}

/** Where an error is in the text that was sent; `undefined` where that is not known. */
export function positionIn(sql: string, error: SqlError): SqlPosition | undefined {
  if (!('place' in error) || error.place === undefined) return undefined;
  const { line, column } = error.place;
  let offset = 0;
  for (let passed = 1; passed < line; passed += 1) {
    const end = sql.indexOf('\n', offset);
    if (end === -1) return { offset: sql.length, line, column };
    offset = end + 1;
  }
  for (let passed = 1; passed < column && offset < sql.length; passed += 1) {
    offset += (sql.codePointAt(offset) ?? 0) > 0xffff ? 2 : 1;
  }
  return { offset, line, column };
}
