import type {
  Assignment,
  Conflict,
  Delete,
  Expression,
  Insert,
  SelectItem,
  SetVariable,
  ShowList,
  ShowVariable,
  StoredExpression,
  Unsupported,
  Update,
} from './ast.ts';
import { parseExpression } from './parse-expression.ts';
import { parseFrom, skipJoinWords } from './parse-from.ts';
import { parseAlias } from './parse-names.ts';
import { isQueryAhead, parseNames, parseQuery, parseRows } from './parse-query.ts';
import { parseItems } from './parse-select.ts';
import { dialectTexts, isRefusedLiteral, unsupported, unsupportedSince } from './refusal.ts';
import type { TokenReader } from './token-reader.ts';
import { notInsertTarget, notRelation, queryBody, wordsBehindBody } from './words.ts';

/** `INSERT [INTO] table [(columns)] (VALUES (values), … | query) [RETURNING items]` */
export function parseInsert(reader: TokenReader): Insert | Unsupported {
  const start = reader.mark();
  reader.expectWord('INSERT');
  let isForeign = reader.takeWord('OVERWRITE') || reader.takeWord('IGNORE');
  if (reader.takeWord('OR')) {
    reader.expectName();
    isForeign = true;
  }
  reader.takeWord('INTO');
  const tableStart = reader.mark();
  const table = reader.expectDottedName(notInsertTarget);
  const tableSpan = reader.spanSince(tableStart);
  if (reader.takeWord('AS')) {
    reader.expectName();
    isForeign = true;
  }
  const columns = reader.isSymbol('(') && !isQueryAhead(reader) ? parseNames(reader) : [];
  if (reader.isWord('DEFAULT') && reader.isWord('VALUES', 1)) {
    isForeign = true;
    reader.skipToEnd();
  }
  reader.isReturningKept = true;
  const source = isForeign && reader.isAtEnd() ? noRows : parseSource(reader);
  const conflict = parseConflict(reader);
  if (conflict === 'foreign') isForeign = true;
  const returning = parseReturning(reader);
  if (isForeign || conflict === 'foreign') return unsupportedSince(reader, start);
  if (source.kind === 'unsupported') return source;
  const span = reader.spanSince(start);
  return { kind: 'insert', table, tableSpan, columns, source, conflict, returning, span };
}

/** A key with a condition is foreign. */
function parseConflict(reader: TokenReader): Conflict | 'foreign' | undefined {
  const start = reader.mark();
  if (!reader.takeWord('ON')) return undefined;
  if (!reader.takeWord('CONFLICT')) {
    reader.skipToEnd();
    return 'foreign';
  }
  let constraint: string | undefined;
  if (reader.isWord('ON') && reader.isWord('CONSTRAINT', 1)) {
    reader.advance();
    reader.advance();
    constraint = reader.expectName();
  }
  const isOfColumns = constraint === undefined && reader.isSymbol('(');
  const columns = isOfColumns ? parseNames(reader) : [];
  if (!reader.takeWord('DO')) {
    reader.skipToEnd();
    return 'foreign';
  }
  if (reader.takeWord('NOTHING')) {
    return { constraint, columns, update: undefined, span: reader.spanSince(start) };
  }
  reader.expectWord('UPDATE');
  reader.expectWord('SET');
  const assignments = parseAssignments(reader);
  const where = reader.takeWord('WHERE') ? parseExpression(reader) : undefined;
  if (assignments === 'foreign') return 'foreign';
  const span = reader.spanSince(start);
  return { constraint, columns, update: { assignments, where }, span };
}

/** `column = value, …`; lists in parentheses are foreign. */
function parseAssignments(reader: TokenReader): readonly Assignment[] | 'foreign' {
  const assignments: Assignment[] = [];
  let isForeign = false;
  do {
    if (reader.isSymbol('(')) {
      isForeign = true;
      reader.skipBrackets();
      reader.expectSymbol('=');
      parseExpression(reader);
      continue;
    }
    const at = reader.mark();
    const column = reader.expectDottedName();
    reader.expectSymbol('=');
    const value = parseStored(reader);
    assignments.push({ column, value, span: reader.spanSince(at) });
  } while (reader.takeSymbol(','));
  return isForeign ? 'foreign' : assignments;
}

/** `UPDATE table [[AS] alias] SET column = value, … [FROM …] [WHERE …] [RETURNING items]` */
export function parseUpdate(reader: TokenReader): Update | Unsupported {
  const start = reader.mark();
  reader.expectWord('UPDATE');
  const tableStart = reader.mark();
  const table = reader.expectDottedName(notRelation);
  const tableSpan = reader.spanSince(tableStart);
  const alias = parseAlias(reader, notTargetAlias);
  let isForeign = skipMoreRelations(reader);
  reader.expectWord('SET');
  const assignments = parseAssignments(reader);
  reader.isReturningKept = true;
  const from = reader.takeWord('FROM') ? parseFrom(reader) : undefined;
  const where = reader.takeWord('WHERE') ? parseExpression(reader) : undefined;
  const returning = parseReturning(reader);
  isForeign = skipForeignTail(reader) || isForeign;
  if (isForeign || assignments === 'foreign') return unsupportedSince(reader, start);
  const span = reader.spanSince(start);
  return { kind: 'update', table, tableSpan, alias, assignments, from, where, returning, span };
}

/** `DELETE FROM table [[AS] alias] [USING …] [WHERE condition] [RETURNING items]` */
export function parseDelete(reader: TokenReader): Delete | Unsupported {
  const start = reader.mark();
  reader.expectWord('DELETE');
  let isMultiTable = false;
  if (!reader.isWord('FROM') && reader.isSymbol(',', 1)) isMultiTable = true;
  if (!reader.isWord('FROM') && reader.isWord('FROM', 1)) isMultiTable = true;
  if (isMultiTable) {
    do reader.expectDottedName();
    while (reader.takeSymbol(','));
  }
  reader.expectWord('FROM');
  const relationStart = reader.mark();
  const table = reader.expectDottedName(notRelation);
  const tableSpan = reader.spanSince(relationStart);
  const alias = parseAlias(reader, notTargetAlias);
  const hasMore = skipMoreRelations(reader);
  const relationText = reader.textSince(relationStart);
  reader.isReturningKept = true;
  const using = reader.takeWord('USING') ? parseFrom(reader) : undefined;
  const where = reader.takeWord('WHERE') ? parseExpression(reader) : undefined;
  const returning = parseReturning(reader);
  const isForeign = skipForeignTail(reader);
  const span = reader.spanSince(start);
  if (isMultiTable || relationText.includes(',')) {
    return unsupported('Multi-table DELETE is not supported', span);
  }
  if (isForeign) return unsupportedSince(reader, start);
  if (hasMore) {
    return unsupported(`Unsupported table expression in DELETE: ${relationText}`, span);
  }
  return { kind: 'delete', table, tableSpan, alias, using, where, returning, span };
}

const otherSettings = new Set(
  'CHARACTERISTICS GLOBAL LOCAL NAMES ROLE TIME TRANSACTION'.split(' '),
);

/** `SET [SESSION] variable (= | TO) value` */
export function parseSet(reader: TokenReader): SetVariable | Unsupported {
  const start = reader.mark();
  reader.expectWord('SET');
  if (!isAssignmentAhead(reader)) reader.takeWord('SESSION');
  if (reader.isOneOf(otherSettings) && !isAssignmentAhead(reader)) {
    reader.skipToEnd();
    return unsupportedSince(reader, start);
  }
  const variable = reader.expectDottedName();
  if (!reader.takeSymbol('=') && !reader.takeWord('TO')) {
    throw reader.expected('equals sign or TO');
  }
  const constant = parseConstant(reader, dialectTexts.assignment);
  const value = constant.kind === 'null' ? refusedLiteral('NULL', constant) : constant;
  if (!reader.isSymbol(',')) return { kind: 'set', variable, value, span: reader.spanSince(start) };
  reader.skipToEnd();
  return unsupportedSince(reader, start);
}

const otherShows = new Set(
  `COLLATION COLUMNS CREATE DATABASES EXTENDED FIELDS FULL FUNCTIONS GLOBAL SCHEMAS SESSION STATUS
  TABLES VARIABLES VIEWS`.split(/\s+/),
);

/** `SHOW variable`, `SHOW TABLES`, `SHOW COLUMNS FROM table`, `SHOW FUNCTIONS` */
export function parseShow(reader: TokenReader): ShowVariable | ShowList | Unsupported {
  const start = reader.mark();
  reader.expectWord('SHOW');
  const list = parseShowList(reader, start);
  if (list !== undefined) return list;
  if (reader.isOneOf(otherShows)) {
    reader.skipToEnd();
    return unsupportedSince(reader, start);
  }
  const variable = reader.expectDottedName();
  return { kind: 'show', variable, span: reader.spanSince(start) };
}

function parseShowList(reader: TokenReader, start: number): ShowList | undefined {
  const nowhere = { from: start, to: start };
  const isAlone = reader.peek(1).kind === 'end' || reader.isSymbol(';', 1);
  for (const [word, what] of [
    ['TABLES', 'tables'],
    ['FUNCTIONS', 'functions'],
  ] as const) {
    if (!isAlone || !reader.takeWord(word)) continue;
    const span = reader.spanSince(start);
    return { kind: 'showList', what, table: '', tableSpan: nowhere, span };
  }
  const isOfColumns =
    reader.isWord('COLUMNS') && (reader.isWord('FROM', 1) || reader.isWord('IN', 1));
  if (!isOfColumns) return undefined;
  reader.advance();
  reader.advance();
  return parseDescribed(reader, start);
}

/** `DESCRIBE table`, `DESC table` */
export function parseDescribe(reader: TokenReader): ShowList {
  const start = reader.mark();
  reader.advance();
  return parseDescribed(reader, start);
}

function parseDescribed(reader: TokenReader, start: number): ShowList {
  const tableStart = reader.mark();
  const table = reader.expectDottedName();
  const tableSpan = reader.spanSince(tableStart);
  return { kind: 'showList', what: 'columns', table, tableSpan, span: reader.spanSince(start) };
}

const noRows: Insert['source'] = { kind: 'values', rows: [] };

/** Reads the rows of VALUES or a query, or refuses another source. */
function parseSource(reader: TokenReader): Insert['source'] | Unsupported {
  const start = reader.mark();
  if (['SELECT', 'WITH'].some((word) => reader.isWord(word)) || reader.isSymbol('(')) {
    return { kind: 'query', query: parseQuery(reader) };
  }
  if (!reader.isWord('VALUES')) {
    throw reader.expected(queryBody);
  }
  if (!reader.isWord('ROW', 1)) {
    reader.advance();
    const rows = parseRows(reader, parseStored);
    if (!reader.isOneOf(wordsBehindBody)) return { kind: 'values', rows };
  }
  while (!reader.isAtEnd() && !reader.isWord('RETURNING')) reader.advance();
  const span = reader.spanSince(start);
  return unsupported(`Unsupported INSERT expression: ${reader.source.text(span)}`, span);
}

/** A value that needs no evaluation: a literal or a parameter. */
function parseConstant(reader: TokenReader, refusal: (text: string) => string): Expression {
  const start = reader.mark();
  const expression = parseExpression(reader);
  const isParenthesised = expression.span.from > start;
  if (expression.kind === 'sender') return refusedLiteral(':sender', expression);
  if (!isParenthesised && (isConstant(expression) || isRefusedLiteral(expression))) {
    return expression;
  }
  const span = reader.spanSince(start);
  return unsupported(refusal(reader.source.text(span)), span);
}

function isConstant({ kind }: Expression): boolean {
  switch (kind) {
    case 'boolean':
    case 'string':
    case 'number':
    case 'hex':
    case 'null':
    case 'parameter':
    case 'typedLiteral':
      return true;
    default:
      return false;
  }
}

/** A value to store: any expression, or DEFAULT alone. */
function parseStored(reader: TokenReader): StoredExpression {
  const start = reader.mark();
  const isDefault = reader.isWord('DEFAULT') && !reader.isSymbol('.', 1);
  const value = parseExpression(reader);
  const span = reader.spanSince(start);
  return isDefault && span.to === start + 1 ? { kind: 'default', span } : value;
}

function refusedLiteral(literal: string, { span }: Expression): Unsupported {
  return unsupported(dialectTexts.literal(literal), span);
}

function parseReturning(reader: TokenReader): readonly SelectItem[] | undefined {
  return reader.takeWord('RETURNING') ? parseItems(reader) : undefined;
}

const notTargetAlias = new Set(
  `CROSS FULL INNER JOIN LEFT LIMIT NATURAL ORDER RETURNING RIGHT SET
  USING WHERE`.split(/\s+/),
);

/** Skips an alias, further tables and joins of UPDATE and DELETE; returns false if none follow. */
function skipMoreRelations(reader: TokenReader): boolean {
  let isAny = false;
  for (;;) {
    const { kind } = reader.current;
    const isAlias = kind === 'quotedWord' || (kind === 'word' && !reader.isOneOf(notTargetAlias));
    if (reader.takeWord('AS') || isAlias) {
      reader.expectName();
    } else if (reader.takeSymbol(',') || skipJoinWords(reader) !== undefined) {
      reader.expectDottedName(notRelation);
      if (reader.takeWord('ON')) parseExpression(reader);
    } else return isAny;
    isAny = true;
  }
}

/** Skips clauses after WHERE that writes do not have; returns false if none follow. */
function skipForeignTail(reader: TokenReader): boolean {
  if (!reader.isWord('ORDER') && !reader.isWord('LIMIT')) return false;
  reader.advance();
  if (reader.isAtEnd()) throw reader.expected('an expression:');
  reader.skipToEnd();
  return true;
}

function isAssignmentAhead(reader: TokenReader): boolean {
  return reader.isSymbol('=', 1) || reader.isWord('TO', 1);
}
