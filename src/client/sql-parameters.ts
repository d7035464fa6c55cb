import { literalToSql } from '../declare/query-expression.ts';
import type { LiteralValue } from '../declare/query-types.ts';

/**
 * The values of `:name` in a SQL text.
 *
 * @example
 * ```ts
 * const params: SqlParameters = { room: 'hall', since: Timestamp.now() };
 * const rows = await client.query('SELECT * FROM shout WHERE room = :room AND sent_at > :since', {
 *   params,
 * });
 * ```
 */
export type SqlParameters = Readonly<Record<string, SqlParameter>>;

/**
 * A value that a SQL literal can represent.
 *
 * @example
 * ```ts
 * const key: SqlParameter = new Uint8Array([1, 2, 3]);
 * ```
 */
export type SqlParameter = LiteralValue | Uint8Array | null;

/**
 * Strings, quoted names, comments and casts contain no parameters; `/*` opens a comment that may
 * nest.
 */
const tokens =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*|::|:([\p{Alphabetic}_][\p{Alphabetic}\d_$]*)/gu;
const commentMarks = /\/\*|\*\//g;

/**
 * The texts with each `:name` replaced by a literal, except `:sender`, which the server fills in.
 * Throws `TypeError` for names without a value and for values that no text uses.
 */
export function withParameters(texts: readonly string[], params: SqlParameters): string[] {
  const unused = new Set(Object.keys(params));
  if (unused.has('sender')) throw new TypeError('`:sender` is the caller: no value can be given');
  const written = texts.map((text) => {
    return replaceNames(text, (name) => {
      unused.delete(name);
      return literalOf(name, params);
    });
  });
  if (unused.size > 0) {
    throw new TypeError(`the query has no \`:${[...unused].join('`, `:')}\` for a parameter`);
  }
  return written;
}

function replaceNames(sql: string, literal: (name: string) => string): string {
  let text = '';
  let from = 0;
  tokens.lastIndex = 0;
  for (let found = tokens.exec(sql); found !== null; found = tokens.exec(sql)) {
    const [token, name] = found;
    if (token === '/*') tokens.lastIndex = endOfComment(sql, found.index);
    if (name === undefined || name === 'sender') continue;
    text += sql.slice(from, found.index) + literal(name);
    from = tokens.lastIndex;
  }
  return text + sql.slice(from);
}

function literalOf(name: string, params: SqlParameters): string {
  const value = Object.hasOwn(params, name) ? params[name] : undefined;
  if (value === undefined) throw new TypeError(`the query needs a parameter \`${name}\``);
  if (value === null) return 'NULL';
  if (value instanceof Uint8Array) {
    return `X'${Array.from(value, (byte) => byte.toString(16).padStart(2, '0')).join('')}'`;
  }
  try {
    const literal = literalToSql(value);
    // Two dashes in a row would begin a comment.
    return literal.startsWith('-') ? ` ${literal}` : literal;
  } catch (cause) {
    throw new TypeError(`parameter \`${name}\`: SQL has no literal for such a value`, { cause });
  }
}

/** Where the comment that begins at `start` ends; comments nest. */
function endOfComment(sql: string, start: number): number {
  commentMarks.lastIndex = start;
  let depth = 0;
  for (let mark = commentMarks.exec(sql); mark !== null; mark = commentMarks.exec(sql)) {
    depth += mark[0] === '/*' ? 1 : -1;
    if (depth === 0) return commentMarks.lastIndex;
  }
  return sql.length;
}
