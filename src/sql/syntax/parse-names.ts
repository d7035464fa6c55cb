import type { TokenReader } from './token-reader.ts';
import { notColumnAlias, notRelationAlias } from './words.ts';

export function isName(reader: TokenReader, distance = 0): boolean {
  const { kind } = reader.peek(distance);
  return kind === 'word' || kind === 'quotedWord';
}

/** `[AS] name`; without AS it must not be one of `except`. */
export function parseAlias(reader: TokenReader, except: ReadonlySet<string>): string | undefined {
  if (isAsOfAhead(reader)) return undefined;
  if (reader.takeWord('AS')) return reader.expectName();
  if (!isName(reader) || reader.isOneOf(except)) return undefined;
  if (reader.isReturningKept && reader.isWord('RETURNING')) return undefined;
  return reader.expectName();
}

const symbolsAtPosition = new Set(['(', '-', '+', ':']);

/** Whether this is the clause; `t AS of` is an alias if the query continues or ends after it. */
export function isAsOfAhead(reader: TokenReader): boolean {
  if (!reader.isWord('AS') || !reader.isWord('OF', 1)) return false;
  const { kind, keyword, text } = reader.peek(2);
  if (kind === 'end') return false;
  if (kind === 'symbol') return symbolsAtPosition.has(text);
  return !notRelationAlias.has(keyword) && !notColumnAlias.has(keyword);
}

/** `t.*`, `lib.t.*`: the name before the star. */
export function takeRelationWildcard(reader: TokenReader): string | undefined {
  let length = 0;
  while (isName(reader, length) && reader.isSymbol('.', length + 1)) {
    length += 2;
    if (!reader.isSymbol('*', length)) continue;
    let name = reader.expectName();
    for (reader.advance(); !reader.takeSymbol('*'); reader.advance()) {
      name += `.${reader.expectName()}`;
    }
    return name;
  }
  return undefined;
}
