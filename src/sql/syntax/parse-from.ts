import type { Expression, From, Join, Relation } from './ast.ts';
import { parseExpression } from './parse-expression.ts';
import { isName, parseAlias } from './parse-names.ts';
import { isQueryAhead, parseNames, parseQueryInParentheses } from './parse-query.ts';
import { dialectTexts, unsupported } from './refusal.ts';
import type { TokenReader } from './token-reader.ts';
import { notRelation, notRelationAlias } from './words.ts';

/** Reads the relations after FROM. */
export function parseFrom(reader: TokenReader): From {
  const start = reader.mark();
  const first = parseRelation(reader);
  const joins: Join[] = [];
  for (;;) {
    const join = parseJoin(reader);
    if (join === undefined) break;
    joins.push(join);
  }
  return { first, joins, span: reader.spanSince(start) };
}

function parseJoin(reader: TokenReader): Join | undefined {
  const start = reader.mark();
  const kind = reader.takeSymbol(',') ? 'comma' : skipJoinWords(reader);
  if (kind === undefined) return undefined;
  const relation = parseRelation(reader);
  const { on, isParenthesised, isUsing } =
    kind === 'comma' ? withoutCondition : parseCondition(reader);
  const isOther =
    isUsing ||
    (kind === 'cross' && on !== undefined) ||
    // An outer join without a condition has no meaning.
    (kind === 'left' && on === undefined);
  const span = reader.spanSince(start);
  return { kind: isOther ? 'other' : kind, relation, on, isParenthesised, span };
}

interface Condition {
  readonly on: Expression | undefined;
  readonly isParenthesised: boolean;
  readonly isUsing: boolean;
}

const withoutCondition: Condition = { on: undefined, isParenthesised: false, isUsing: false };

function parseCondition(reader: TokenReader): Condition {
  if (reader.takeWord('USING')) {
    if (!reader.isSymbol('(')) throw reader.expected('(');
    reader.skipBrackets();
    return { ...withoutCondition, isUsing: true };
  }
  if (!reader.takeWord('ON')) return withoutCondition;
  const start = reader.mark();
  const on = parseExpression(reader);
  return { on, isParenthesised: on.span.from > start, isUsing: false };
}

const otherJoinWords = new Set(['LEFT', 'RIGHT', 'FULL', 'NATURAL', 'CROSS', 'OUTER', 'INNER']);
const joinModifiers = new Set(['SEMI', 'ANTI']);

/** Reads the words up to JOIN; `undefined` if no join follows. */
export function skipJoinWords(reader: TokenReader): Exclude<Join['kind'], 'comma'> | undefined {
  if (reader.takeWord('JOIN')) return 'inner';
  if (!reader.isOneOf(otherJoinWords)) return undefined;
  const words: string[] = [];
  while (reader.isOneOf(otherJoinWords) || reader.isOneOf(joinModifiers)) {
    words.push(reader.advance().keyword);
  }
  if (reader.takeWord('APPLY')) return 'other';
  reader.expectWord('JOIN');
  switch (words.join(' ')) {
    case 'INNER':
      return 'inner';
    case 'CROSS':
      return 'cross';
    case 'LEFT':
    case 'LEFT OUTER':
      return 'left';
    default:
      return 'other';
  }
}

function parseRelation(reader: TokenReader): Relation {
  const start = reader.mark();
  const isLateral = reader.isWord('LATERAL') && (isName(reader, 1) || reader.isSymbol('(', 1));
  if (isLateral) reader.advance();
  if (reader.isWord('UNNEST') && reader.isSymbol('(', 1)) return parseUnnest(reader, start);
  if (!isLateral && isQueryAhead(reader)) return parseDerivedRelation(reader);
  const isFunctionWord = reader.isOneOf(notRelation) && reader.isSymbol('(', 1);
  const isBracketed = reader.isSymbol('(');
  let isForeign = isLateral || isFunctionWord || isBracketed;
  const name = isBracketed ? '' : reader.expectDottedName(isFunctionWord ? undefined : notRelation);
  if (reader.isSymbol('(')) {
    isForeign = true;
    reader.skipBrackets();
  }
  const alias = parseAlias(reader, notRelationAlias);
  if (alias !== undefined && reader.isSymbol('(')) {
    isForeign = true;
    reader.skipBrackets();
  }
  return isForeign
    ? unsupportedRelation(reader, start)
    : { kind: 'named', name, alias, span: reader.spanSince(start) };
}

function parseUnnest(reader: TokenReader, start: number): Relation {
  reader.advance();
  reader.expectSymbol('(');
  const array = parseExpression(reader);
  const isOne = !reader.isSymbol(',');
  while (reader.takeSymbol(',')) parseExpression(reader);
  reader.expectSymbol(')');
  const hasOrdinality = reader.isWord('WITH') && reader.isWord('ORDINALITY', 1);
  if (hasOrdinality) {
    reader.advance();
    reader.advance();
  }
  const alias = parseAlias(reader, notRelationAlias);
  const hasColumns = alias !== undefined && reader.isSymbol('(');
  const columns = hasColumns ? parseNames(reader) : undefined;
  if (!isOne) return unsupportedRelation(reader, start);
  const span = reader.spanSince(start);
  return { kind: 'unnest', array, hasOrdinality, alias, columns, span };
}

function parseDerivedRelation(reader: TokenReader): Relation {
  const start = reader.mark();
  const query = parseQueryInParentheses(reader);
  const alias = parseAlias(reader, notRelationAlias);
  const hasColumns = alias !== undefined && reader.isSymbol('(');
  const columns = hasColumns ? parseNames(reader) : undefined;
  if (query.body.kind === 'unsupported') return unsupportedRelation(reader, start);
  return { kind: 'derived', query, alias, columns, span: reader.spanSince(start) };
}

function unsupportedRelation(reader: TokenReader, start: number): Relation {
  const span = reader.spanSince(start);
  return unsupported(dialectTexts.from(reader.source.text(span)), span);
}
