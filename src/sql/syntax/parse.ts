import { limits } from '../../limits.ts';
import { invalid } from '../failure.ts';
import type { Statement } from './ast.ts';
import { refuseDeepTree } from './depth.ts';
import { isQueryAhead, parseQuery } from './parse-query.ts';
import {
  parseDelete,
  parseDescribe,
  parseInsert,
  parseSet,
  parseShow,
  parseUpdate,
} from './parse-write.ts';
import { unsupportedSince } from './refusal.ts';
import type { SourceText } from './source-text.ts';
import { TokenReader } from './token-reader.ts';
import { otherStatementWords } from './words.ts';

export interface Parsed {
  readonly statement: Statement;
  /** The text that the spans of `statement` refer to. */
  readonly source: SourceText;
}

/**
 * Parses the only statement of a request; semicolons around it are allowed.
 *
 * Throws `SqlFailure` for a text that is too long, for a syntax error anywhere in it, and for no or
 * more than one statement. Never recurses deeper than the limit for parentheses; the tree that it
 * returns is at most `limits.sqlDepthMax` levels deep.
 */
export function parse(sql: string): Parsed {
  refuseLongText(sql);
  const reader = new TokenReader(sql);
  const statements: Statement[] = [];
  for (;;) {
    while (reader.takeSymbol(';'));
    if (reader.isAtEnd()) break;
    statements.push(parseStatement(reader));
    if (!reader.isAtEnd()) throw reader.expected('end of statement');
  }
  const [statement, second] = statements;
  if (statement === undefined) throw invalid('Empty SQL query');
  if (second !== undefined) throw invalid('Multiple SQL statements are not supported');
  refuseDeepTree(statement);
  return { statement, source: reader.source };
}

function refuseLongText(sql: string): void {
  // A UTF-16 unit takes one to three bytes of UTF-8, so most texts need no encoding to be measured.
  if (sql.length * 3 <= limits.sqlBytesMax) return;
  const isLong =
    sql.length > limits.sqlBytesMax || new TextEncoder().encode(sql).length > limits.sqlBytesMax;
  if (!isLong) return;
  const beginning = [...sql.slice(0, 240)].slice(0, 120).join('');
  throw invalid(`SQL query exceeds maximum allowed length: "${beginning}..."`);
}

function parseStatement(reader: TokenReader): Statement {
  const start = reader.mark();
  if (reader.isWord('EXPLAIN')) return parseExplain(reader);
  const statement = parseExplainable(reader);
  if (statement !== undefined) return statement;
  if (!reader.isOneOf(otherStatementWords)) throw reader.expected('an SQL statement');
  reader.skipToEnd();
  return unsupportedSince(reader, start);
}

type Explainable = Exclude<Statement, { readonly kind: 'explain' }>;

/** Returns `undefined` if another statement, or none, follows. */
function parseExplainable(reader: TokenReader): Explainable | undefined {
  switch (reader.current.keyword) {
    case 'SELECT':
    case 'WITH':
    case 'VALUES':
      return parseQueryStatement(reader);
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
    case 'DESC':
    case 'DESCRIBE':
      return parseDescribe(reader);
    default:
      return reader.isSymbol('(') ? parseQueryStatement(reader) : undefined;
  }
}

function parseQueryStatement(reader: TokenReader): Explainable {
  const start = reader.mark();
  const query = parseQuery(reader);
  return { kind: 'query', query, span: reader.spanSince(start) };
}

/** `EXPLAIN [ANALYZE] …`, `EXPLAIN (ANALYZE) …`, `EXPLAIN [LIVE] [AS 'identity'] …` */
function parseExplain(reader: TokenReader): Statement {
  const start = reader.mark();
  reader.expectWord('EXPLAIN');
  const options = parseExplainOptions(reader);
  const isLive = options === 'none' && reader.takeWord('LIVE');
  const isAs = options === 'none' && reader.isWord('AS') && reader.peek(1).kind === 'string';
  const as = isAs && reader.takeWord('AS') ? reader.advance().text : undefined;
  const statement = options === 'foreign' ? undefined : parseExplainable(reader);
  if (options === 'foreign' || statement === undefined) {
    reader.skipToEnd();
    return unsupportedSince(reader, start);
  }
  const isAnalyze = options === 'analyze';
  return { kind: 'explain', isAnalyze, as, isLive, statement, span: reader.spanSince(start) };
}

function parseExplainOptions(reader: TokenReader): 'none' | 'analyze' | 'foreign' {
  if (!reader.isSymbol('(') || isQueryAhead(reader)) {
    return reader.takeWord('ANALYZE') ? 'analyze' : 'none';
  }
  const isAnalyze = reader.isWord('ANALYZE', 1) && reader.isSymbol(')', 2);
  reader.skipBrackets();
  return isAnalyze ? 'analyze' : 'foreign';
}
