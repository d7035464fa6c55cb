import { limits } from '../../limits.ts';
import { recursionLimit } from '../failure.ts';
import type {
  AsOf,
  CommonTable,
  Expression,
  OrderItem,
  Query,
  QueryBody,
  SetOperation,
} from './ast.ts';
import { parseExpression } from './parse-expression.ts';
import { isAsOfAhead } from './parse-names.ts';
import { parseSelect } from './parse-select.ts';
import { unsupported, unsupportedSince } from './refusal.ts';
import type { TokenReader } from './token-reader.ts';
import { queryBody, wordsBehindBody } from './words.ts';

/** `[WITH …] body [ORDER BY …] [LIMIT …] [OFFSET …] [AS OF …]`, up to the first foreign token. */
export function parseQuery(reader: TokenReader): Query {
  const start = reader.mark();
  const isWith = reader.takeWord('WITH');
  const isRecursive = isWith && !reader.isWord('AS', 1) && reader.takeWord('RECURSIVE');
  const commonTables = isWith ? parseCommonTables(reader) : [];
  const body = parseUnions(reader);
  const tail = parseTail(reader);
  const asOf = parseAsOf(reader);
  const span = reader.spanSince(start);
  const refusal = tail.isForeign ? unsupportedSince(reader, start) : undefined;
  const { orderBy, limit, offset } = tail;
  return {
    kind: 'query',
    commonTables,
    isRecursive,
    body: withWholeText(reader, start, body),
    orderBy,
    limit,
    offset,
    asOf,
    unsupported: refusal,
    span,
  };
}

/** The refusal of a SELECT's clause shows the query that the SELECT is. */
function withWholeText(reader: TokenReader, start: number, body: QueryBody): QueryBody {
  if (body.kind === 'unsupported' && body.message.startsWith('Unsupported: ')) {
    return { ...body, message: unsupportedSince(reader, start).message };
  }
  if (body.kind !== 'select' || body.unsupported === undefined) return body;
  const { message } = unsupportedSince(reader, start);
  return { ...body, unsupported: { ...body.unsupported, message } };
}

/**
 * Whether the parentheses that open `distance` tokens ahead hold a query. The words that begin one
 * are names too: `(select = 1)` is a condition.
 */
export function isQueryAhead(reader: TokenReader, distance = 0): boolean {
  let inner = distance;
  while (reader.isSymbol('(', inner) && inner - distance <= limits.sqlParenthesesMax) inner++;
  if (inner === distance || !isQueryWordAhead(reader, inner)) return false;
  // `((SELECT 1) UNION SELECT 2)` is a query, `((SELECT 1) + 2)` is not.
  for (let open = inner - 1; open > distance; open--) {
    const behind = reader.distanceBehind(open);
    if (!reader.isSymbol(')', behind) && !reader.isOneOf(wordsBehindBody, behind)) return false;
  }
  return true;
}

const operatorWords = new Set('AND BETWEEN ILIKE IN IS LIKE OR'.split(' '));
const symbolsAtItem = new Set(['*', '(', '-', '+', ':', '~', '!']);

function isQueryWordAhead(reader: TokenReader, distance: number): boolean {
  const next = reader.peek(distance + 1);
  switch (reader.peek(distance).keyword) {
    case 'SELECT':
      if (next.kind === 'symbol') return symbolsAtItem.has(next.text);
      if (!operatorWords.has(next.keyword)) return true;
      return (
        reader.isWord('FROM', distance + 2) ||
        reader.isSymbol(',', distance + 2) ||
        reader.isSymbol(')', distance + 2)
      );
    case 'WITH':
      if (next.kind !== 'word' && next.kind !== 'quotedWord') return false;
      return reader.peek(distance + 2).kind === 'word' || reader.isSymbol('(', distance + 2);
    case 'VALUES':
      return reader.isSymbol('(', distance + 1) || next.keyword === 'ROW';
    default:
      return false;
  }
}

function parseCommonTables(reader: TokenReader): readonly CommonTable[] {
  const tables: CommonTable[] = [];
  do {
    const start = reader.mark();
    const name = reader.expectName();
    const columns = reader.isSymbol('(') ? parseNames(reader) : undefined;
    reader.expectWord('AS');
    if (reader.isWord('NOT') && reader.isWord('MATERIALIZED', 1)) reader.advance();
    reader.takeWord('MATERIALIZED');
    const query = parseQueryInParentheses(reader);
    tables.push({ name, columns, query, span: reader.spanSince(start) });
  } while (reader.takeSymbol(','));
  return tables;
}

export function parseNames(reader: TokenReader): readonly string[] {
  reader.expectSymbol('(');
  const names: string[] = [];
  if (reader.takeSymbol(')')) return names;
  do names.push(reader.expectName());
  while (reader.takeSymbol(','));
  reader.expectSymbol(')');
  return names;
}

export function parseQueryInParentheses(reader: TokenReader): Query {
  reader.expectSymbol('(');
  const query = reader.nested(() => parseQuery(reader));
  reader.expectSymbol(')');
  return query;
}

type ParseBody = (reader: TokenReader) => QueryBody;

function parseUnions(reader: TokenReader): QueryBody {
  return parseOperations(reader, parseIntersections, { UNION: 'union', EXCEPT: 'except' });
}

/** Binds tighter than the others, as in the standard. */
function parseIntersections(reader: TokenReader): QueryBody {
  return parseOperations(reader, parseBody, { INTERSECT: 'intersect' });
}

function parseOperations(
  reader: TokenReader,
  parseSide: ParseBody,
  operators: Readonly<Record<string, SetOperation['operator']>>,
): QueryBody {
  const start = reader.mark();
  let left = parseSide(reader);
  for (let count = 1; ; count++) {
    const operator = operators[reader.current.keyword];
    if (operator === undefined) {
      if (count <= limits.sqlChainTermsMax) return left;
      return unsupported(recursionLimit('parse'), reader.spanSince(start));
    }
    reader.advance();
    const isAll = reader.takeWord('ALL');
    if (!isAll) reader.takeWord('DISTINCT');
    const right = parseSide(reader);
    const span = reader.spanSince(start);
    left = { kind: 'setOperation', operator, isAll, left, right, span };
  }
}

const writeWords = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE']);

function parseBody(reader: TokenReader): QueryBody {
  if (reader.isWord('SELECT')) return parseSelect(reader);
  if (reader.isSymbol('(')) return parseQueryInParentheses(reader);
  if (!reader.isWord('VALUES') && !reader.isOneOf(writeWords)) {
    throw reader.expected(queryBody);
  }
  const start = reader.mark();
  if (reader.isWord('VALUES') && reader.isSymbol('(', 1)) {
    reader.advance();
    const rows = parseRows(reader, parseExpression);
    return { kind: 'values', rows, span: reader.spanSince(start) };
  }
  reader.skipToClose();
  return unsupportedSince(reader, start);
}

/** The rows after VALUES, each in parentheses. */
export function parseRows<Value>(
  reader: TokenReader,
  parseValue: (reader: TokenReader) => Value,
): readonly (readonly Value[])[] {
  const rows: (readonly Value[])[] = [];
  do {
    reader.expectSymbol('(');
    rows.push(reader.nested(() => parseRow(reader, parseValue)));
    reader.expectSymbol(')');
  } while (reader.takeSymbol(','));
  return rows;
}

function parseRow<Value>(
  reader: TokenReader,
  parseValue: (reader: TokenReader) => Value,
): readonly Value[] {
  const values: Value[] = [];
  if (reader.isSymbol(')')) return values;
  do values.push(parseValue(reader));
  while (reader.takeSymbol(','));
  return values;
}

interface Tail {
  readonly orderBy: readonly OrderItem[];
  readonly limit: Expression | undefined;
  readonly offset: Expression | undefined;
  readonly isForeign: boolean;
}

function parseTail(reader: TokenReader): Tail {
  const orderBy = parseOrderBy(reader);
  let limit: Expression | undefined;
  let offset: Expression | undefined;
  let hasLimit = false;
  for (;;) {
    if (!hasLimit && reader.takeWord('LIMIT')) {
      hasLimit = true;
      if (!reader.takeWord('ALL')) limit = parseExpression(reader);
    } else if (offset === undefined && reader.takeWord('OFFSET')) {
      offset = parseExpression(reader);
      if (!reader.takeWord('ROWS')) reader.takeWord('ROW');
    } else break;
  }
  const isForeign = skipForeignTail(reader, hasLimit);
  return { orderBy, limit, offset, isForeign };
}

/** Skips `LIMIT 1, 2`, FETCH, FOR UPDATE; returns false if none follows. */
function skipForeignTail(reader: TokenReader, hasLimit: boolean): boolean {
  const isSecondLimit = hasLimit && reader.isSymbol(',');
  if (!isSecondLimit && !reader.isWord('FETCH') && !reader.isWord('FOR')) return false;
  reader.advance();
  if (reader.isAtClose()) throw reader.expected('an expression:');
  reader.skipToClose();
  return true;
}

/** `[ORDER BY …]` */
export function parseOrderBy(reader: TokenReader): readonly OrderItem[] {
  const items: OrderItem[] = [];
  if (!reader.takeWord('ORDER')) return items;
  reader.expectWord('BY');
  do {
    const start = reader.mark();
    const expression = parseExpression(reader);
    const isDescending = reader.takeWord('DESC');
    if (!isDescending) reader.takeWord('ASC');
    const nulls = parseNullsPlace(reader);
    items.push({ expression, isDescending, nulls, span: reader.spanSince(start) });
  } while (reader.takeSymbol(','));
  return items;
}

function parseNullsPlace(reader: TokenReader): OrderItem['nulls'] {
  if (!reader.takeWord('NULLS')) return undefined;
  if (reader.takeWord('FIRST')) return 'first';
  if (reader.takeWord('LAST')) return 'last';
  throw reader.expected('FIRST or LAST after NULLS');
}

function parseAsOf(reader: TokenReader): AsOf | undefined {
  if (!isAsOfAhead(reader)) return undefined;
  const start = reader.mark();
  reader.expectWord('AS');
  reader.expectWord('OF');
  const position = parseExpression(reader);
  return { position, span: reader.spanSince(start) };
}
