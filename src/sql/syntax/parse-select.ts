import { assert } from '../../assert.ts';
import type {
  ColumnReference,
  Expression,
  From,
  Join,
  Literal,
  Relation,
  Select,
  SelectItem,
  Unsupported,
} from './ast.ts';
import { parseExpression, unsupported } from './parse-expression.ts';
import type { TokenReader } from './token-reader.ts';
import { notColumnAlias, notRelation, notRelationAlias } from './words.ts';

/** Reads one SELECT to the end of its statement. */
export function parseSelect(reader: TokenReader): Select | Unsupported {
  const start = reader.mark();
  reader.expectWord('SELECT');
  let isForeign = skipQuantifier(reader);
  const items = parseItems(reader);
  if (reader.takeWord('INTO')) {
    reader.expectDottedName();
    isForeign = true;
  }
  const from = reader.takeWord('FROM') ? parseFrom(reader) : undefined;
  const where = reader.takeWord('WHERE') ? parseExpression(reader) : undefined;
  isForeign = skipForeignTail(reader) || isForeign;
  const limit = reader.takeWord('LIMIT') ? parseLimit(reader) : undefined;
  isForeign = limit === 'foreign' || skipForeignTail(reader) || isForeign;
  if (isForeign || limit === 'foreign') {
    reader.skipToEnd();
    return unsupported(`Unsupported: ${reader.textSince(start)}`);
  }
  return { kind: 'select', items, from, where, limit };
}

/** Reads `[INNER] JOIN`, `CROSS JOIN` and the joins that are refused. */
export function skipJoinWords(reader: TokenReader): 'inner' | 'cross' | 'other' | undefined {
  if (reader.takeWord('JOIN')) return 'inner';
  if (reader.isWord('INNER') && reader.isWord('JOIN', 1)) {
    reader.advance();
    reader.advance();
    return 'inner';
  }
  if (reader.isWord('CROSS') && reader.isWord('JOIN', 1)) {
    reader.advance();
    reader.advance();
    return 'cross';
  }
  if (!reader.isOneOf(otherJoinWords)) return undefined;
  while (reader.isOneOf(otherJoinWords) || reader.isOneOf(joinModifiers)) reader.advance();
  if (!reader.takeWord('APPLY')) reader.expectWord('JOIN');
  return 'other';
}

const otherJoinWords = new Set(['LEFT', 'RIGHT', 'FULL', 'NATURAL', 'CROSS', 'OUTER', 'INNER']);
const joinModifiers = new Set(['SEMI', 'ANTI']);

/** True if DISTINCT or TOP was passed over; ALL is what happens anyway. */
function skipQuantifier(reader: TokenReader): boolean {
  if (reader.takeWord('ALL')) return false;
  if (reader.takeWord('DISTINCT')) {
    if (reader.takeWord('ON')) {
      if (!reader.isSymbol('(')) throw reader.expected('(');
      reader.skipBrackets();
    }
    return true;
  }
  if (!reader.takeWord('TOP')) return false;
  if (reader.isSymbol('(')) reader.skipBrackets();
  else if (reader.current.kind === 'number') reader.advance();
  else throw reader.expected('literal int');
  return true;
}

function parseItems(reader: TokenReader): readonly SelectItem[] {
  const items = [parseItem(reader)];
  while (reader.takeSymbol(',')) items.push(parseItem(reader));
  return items;
}

function parseItem(reader: TokenReader): SelectItem {
  if (reader.takeSymbol('*')) return { kind: 'everything' };
  const relation = takeRelationWildcard(reader);
  if (relation !== undefined) return { kind: 'relation', relation };
  const start = reader.mark();
  const isParenthesised = reader.isSymbol('(');
  const expression = parseExpression(reader);
  const text = reader.textSince(start);
  const alias = parseAlias(reader, notColumnAlias);
  return { kind: 'expression', expression, alias, text, isParenthesised };
}

/** `t.*`, `lib.t.*`: the name in front of the star. */
function takeRelationWildcard(reader: TokenReader): string | undefined {
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

function parseAlias(reader: TokenReader, except: ReadonlySet<string>): string | undefined {
  if (reader.takeWord('AS')) return reader.expectName();
  return isName(reader) && !reader.isOneOf(except) ? reader.expectName() : undefined;
}

function isName(reader: TokenReader, distance = 0): boolean {
  const { kind } = reader.peek(distance);
  return kind === 'word' || kind === 'quotedWord';
}

function parseFrom(reader: TokenReader): From {
  const first = parseRelation(reader);
  const joins: Join[] = [];
  let refusal = first.kind === 'unsupported' ? first : undefined;
  for (;;) {
    if (reader.takeSymbol(',')) {
      parseRelation(reader);
      refusal ??= unsupported('Implicit joins are not supported');
      continue;
    }
    const joinKind = skipJoinWords(reader);
    if (joinKind === undefined) break;
    const relation = parseRelation(reader);
    const on = parseJoinCondition(reader);
    if (relation.kind === 'unsupported') refusal ??= relation;
    else if (joinKind === 'other' || on === 'other' || (joinKind === 'cross' && on !== undefined)) {
      refusal ??= unsupported('Non-inner joins are not supported');
    } else joins.push({ relation: relation.relation, on });
  }
  if (refusal !== undefined) return refusal;
  assert(first.kind === 'relation', 'an unsupported relation is a refusal');
  return { kind: 'relations', first: first.relation, joins };
}

type ParsedRelation = { readonly kind: 'relation'; readonly relation: Relation } | Unsupported;

function parseRelation(reader: TokenReader): ParsedRelation {
  const start = reader.mark();
  const isLateral = reader.isWord('LATERAL') && (isName(reader, 1) || reader.isSymbol('(', 1));
  if (isLateral) reader.advance();
  const isFunctionWord = reader.isOneOf(notRelation) && reader.isSymbol('(', 1);
  let isForeign = isLateral || isFunctionWord;
  let name = '';
  if (reader.isSymbol('(')) {
    isForeign = true;
    reader.skipBrackets();
  } else {
    name = reader.expectDottedName(isFunctionWord ? undefined : notRelation);
    if (reader.isSymbol('(')) {
      isForeign = true;
      reader.skipBrackets();
    }
  }
  const alias = parseAlias(reader, notRelationAlias);
  if (alias !== undefined && reader.isSymbol('(')) {
    isForeign = true;
    reader.skipBrackets();
  }
  if (isForeign) return unsupported(`Unsupported FROM expression: ${reader.textSince(start)}`);
  return { kind: 'relation', relation: { name, alias } };
}

/** Exactly one `column = column` without parentheses; `other` is every other condition. */
function parseJoinCondition(reader: TokenReader): Join['on'] | 'other' {
  if (reader.takeWord('USING')) {
    if (!reader.isSymbol('(')) throw reader.expected('(');
    reader.skipBrackets();
    return 'other';
  }
  if (!reader.takeWord('ON')) return undefined;
  const isParenthesised = reader.isSymbol('(');
  const condition = parseExpression(reader);
  if (isParenthesised || condition.kind !== 'comparison' || condition.operator !== '=') {
    return 'other';
  }
  const { left, right } = condition;
  return isColumn(left) && isColumn(right) ? { left, right } : 'other';
}

function isColumn(expression: Expression): expression is ColumnReference {
  return expression.kind === 'column';
}

/** A number without sign, or `undefined` for ALL. */
function parseLimit(reader: TokenReader): Literal | undefined | 'foreign' {
  if (reader.takeWord('ALL')) return undefined;
  const start = reader.mark();
  const { kind, text } = reader.current;
  parseExpression(reader);
  const isAlone = reader.isAtEnd() || reader.isOneOf(foreignTailWords);
  const isOneToken = reader.mark() === start + 1;
  if (kind === 'number' && isOneToken && isAlone) return { kind, text };
  if (isAlone || reader.isSymbol(',')) return 'foreign';
  throw reader.expected('end of statement');
}

const foreignTailWords = new Set(
  `CLUSTER DISTRIBUTE EXCEPT FETCH FOR GROUP HAVING INTERSECT OFFSET ORDER QUALIFY SORT UNION
  WINDOW`.split(/\s+/),
);
const wordsBeforeBy = new Set(['CLUSTER', 'DISTRIBUTE', 'GROUP', 'ORDER', 'SORT']);

/** Passes over everything from a clause that the dialect lacks; false if no such clause is here. */
function skipForeignTail(reader: TokenReader): boolean {
  if (!reader.isOneOf(foreignTailWords)) return false;
  const { keyword } = reader.advance();
  if (wordsBeforeBy.has(keyword)) reader.expectWord('BY');
  if (reader.isAtEnd()) throw reader.expected('an expression:');
  reader.skipToEnd();
  return true;
}
