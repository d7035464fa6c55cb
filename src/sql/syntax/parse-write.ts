import type {
  Assignment,
  Delete,
  Insert,
  Literal,
  SetVariable,
  ShowVariable,
  Unsupported,
  Update,
} from './ast.ts';
import { parseExpression, parseLiteral, unsupported } from './parse-expression.ts';
import { skipJoinWords } from './parse-select.ts';
import type { TokenReader } from './token-reader.ts';
import { notInsertTarget, notRelation } from './words.ts';

/** `INSERT [INTO] table (columns) VALUES (literals), …` */
export function parseInsert(reader: TokenReader): Insert | Unsupported {
  const start = reader.mark();
  reader.expectWord('INSERT');
  let isForeign = reader.takeWord('OVERWRITE') || reader.takeWord('IGNORE');
  if (reader.takeWord('OR')) {
    reader.expectName();
    isForeign = true;
  }
  reader.takeWord('INTO');
  const table = reader.expectDottedName(notInsertTarget);
  if (reader.takeWord('AS')) {
    reader.expectName();
    isForeign = true;
  }
  const columns = reader.isSymbol('(') && !isQueryAhead(reader) ? parseNames(reader) : [];
  if (reader.isWord('DEFAULT') && reader.isWord('VALUES', 1)) {
    isForeign = true;
    reader.skipToEnd();
  }
  const rows = isForeign && reader.isAtEnd() ? [] : parseSource(reader);
  if (reader.isWord('ON') || reader.isWord('RETURNING')) {
    isForeign = true;
    reader.skipToEnd();
  }
  if (isForeign) return unsupported(`Unsupported: ${reader.textSince(start)}`);
  return 'kind' in rows ? rows : { kind: 'insert', table, columns, rows };
}

/** `UPDATE table SET column = literal, … [WHERE condition]` */
export function parseUpdate(reader: TokenReader): Update | Unsupported {
  const start = reader.mark();
  reader.expectWord('UPDATE');
  const table = reader.expectDottedName(notRelation);
  let isForeign = skipMoreRelations(reader);
  reader.expectWord('SET');
  const assignments: Assignment[] = [];
  do {
    if (reader.isSymbol('(')) {
      isForeign = true;
      reader.skipBrackets();
      reader.expectSymbol('=');
      parseExpression(reader);
      continue;
    }
    const column = reader.expectDottedName();
    reader.expectSymbol('=');
    assignments.push({ column, value: parseAssigned(reader) });
  } while (reader.takeSymbol(','));
  if (reader.isWord('FROM')) {
    isForeign = true;
    reader.skipToEnd();
  }
  const where = reader.takeWord('WHERE') ? parseExpression(reader) : undefined;
  if (skipForeignTail(reader) || isForeign) {
    return unsupported(`Unsupported: ${reader.textSince(start)}`);
  }
  return { kind: 'update', table, assignments, where };
}

/** `DELETE FROM table [WHERE condition]` */
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
  const hasMore = skipMoreRelations(reader);
  const relationText = reader.textSince(relationStart);
  let isForeign = false;
  if (reader.takeWord('USING')) {
    isForeign = true;
    reader.expectDottedName(notRelation);
    skipMoreRelations(reader);
  }
  const where = reader.takeWord('WHERE') ? parseExpression(reader) : undefined;
  isForeign = skipForeignTail(reader) || isForeign;
  if (isMultiTable || relationText.includes(',')) {
    return unsupported('Multi-table DELETE is not supported');
  }
  if (isForeign) return unsupported(`Unsupported: ${reader.textSince(start)}`);
  if (hasMore) return unsupported(`Unsupported table expression in DELETE: ${relationText}`);
  return { kind: 'delete', table, where };
}

const otherSettings = new Set(
  'CHARACTERISTICS GLOBAL LOCAL NAMES ROLE TIME TRANSACTION'.split(' '),
);

/** `SET [SESSION] variable (= | TO) literal` */
export function parseSet(reader: TokenReader): SetVariable | Unsupported {
  const start = reader.mark();
  reader.expectWord('SET');
  if (!isAssignmentAhead(reader)) reader.takeWord('SESSION');
  if (reader.isOneOf(otherSettings) && !isAssignmentAhead(reader)) {
    reader.skipToEnd();
    return unsupported(`Unsupported: ${reader.textSince(start)}`);
  }
  const variable = reader.expectDottedName();
  if (!reader.takeSymbol('=') && !reader.takeWord('TO')) {
    throw reader.expected('equals sign or TO');
  }
  const value = parseAssigned(reader);
  if (!reader.isSymbol(',')) return { kind: 'set', variable, value };
  reader.skipToEnd();
  return unsupported(`Unsupported: ${reader.textSince(start)}`);
}

const otherShows = new Set(
  `COLLATION COLUMNS CREATE DATABASES EXTENDED FIELDS FULL FUNCTIONS GLOBAL SCHEMAS SESSION STATUS
  TABLES VARIABLES VIEWS`.split(/\s+/),
);

/** `SHOW variable` */
export function parseShow(reader: TokenReader): ShowVariable | Unsupported {
  const start = reader.mark();
  reader.expectWord('SHOW');
  if (reader.isOneOf(otherShows)) {
    reader.skipToEnd();
    return unsupported(`Unsupported: ${reader.textSince(start)}`);
  }
  return { kind: 'show', variable: reader.expectDottedName() };
}

function isQueryAhead(reader: TokenReader): boolean {
  const isQueryWord = ['SELECT', 'WITH', 'VALUES'].some((word) => reader.isWord(word, 1));
  return isQueryWord && !reader.isSymbol(',', 2) && !reader.isSymbol(')', 2);
}

function parseNames(reader: TokenReader): readonly string[] {
  reader.expectSymbol('(');
  const names: string[] = [];
  if (reader.takeSymbol(')')) return names;
  do names.push(reader.expectName());
  while (reader.takeSymbol(','));
  reader.expectSymbol(')');
  return names;
}

/** The rows of VALUES, or the refusal of another source. */
function parseSource(reader: TokenReader): Insert['rows'] | Unsupported {
  const start = reader.mark();
  if (reader.isWord('VALUES') && !reader.isWord('ROW', 1)) {
    reader.advance();
    const rows: (Literal | Unsupported)[][] = [];
    do rows.push(parseRow(reader));
    while (reader.takeSymbol(','));
    if (!reader.isOneOf(valuesTailWords)) return rows;
  } else if (!isSourceWord(reader)) {
    throw reader.expected('SELECT, VALUES, or a subquery in the query body');
  }
  while (!reader.isAtEnd() && !reader.isWord('RETURNING')) reader.advance();
  return unsupported(`Unsupported INSERT expression: ${reader.textSince(start)}`);
}

const valuesTailWords = new Set('EXCEPT FETCH INTERSECT LIMIT OFFSET ORDER UNION'.split(' '));

function isSourceWord(reader: TokenReader): boolean {
  return reader.isSymbol('(') || ['SELECT', 'VALUES', 'WITH'].some((word) => reader.isWord(word));
}

function parseRow(reader: TokenReader): (Literal | Unsupported)[] {
  reader.expectSymbol('(');
  const values: (Literal | Unsupported)[] = [];
  if (reader.takeSymbol(')')) return values;
  do values.push(parseLiteral(reader, 'Unsupported INSERT value'));
  while (reader.takeSymbol(','));
  reader.expectSymbol(')');
  return values;
}

function parseAssigned(reader: TokenReader): Literal | Unsupported {
  return parseLiteral(reader, 'Unsupported column/variable assignment expression');
}

const notTargetAlias = new Set(
  `CROSS FULL INNER JOIN LEFT LIMIT NATURAL ORDER RETURNING RIGHT SET
  USING WHERE`.split(/\s+/),
);

/** Passes over an alias, further tables and joins of UPDATE and DELETE; false if there are none. */
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

/** Passes over clauses after WHERE that writes do not have; false if there are none. */
function skipForeignTail(reader: TokenReader): boolean {
  const isTail = ['RETURNING', 'ORDER', 'LIMIT'].some((word) => reader.isWord(word));
  if (!isTail) return false;
  reader.advance();
  if (reader.isAtEnd()) throw reader.expected('an expression:');
  reader.skipToEnd();
  return true;
}

function isAssignmentAhead(reader: TokenReader): boolean {
  return reader.isSymbol('=', 1) || reader.isWord('TO', 1);
}
