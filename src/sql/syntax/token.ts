/**
 * The tokens that the lexer makes of a statement.
 *
 * | kind | text |
 * |---|---|
 * | `word` | an unquoted name or keyword, case kept |
 * | `quotedWord` | a name in double quotes, unquoted |
 * | `number` | digits as written, without a trailing `L` |
 * | `string` | contents, quotes undone |
 * | `hex` | digits without prefix (not checked: `X'zz'` is a token too) |
 * | `exotic` | a kind of literal that is refused, as written: `E'…'`, `N'…'`, `$$…$$` |
 * | `placeholder` | `?`, `$1`, as written |
 * | `symbol` | an operator or a punctuation mark |
 * | `end` | nothing; always the last token |
 */
export type TokenKind =
  | 'word'
  | 'quotedWord'
  | 'number'
  | 'string'
  | 'hex'
  | 'exotic'
  | 'placeholder'
  | 'symbol'
  | 'end';

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  /** A `word` in upper case, for comparing with keywords; empty for every other kind. */
  readonly keyword: string;
  /** Its bounds in the statement, in UTF-16 units. */
  readonly start: number;
  readonly end: number;
}
