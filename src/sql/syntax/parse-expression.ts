import { limits } from '../../limits.ts';
import { recursionLimit } from '../failure.ts';
import type { ComparisonOperator, Expression } from './ast.ts';
import { parseOperation } from './parse-operation.ts';
import { isQueryAhead, parseQueryInParentheses } from './parse-query.ts';
import { dialectTexts, unsupported, unsupportedExpression } from './refusal.ts';
import type { TokenReader } from './token-reader.ts';

/**
 * Reads one expression. Loosest first: OR, XOR, AND, NOT, comparisons and the other predicates
 * (from left to right), operators, one operand.
 *
 * Chains are read in loops, so only brackets, CASE, signs and a NOT on the right of a comparison
 * use stack, and those are counted. Constructs that are not supported are skipped and become
 * `Unsupported`.
 *
 * The span of an expression excludes parentheses around the whole of it, and includes those around
 * a part of it: `(a) + 1` is all of that.
 */
export function parseExpression(reader: TokenReader): Expression {
  return parseChain(reader, 'or', parseExclusiveOr);
}

type ParseTerm = (reader: TokenReader) => Expression;

function parseChain(reader: TokenReader, kind: 'and' | 'or', parseTerm: ParseTerm): Expression {
  const start = reader.mark();
  const keyword = kind === 'and' ? 'AND' : 'OR';
  const first = parseTerm(reader);
  if (!reader.isWord(keyword)) return first;
  const terms = [first];
  while (reader.takeWord(keyword)) terms.push(parseTerm(reader));
  const span = reader.spanSince(start);
  if (terms.length > limits.sqlChainTermsMax) return unsupported(recursionLimit('parse'), span);
  return { kind, terms, span };
}

function parseExclusiveOr(reader: TokenReader): Expression {
  const start = reader.mark();
  let left = parseConjunction(reader);
  while (reader.takeWord('XOR')) {
    parseConjunction(reader);
    left = unsupported(dialectTexts.operator('XOR'), reader.spanSince(start));
  }
  return left;
}

function parseConjunction(reader: TokenReader): Expression {
  return parseChain(reader, 'and', parseNegation);
}

/** Any number of NOT: only whether it is odd matters, and that the operand is a condition. */
export function parseNegation(reader: TokenReader): Expression {
  const start = reader.mark();
  let count = 0;
  while (reader.takeWord('NOT')) count++;
  let operand = parsePredicate(reader);
  if (count === 0) return operand;
  const isOdd = count % 2 === 1;
  if (!isOdd) operand = { kind: 'not', operand, span: reader.spanSince(start + count - 1) };
  return { kind: 'not', operand, span: reader.spanSince(start) };
}

function parsePredicate(reader: TokenReader): Expression {
  const start = reader.mark();
  let left = parseOperation(reader);
  for (let count = 0; ; count++) {
    const next = parseComparison(reader, left, start) ?? parseOtherPredicate(reader, left, start);
    if (next !== undefined) left = next;
    else if (count <= limits.sqlChainTermsMax) return left;
    else return unsupported(recursionLimit('parse'), reader.spanSince(start));
  }
}

const comparisonOperators: ReadonlyMap<string, ComparisonOperator> = new Map([
  ['=', '='],
  ['==', '='],
  ['<>', '<>'],
  ['!=', '<>'],
  ['<', '<'],
  ['<=', '<='],
  ['>', '>'],
  ['>=', '>='],
]);

/** `left`, which began at `start`, with the operator and operand after it, if any. */
function parseComparison(
  reader: TokenReader,
  left: Expression,
  start: number,
): Expression | undefined {
  const { kind, text } = reader.current;
  const operator = kind === 'symbol' ? comparisonOperators.get(text) : undefined;
  if (operator === undefined) return undefined;
  reader.advance();
  const right = parseOperation(reader);
  return { kind: 'comparison', operator, left, right, span: reader.spanSince(start) };
}

const foreignLikeWords = new Set(['REGEXP', 'RLIKE', 'SIMILAR']);
const negatable = new Set(['BETWEEN', 'IN', 'ILIKE', 'LIKE', ...foreignLikeWords]);

/** `IS …`, `[NOT] IN (…)`, `[NOT] BETWEEN …`, `[NOT] LIKE …`; `undefined` if none follows. */
function parseOtherPredicate(
  reader: TokenReader,
  operand: Expression,
  start: number,
): Expression | undefined {
  const isNullWord = reader.isWord('ISNULL');
  if (isNullWord || reader.isWord('NOTNULL')) {
    reader.advance();
    return { kind: 'isNull', operand, isNegated: !isNullWord, span: reader.spanSince(start) };
  }
  if (reader.takeWord('IS')) return parseIs(reader, operand, start);
  const isNegated = reader.isWord('NOT') && reader.isOneOf(negatable, 1);
  if (isNegated) reader.advance();
  if (reader.isWord('IN')) {
    const among = parseAmong(reader);
    return { kind: 'in', operand, among, isNegated, span: reader.spanSince(start) };
  }
  if (reader.takeWord('BETWEEN')) {
    const low = parseOperation(reader);
    reader.expectWord('AND');
    const high = parseOperation(reader);
    return { kind: 'between', operand, low, high, isNegated, span: reader.spanSince(start) };
  }
  if (reader.isWord('LIKE') || reader.isWord('ILIKE')) {
    const ignoresCase = reader.advance().keyword === 'ILIKE';
    const pattern = parseOperation(reader);
    const escapeMark = reader.takeWord('ESCAPE') ? parseOperation(reader) : undefined;
    const span = reader.spanSince(start);
    return {
      kind: 'like',
      operand,
      pattern,
      escape: escapeMark,
      ignoresCase,
      isNegated,
      span,
    };
  }
  if (!reader.isOneOf(foreignLikeWords)) return undefined;
  if (reader.advance().keyword === 'SIMILAR') reader.expectWord('TO');
  parseOperation(reader);
  if (reader.takeWord('ESCAPE')) parseOperation(reader);
  return unsupportedExpression(reader, start);
}

/** Reads the rest of IS. */
function parseIs(reader: TokenReader, operand: Expression, start: number): Expression {
  const isNegated = reader.takeWord('NOT');
  if (reader.isWord('DISTINCT') && reader.isWord('FROM', 1)) {
    reader.advance();
    reader.advance();
    const right = parseOperation(reader);
    const span = reader.spanSince(start);
    return { kind: 'isDistinct', left: operand, right, isNegated, span };
  }
  const { keyword } = reader.current;
  reader.expectName();
  const span = reader.spanSince(start);
  switch (keyword) {
    case 'NULL':
    case 'UNKNOWN':
      return { kind: 'isNull', operand, isNegated, span };
    case 'TRUE':
      return { kind: 'isTrue', operand, isNegated, span };
    case 'FALSE':
      return { kind: 'isFalse', operand, isNegated, span };
    default:
      return unsupportedExpression(reader, start);
  }
}

function parseAmong(reader: TokenReader): (Expression & { readonly kind: 'in' })['among'] {
  reader.expectWord('IN');
  if (isQueryAhead(reader)) return parseQueryInParentheses(reader);
  reader.expectSymbol('(');
  return reader.nested(() => {
    const among: Expression[] = [];
    do among.push(parseExpression(reader));
    while (reader.takeSymbol(','));
    reader.expectSymbol(')');
    return among;
  });
}
