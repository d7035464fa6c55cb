import { limits } from '../../limits.ts';
import { recursionLimit } from '../failure.ts';
import type { ComparisonOperator, Expression, Literal, Unsupported } from './ast.ts';
import type { TokenReader } from './token-reader.ts';
import { bareFunctionWords, functionWords, literalTypeWords } from './words.ts';

/**
 * Reads one expression. Loosest first: OR, XOR, AND, NOT, comparisons and the other predicates,
 * operators, one operand.
 *
 * Chains are read in loops, so only brackets (and a NOT on the right of a comparison) cost stack,
 * and those are counted. What the dialect has no meaning for is passed over and becomes
 * `Unsupported`.
 */
export function parseExpression(reader: TokenReader): Expression {
  return parseChain(reader, 'or', parseExclusiveOr);
}

/** A literal with its sign, as VALUES and SET want it, or the refusal of anything else. */
export function parseLiteral(reader: TokenReader, refusal: string): Literal | Unsupported {
  const start = reader.mark();
  const isParenthesised = reader.isSymbol('(');
  const expression = parseExpression(reader);
  if (!isParenthesised && isLiteral(expression)) return expression;
  const isRefusedLiteral =
    expression.kind === 'unsupported' && expression.message.startsWith(unsupportedLiteral(''));
  if (isRefusedLiteral && !isParenthesised) return expression;
  if (expression.kind === 'sender') return unsupported(unsupportedLiteral(':sender'));
  return unsupported(`${refusal}: ${reader.textSince(start)}`);
}

export function unsupported(message: string): Unsupported {
  return { kind: 'unsupported', message };
}

function isLiteral(expression: Expression): expression is Literal {
  const { kind } = expression;
  return kind === 'boolean' || kind === 'string' || kind === 'number' || kind === 'hex';
}

function parseChain(
  reader: TokenReader,
  kind: 'and' | 'or',
  parseTerm: (reader: TokenReader) => Expression,
): Expression {
  const keyword = kind === 'and' ? 'AND' : 'OR';
  const first = parseTerm(reader);
  if (!reader.isWord(keyword)) return first;
  const terms = [first];
  while (reader.takeWord(keyword)) terms.push(parseTerm(reader));
  if (terms.length > limits.sqlChainTermsMax) return unsupported(recursionLimit('parse'));
  return { kind, terms };
}

function parseExclusiveOr(reader: TokenReader): Expression {
  let left = parseConjunction(reader);
  while (reader.takeWord('XOR')) {
    parseConjunction(reader);
    left = unsupported('Unsupported binary operator: XOR');
  }
  return left;
}

function parseConjunction(reader: TokenReader): Expression {
  return parseChain(reader, 'and', parseNegation);
}

/** Any number of NOT: only whether it is odd matters, and that the operand is a condition. */
function parseNegation(reader: TokenReader): Expression {
  let count = 0;
  while (reader.takeWord('NOT')) count++;
  let operand = parsePredicate(reader);
  const layers = count === 0 ? 0 : 2 - (count % 2);
  for (let layer = 0; layer < layers; layer++) operand = { kind: 'not', operand };
  return operand;
}

function parsePredicate(reader: TokenReader): Expression {
  const start = reader.mark();
  let left = parseOperation(reader);
  for (let count = 0; ; count++) {
    const operator = comparisonOperatorAt(reader);
    if (operator !== undefined) {
      reader.advance();
      left = { kind: 'comparison', operator, left, right: parseOperation(reader) };
    } else if (skipOtherPredicate(reader)) {
      left = unsupported(`Unsupported expression: ${reader.textSince(start)}`);
    } else {
      return count > limits.sqlChainTermsMax ? unsupported(recursionLimit('parse')) : left;
    }
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

function comparisonOperatorAt(reader: TokenReader): ComparisonOperator | undefined {
  const { kind, text } = reader.current;
  return kind === 'symbol' ? comparisonOperators.get(text) : undefined;
}

const likeWords = new Set(['LIKE', 'ILIKE', 'RLIKE', 'REGEXP']);
const negatable = new Set(['IN', 'BETWEEN', 'SIMILAR', ...likeWords]);

/** Passes over `IS …`, `[NOT] IN (…)`, `[NOT] BETWEEN …`, `[NOT] LIKE …`; false if none is here. */
function skipOtherPredicate(reader: TokenReader): boolean {
  if (reader.takeWord('ISNULL') || reader.takeWord('NOTNULL')) return true;
  if (reader.takeWord('IS')) {
    reader.takeWord('NOT');
    if (reader.takeWord('DISTINCT')) {
      reader.expectWord('FROM');
      parseOperation(reader);
    } else reader.expectName();
    return true;
  }
  if (reader.isWord('NOT') && reader.isOneOf(negatable, 1)) reader.advance();
  if (reader.takeWord('IN')) {
    if (!reader.isSymbol('(')) throw reader.expected('(');
    reader.skipBrackets();
  } else if (reader.takeWord('BETWEEN')) {
    parseOperation(reader);
    reader.expectWord('AND');
    parseOperation(reader);
  } else if (reader.isOneOf(likeWords) || reader.isWord('SIMILAR')) {
    if (reader.advance().keyword === 'SIMILAR') reader.expectWord('TO');
    parseOperation(reader);
    if (reader.takeWord('ESCAPE')) reader.advance();
  } else return false;
  return true;
}

/** How tightly the operators of §8.2 bind, to name the one that an expression is about. */
const operatorStrength: ReadonlyMap<string, number> = new Map([
  ...['<=>', '~', '!~', '~*', '!~*', '~~', '!~~', '~~*'].map((text) => [text, 0] as const),
  ...['|', '&', '#', '^', '<<', '>>', '||', '&&'].map((text) => [text, 1] as const),
  ...['->', '->>', '#>>', '@', '=>', ':='].map((text) => [text, 1] as const),
  ['+', 2],
  ['-', 2],
  ['*', 3],
  ['/', 3],
  ['%', 3],
]);

function parseOperation(reader: TokenReader): Expression {
  const left = parseOperand(reader);
  let loosest: { text: string; strength: number } | undefined;
  for (;;) {
    const { kind, text } = reader.current;
    const strength = kind === 'symbol' ? operatorStrength.get(text) : undefined;
    if (strength === undefined) break;
    reader.advance();
    parseOperand(reader);
    if (loosest === undefined || strength <= loosest.strength) loosest = { text, strength };
  }
  if (loosest === undefined) return left;
  return unsupported(`Unsupported binary operator: ${loosest.text}`);
}

function parseOperand(reader: TokenReader): Expression {
  const start = reader.mark();
  const operand = parsePlainOperand(reader, start);
  if (!skipPostfix(reader)) return operand;
  while (skipPostfix(reader));
  return unsupported(`Unsupported expression: ${reader.textSince(start)}`);
}

/** Passes over one of `::type`, `[…]`, `.field`, `COLLATE …`, `AT TIME ZONE …`. */
function skipPostfix(reader: TokenReader): boolean {
  if (reader.isSymbol('[')) {
    reader.skipBrackets();
  } else if (reader.takeSymbol('::')) {
    reader.expectDottedName();
    if (reader.isSymbol('(')) reader.skipBrackets();
  } else if (reader.takeSymbol('.') || reader.takeWord('COLLATE')) {
    reader.expectName();
  } else if (reader.isWord('AT') && reader.isWord('TIME', 1) && reader.isWord('ZONE', 2)) {
    for (let word = 0; word < 3; word++) reader.advance();
    reader.nested(() => parseOperand(reader));
  } else return false;
  return true;
}

function parsePlainOperand(reader: TokenReader, start: number): Expression {
  const { kind, text } = reader.current;
  switch (kind) {
    case 'number':
    case 'string':
    case 'hex':
      reader.advance();
      return { kind, text };
    case 'exotic':
    case 'placeholder':
      reader.advance();
      return unsupported(unsupportedLiteral(text));
    case 'quotedWord':
      return parseName(reader, start);
    case 'word':
      return parseWord(reader, start);
    case 'symbol':
      return parseSymbol(reader, start);
    default:
      throw reader.expected('an expression:');
  }
}

function parseSymbol(reader: TokenReader, start: number): Expression {
  if (reader.isSymbol('(')) return parseParentheses(reader, start);
  if (reader.takeSymbol(':')) return parseParameter(reader);
  const sign = ['+', '-', '~', '!'].find((text) => reader.isSymbol(text));
  if (sign === undefined) throw reader.expected('an expression:');
  reader.advance();
  if ((sign === '+' || sign === '-') && reader.current.kind === 'number') {
    return { kind: 'number', text: sign + reader.advance().text };
  }
  reader.nested(() => parseOperand(reader));
  return unsupported(`Unsupported expression: ${reader.textSince(start)}`);
}

/** `:sender`, exactly so; no other parameter exists. */
function parseParameter(reader: TokenReader): Expression {
  const { kind, text } = reader.current;
  if (kind !== 'word' && kind !== 'number') throw reader.expected('placeholder');
  reader.advance();
  return text === 'sender' ? { kind: 'sender' } : unsupported(unsupportedLiteral(`:${text}`));
}

function parseParentheses(reader: TokenReader, start: number): Expression {
  const isQuery = ['SELECT', 'WITH', 'VALUES'].some((word) => reader.isWord(word, 1));
  if (isQuery && (reader.peek(2).kind !== 'symbol' || reader.isSymbol('*', 2))) {
    reader.skipBrackets();
    return unsupported(`Unsupported expression: ${reader.textSince(start)}`);
  }
  reader.expectSymbol('(');
  return reader.nested(() => {
    const first = parseExpression(reader);
    if (reader.takeSymbol(')')) return first;
    if (!reader.isSymbol(',')) throw reader.expected(')');
    while (reader.takeSymbol(',')) parseExpression(reader);
    reader.expectSymbol(')');
    return unsupported(`Unsupported expression: ${reader.textSince(start)}`);
  });
}

function parseWord(reader: TokenReader, start: number): Expression {
  if (reader.isSymbol('.', 1)) return parseName(reader, start);
  const { keyword, text } = reader.current;
  switch (keyword) {
    case 'TRUE':
    case 'FALSE':
      reader.advance();
      return { kind: 'boolean', value: keyword === 'TRUE' };
    case 'NULL':
      reader.advance();
      return unsupported(unsupportedLiteral('NULL'));
    case 'NOT':
      return reader.nested(() => parseNegation(reader));
    case 'CASE':
      return skipCase(reader, start);
    case 'INTERVAL':
      reader.advance();
      reader.nested(() => parseOperand(reader));
      if (
        reader.current.kind === 'word' &&
        /^(YEAR|MONTH|DAY|HOUR|MINUTE|SECOND)$/i.test(reader.current.text)
      )
        reader.advance();
      return unsupported(`Unsupported expression: ${reader.textSince(start)}`);
    default:
  }
  if (bareFunctionWords.has(keyword) && !reader.isSymbol('(', 1)) {
    reader.advance();
    return { kind: 'call', name: text, isCountOfRows: false, text };
  }
  if (literalTypeWords.has(keyword) && reader.peek(1).kind === 'string') {
    reader.advance();
    reader.advance();
    return unsupported(`Unsupported expression: ${reader.textSince(start)}`);
  }
  if (functionWords.has(keyword) && !reader.isSymbol('(', 1)) {
    reader.advance();
    throw reader.expected('(');
  }
  return parseName(reader, start);
}

/** A column, `relation.column`, or a call. */
function parseName(reader: TokenReader, start: number): Expression {
  let relation: string | undefined;
  let name = reader.expectName();
  while (reader.takeSymbol('.')) {
    relation = relation === undefined ? name : `${relation}.${name}`;
    name = reader.expectName();
  }
  if (!reader.isSymbol('(')) return { kind: 'column', relation, name };
  const isCount = relation === undefined && name.toUpperCase() === 'COUNT';
  const isOfRows = isCount && reader.isSymbol('*', 1) && reader.isSymbol(')', 2);
  reader.skipBrackets();
  const isPlain = !skipCallModifiers(reader);
  const fullName = relation === undefined ? name : `${relation}.${name}`;
  const text = reader.textSince(start);
  return { kind: 'call', name: fullName, isCountOfRows: isOfRows && isPlain, text };
}

/** Passes over `FILTER (…)`, `WITHIN GROUP (…)`, `OVER (…)`. */
function skipCallModifiers(reader: TokenReader): boolean {
  let isAny = false;
  for (;;) {
    if (reader.isWord('WITHIN') && reader.isWord('GROUP', 1)) reader.advance();
    else if (!((reader.isWord('FILTER') || reader.isWord('OVER')) && reader.isSymbol('(', 1))) {
      return isAny;
    }
    reader.advance();
    if (!reader.isSymbol('(')) throw reader.expected('(');
    reader.skipBrackets();
    isAny = true;
  }
}

function skipCase(reader: TokenReader, start: number): Expression {
  reader.expectWord('CASE');
  for (let open = 1; open > 0; ) {
    if (reader.isAtEnd()) throw reader.expected('END');
    const { keyword } = reader.advance();
    if (keyword === 'CASE') open++;
    else if (keyword === 'END') open--;
  }
  return unsupported(`Unsupported expression: ${reader.textSince(start)}`);
}

function unsupportedLiteral(text: string): string {
  return `Unsupported literal expression: ${text}`;
}
