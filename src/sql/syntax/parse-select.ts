import type { Expression, Select, SelectItem } from './ast.ts';
import { parseExpression } from './parse-expression.ts';
import { parseFrom } from './parse-from.ts';
import { parseAlias, takeRelationWildcard } from './parse-names.ts';
import { isQueryAhead } from './parse-query.ts';
import { parseWindowClause } from './parse-window.ts';
import { dialectTexts, isRefusedExpression, unsupported, unsupportedSince } from './refusal.ts';
import type { TokenReader } from './token-reader.ts';
import { notColumnAlias } from './words.ts';

/** Reads `SELECT … [FROM …] [WHERE …] [GROUP BY …] [HAVING …]`. */
export function parseSelect(reader: TokenReader): Select {
  const start = reader.mark();
  reader.expectWord('SELECT');
  const quantifier = parseQuantifier(reader);
  let isForeign = quantifier === 'foreign';
  const items = parseItems(reader);
  if (reader.takeWord('INTO')) {
    reader.expectDottedName();
    isForeign = true;
  }
  const from = reader.takeWord('FROM') ? parseFrom(reader) : undefined;
  const where = reader.takeWord('WHERE') ? parseExpression(reader) : undefined;
  const groupBy = parseGroupBy(reader);
  const having = reader.takeWord('HAVING') ? parseExpression(reader) : undefined;
  const windows = parseWindowClause(reader);
  isForeign = groupBy === 'foreign' || windows === 'foreign' || isForeign;
  isForeign = skipForeignClause(reader) || isForeign;
  return {
    kind: 'select',
    isDistinct: quantifier === 'distinct',
    items,
    from,
    where,
    groupBy: groupBy === 'foreign' ? [] : groupBy,
    having,
    windows: windows === 'foreign' ? [] : windows,
    unsupported: isForeign ? unsupportedSince(reader, start) : undefined,
    span: reader.spanSince(start),
  };
}

/** ALL is the default; DISTINCT ON and TOP are foreign. */
function parseQuantifier(reader: TokenReader): 'all' | 'distinct' | 'foreign' {
  if (reader.takeWord('ALL')) return 'all';
  if (reader.takeWord('DISTINCT')) {
    if (!reader.isWord('ON') || !reader.isSymbol('(', 1)) return 'distinct';
    reader.advance();
    reader.skipBrackets();
    return 'foreign';
  }
  if (!reader.takeWord('TOP')) return 'all';
  if (reader.isSymbol('(')) reader.skipBrackets();
  else if (reader.current.kind === 'number') reader.advance();
  else throw reader.expected('literal int');
  return 'foreign';
}

/** The list after SELECT or RETURNING. */
export function parseItems(reader: TokenReader): readonly SelectItem[] {
  const items = [parseItem(reader)];
  while (reader.takeSymbol(',')) items.push(parseItem(reader));
  const [only] = items;
  const isAlone = items.length === 1 && only !== undefined;
  return isAlone ? [refusedAlone(reader, only)] : items.map((item) => refusedItem(reader, item));
}

const wildcardWords = new Set(['EXCEPT', 'EXCLUDE', 'RENAME', 'REPLACE']);

function parseItem(reader: TokenReader): SelectItem {
  const start = reader.mark();
  if (reader.takeSymbol('*')) {
    const isForeign = reader.isOneOf(wildcardWords) && reader.isSymbol('(', 1);
    if (!isForeign || isQueryAhead(reader, 1)) {
      return { kind: 'everything', span: reader.spanSince(start) };
    }
    reader.advance();
    reader.skipBrackets();
    const span = reader.spanSince(start);
    const expression = unsupported(`Unsupported projection: ${reader.source.text(span)}`, span);
    return { kind: 'expression', expression, alias: undefined, isParenthesised: false, span };
  }
  const relation = takeRelationWildcard(reader);
  if (relation !== undefined) return { kind: 'relation', relation, span: reader.spanSince(start) };
  const expression = parseExpression(reader);
  const span = reader.spanSince(start);
  const isParenthesised = expression.span.from > start;
  const alias = parseAlias(reader, notColumnAlias);
  return { kind: 'expression', expression, alias, isParenthesised, span };
}

/** A call with a foreign form of OVER, alone, counts as an aggregate that does not exist. */
function refusedAlone(reader: TokenReader, item: SelectItem): SelectItem {
  if (item.kind !== 'expression' || !isRefusedCall(reader, item.expression)) {
    return refusedItem(reader, item);
  }
  const text = reader.source.text(item.span);
  const message = item.alias === undefined ? dialectTexts.noAlias : dialectTexts.aggregate(text);
  return { ...item, expression: unsupported(message, item.span) };
}

function refusedItem(reader: TokenReader, item: SelectItem): SelectItem {
  if (item.kind !== 'expression' || !isRefusedExpression(item.expression)) return item;
  const text = reader.source.text(item.span);
  const message = dialectTexts.projection(text);
  return { ...item, expression: unsupported(message, item.span, item.expression.hint) };
}

function isRefusedCall(reader: TokenReader, { kind, span }: Expression): boolean {
  return kind === 'unsupported' && reader.refusedCalls.has(span);
}

function parseGroupBy(reader: TokenReader): readonly Expression[] | 'foreign' {
  const keys: Expression[] = [];
  if (!reader.takeWord('GROUP')) return keys;
  reader.expectWord('BY');
  do {
    const isSet = reader.isWord('GROUPING') && reader.isWord('SETS', 1);
    const isGenerator = reader.isWord('ROLLUP') || reader.isWord('CUBE');
    if (isSet || (isGenerator && reader.isSymbol('(', 1))) {
      reader.skipToClose();
      return 'foreign';
    }
    keys.push(parseExpression(reader));
  } while (reader.takeSymbol(','));
  return keys;
}

const foreignClauseWords = new Set(['CLUSTER', 'DISTRIBUTE', 'QUALIFY', 'SORT']);
const wordsBeforeBy = new Set(['CLUSTER', 'DISTRIBUTE', 'SORT']);

/** Skips everything from a clause that no dialect has; returns false if no such clause follows. */
function skipForeignClause(reader: TokenReader): boolean {
  if (!reader.isOneOf(foreignClauseWords)) return false;
  const { keyword } = reader.advance();
  if (wordsBeforeBy.has(keyword)) reader.expectWord('BY');
  if (reader.isAtClose()) throw reader.expected('an expression:');
  reader.skipToClose();
  return true;
}
