import { limits } from '../limits.ts';
import { withoutLiterals } from '../sql/without-literals.ts';

/**
 * A statement as records show it: with `?` in place of each literal, without comments, on one line,
 * cut at `charactersMax`. Of one that cannot be read, its first word is left.
 */
export function shownStatement(sql: string, charactersMax: number): string {
  const isShort = sql.length <= limits.ledgerReadCharactersMax;
  return cutText((isShort ? withoutLiterals(sql) : undefined) ?? firstWord(sql), charactersMax);
}

/** The beginning of a text that is too long, with an ellipsis behind it. */
export function cutText(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text;
  // Half a character outside of the basic plane would not survive as UTF-8.
  const end = /[\uD800-\uDBFF]/.test(text.charAt(charactersMax - 2)) ? 2 : 1;
  return `${text.slice(0, charactersMax - end)}…`;
}

function firstWord(sql: string): string {
  return `${/^\s*([A-Za-z]{1,20})/.exec(sql)?.[1] ?? ''} …`.trim();
}
