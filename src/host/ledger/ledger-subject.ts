import { cutText, shownStatement } from '../../database/shown-statement.ts';
import { limits } from '../../limits.ts';
import type { LedgerAction } from './ledger-entry.ts';

/** Whether the subject of an action is a statement, as its caller wrote it. */
export function isStatement(action: LedgerAction): boolean {
  return action === 'sql' || action === 'subscribe';
}

/** A statement with `?` for its literals. */
export function statementSubject(sql: string): string {
  const known = shownTexts.get(sql);
  if (known !== undefined) return known;
  const shown = shownStatement(sql, limits.ledgerSubjectCharactersMax);
  if (sql.length > shownKeyCharactersMax) return shown;
  const [oldest] = shownTexts.keys();
  if (shownTexts.size >= shownTextsMax && oldest !== undefined) shownTexts.delete(oldest);
  shownTexts.set(sql, shown);
  return shown;
}

const shownTexts = new Map<string, string>();
const shownTextsMax = 256;
const shownKeyCharactersMax = 2_000;

/** The name of a function or of a table; a caller can ask for one by any name. */
export function nameSubject(name: string): string {
  return cutText(name, limits.ledgerSubjectCharactersMax);
}
