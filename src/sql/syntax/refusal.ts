import type { Expression, Span, Unsupported } from './ast.ts';
import type { TokenReader } from './token-reader.ts';

/** A construct that parses as SQL but is in no dialect; `span` is its place. */
export function unsupported(message: string, span: Span, hint?: string): Unsupported {
  return { kind: 'unsupported', message, ...(hint !== undefined && { hint }), span };
}

/** Refuses the tokens since `start` as a statement, a clause of it, or a query. */
export function unsupportedSince(reader: TokenReader, start: number): Unsupported {
  return unsupported(`Unsupported: ${reader.textSince(start)}`, reader.spanSince(start));
}

export function unsupportedExpression(reader: TokenReader, start: number): Unsupported {
  const span = reader.spanSince(start);
  return unsupported(dialectTexts.expression(reader.source.text(span)), span);
}

export function unsupportedLiteral(reader: TokenReader, start: number): Unsupported {
  const span = reader.spanSince(start);
  return unsupported(dialectTexts.literal(reader.source.text(span)), span);
}

export function isRefusedLiteral(expression: Expression): expression is Unsupported {
  return expression.kind === 'unsupported' && expression.message.startsWith(literalRefusal);
}

/** True of an expression that is refused for what it is, not for its place. */
export function isRefusedExpression(expression: Expression): expression is Unsupported {
  if (expression.kind !== 'unsupported') return false;
  const { message } = expression;
  const texts = [dialectTexts.expression(''), dialectTexts.literal(''), dialectTexts.operator('')];
  return texts.some((text) => message.startsWith(text));
}

const expressionRefusal = 'Unsupported expression: ';
const literalRefusal = 'Unsupported literal expression: ';

/** Texts for what the parser, or more than one dialect, refuses; clients rely on them. */
export const dialectTexts = {
  noFrom: 'A FROM clause is required',
  mixedWildcards: 'Mixed wildcard projections are not supported',
  implicitJoin: 'Implicit joins are not supported',
  otherJoin: 'Non-inner joins are not supported',
  noAlias: 'Aggregate expressions must have column aliases',
  aggregate: (text: string) => `Unsupported aggregate function: ${text}`,
  projection: (text: string) => `Unsupported projection expression: ${text}`,
  from: (text: string) => `Unsupported FROM expression: ${text}`,
  insertValue: (text: string) => `Unsupported INSERT value: ${text}`,
  assignment: (text: string) => `Unsupported column/variable assignment expression: ${text}`,
  operator: (text: string) => `Unsupported binary operator: ${text}`,
  expression: (text: string) => `${expressionRefusal}${text}`,
  literal: (text: string) => `${literalRefusal}${text}`,
} as const;
