import { limits } from '../../limits.ts';
import { invalid } from '../failure.ts';
import type { Statement } from './ast.ts';
import { unsupported } from './parse-expression.ts';
import { parseSelect } from './parse-select.ts';
import { parseDelete, parseInsert, parseSet, parseShow, parseUpdate } from './parse-write.ts';
import { TokenReader } from './token-reader.ts';
import { otherStatementWords } from './words.ts';

/**
 * Reads the one statement of a request; semicolons around it are fine.
 *
 * Throws `SqlFailure` for a text that is too long, for a syntax error anywhere in it, and for no or
 * more than one statement. Never recurses deeper than the limit for parentheses.
 */
export function parse(sql: string): Statement {
  refuseLongText(sql);
  const reader = new TokenReader(sql);
  const statements: Statement[] = [];
  for (;;) {
    while (reader.takeSymbol(';'));
    if (reader.isAtEnd()) break;
    statements.push(parseStatement(reader));
    if (!reader.isAtEnd()) throw reader.expected('end of statement');
  }
  const [first, second] = statements;
  if (first === undefined) throw invalid('Empty SQL query');
  if (second !== undefined) throw invalid('Multiple SQL statements are not supported');
  return first;
}

function refuseLongText(sql: string): void {
  // A UTF-16 unit is one to three bytes of UTF-8, so most texts need not be encoded to be measured.
  if (sql.length * 3 <= limits.sqlBytesMax) return;
  const isLong =
    sql.length > limits.sqlBytesMax || new TextEncoder().encode(sql).length > limits.sqlBytesMax;
  if (!isLong) return;
  const beginning = [...sql.slice(0, 240)].slice(0, 120).join('');
  throw invalid(`SQL query exceeds maximum allowed length: "${beginning}..."`);
}

function parseStatement(reader: TokenReader): Statement {
  switch (reader.current.keyword) {
    case 'SELECT':
      return parseSelect(reader);
    case 'INSERT':
      return parseInsert(reader);
    case 'UPDATE':
      return parseUpdate(reader);
    case 'DELETE':
      return parseDelete(reader);
    case 'SET':
      return parseSet(reader);
    case 'SHOW':
      return parseShow(reader);
    default:
  }
  const isKnown = reader.isOneOf(otherStatementWords) || reader.isSymbol('(');
  if (!isKnown) throw reader.expected('an SQL statement');
  const start = reader.mark();
  reader.skipToEnd();
  return unsupported(`Unsupported: ${reader.textSince(start)}`);
}
