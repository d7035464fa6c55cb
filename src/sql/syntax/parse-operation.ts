import { assert } from '../../assert.ts';
import type { ArithmeticOperator, ArrayOperator, Expression, JsonOperator } from './ast.ts';
import { parseOperand } from './parse-operand.ts';
import { dialectTexts, unsupported } from './refusal.ts';
import type { TokenReader } from './token-reader.ts';

/** The precedence of operators. Those that are not arithmetic are refused by name. */
const strengths: ReadonlyMap<string, number> = new Map([
  ...['<=>', '<->', '<#>', '~', '!~', '~*', '!~*', '~~', '!~~', '~~*'].map(
    (text) => [text, 0] as const,
  ),
  ...['|', '&', '#', '^', '<<', '>>', '||', '&&', '@>', '<@'].map((text) => [text, 1] as const),
  ...['->', '->>', '#>>', '@', '=>', ':='].map((text) => [text, 1] as const),
  ['+', 2],
  ['-', 2],
  ['*', 3],
  ['/', 3],
  ['%', 3],
]);

const arithmeticOperators: ReadonlySet<string> = new Set(['+', '-', '*', '/', '%', '||']);

interface Operand {
  readonly expression: Expression;
  /** Tokens with the parentheses around it. */
  readonly from: number;
  readonly to: number;
}

interface Operator {
  readonly text: string;
  readonly strength: number;
}

/**
 * Operands with left-associative operators between them. Operators wait on a stack until one that
 * binds no tighter follows, so a long chain uses no call stack.
 */
export function parseOperation(reader: TokenReader): Expression {
  const first = parseMarked(reader);
  const operands = [first];
  const operators: Operator[] = [];
  for (;;) {
    const operator = operatorAt(reader);
    while (operators.length > 0 && strengthOf(operators.at(-1)) >= strengthOf(operator)) {
      reduce(operands, operators);
    }
    if (operator === undefined) break;
    reader.advance();
    operators.push(operator);
    operands.push(parseMarked(reader));
  }
  const [whole] = operands;
  assert(whole !== undefined && operands.length === 1, 'every operator took two operands');
  return whole.expression;
}

function parseMarked(reader: TokenReader): Operand {
  const from = reader.mark();
  const expression = parseOperand(reader);
  return { expression, from, to: reader.mark() };
}

function operatorAt(reader: TokenReader): Operator | undefined {
  const { kind, text } = reader.current;
  const strength = kind === 'symbol' ? strengths.get(text) : undefined;
  return strength === undefined ? undefined : { text, strength };
}

/** The end of the chain binds more loosely than any operator. */
function strengthOf(operator: Operator | undefined): number {
  return operator === undefined ? -1 : operator.strength;
}

function reduce(operands: Operand[], operators: Operator[]): void {
  const right = operands.pop();
  const left = operands.pop();
  const operator = operators.pop();
  assert(left !== undefined && right !== undefined, 'there is one operand more than operators');
  assert(operator !== undefined, 'the caller has seen an operator');
  const span = { from: left.from, to: right.to };
  operands.push({ expression: operation(operator.text, left, right), ...span });
}

function operation(operator: string, left: Operand, right: Operand): Expression {
  const span = { from: left.from, to: right.to };
  if (isOfArrays(operator)) {
    const operands = [left.expression, right.expression];
    return { kind: 'array', form: operator, operands, span };
  }
  if (isOfJson(operator)) {
    return { kind: 'json', operator, left: left.expression, right: right.expression, span };
  }
  if (!isArithmetic(operator)) {
    return unsupported(dialectTexts.operator(operator), span, operatorHints.get(operator));
  }
  return {
    kind: 'arithmetic',
    operator,
    left: left.expression,
    right: right.expression,
    span,
  };
}

const likeHint = "Write text LIKE 'a%', ILIKE for any case, or search(text, words)";

/** Operators of other databases, and what they are here. */
const operatorHints: ReadonlyMap<string, string> = new Map([
  ['<=>', 'Write cosine_distance(a, b) for vectors, a IS NOT DISTINCT FROM b for other values'],
  ['<->', 'Write distance(a, b)'],
  ['<#>', 'Write inner_product(a, b), and ORDER BY it DESC: here it has no minus sign'],
  ...['~', '!~', '~*', '!~*', '~~', '!~~', '~~*'].map((text) => [text, likeHint] as const),
]);

function isOfArrays(text: string): text is ArrayOperator {
  return text === '@>' || text === '<@' || text === '&&';
}

function isOfJson(text: string): text is JsonOperator {
  return text === '->' || text === '->>' || text === '#>>';
}

function isArithmetic(text: string): text is ArithmeticOperator {
  return arithmeticOperators.has(text);
}
