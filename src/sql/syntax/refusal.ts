import type { Expression, Span, Unsupported } from './ast.ts';
import type { TokenReader } from './token-reader.ts';

/** A construct that parses as SQL but is in no dialect; `span` is its place. */
export function unsupported(message: string, span: Span): Unsupported {
  return { kind: 'unsupported', message, span };
}

/** Refuses the tokens since `start` as a statement, a clause of it, or a query. */
export function unsupportedSince(reader: TokenReader, start: number): Unsupported {
  return unsupported(`Unsupported: ${reader.textSince(start)}`, reader.spanSince(start));
}

export function unsupportedExpression(reader: TokenReader, start: number): Unsupported {
  const span = reader.spanSince(start);
  return unsupported(`${expressionRefusal}${reader.source.text(span)}`, span);
}

export function unsupportedLiteral(reader: TokenReader, start: number): Unsupported {
  const span = reader.spanSince(start);
  return unsupported(`${literalRefusal}${reader.source.text(span)}`, span);
}

export function isRefusedLiteral(expression: Expression): expression is Unsupported {
  return expression.kind === 'unsupported' && expression.message.startsWith(literalRefusal);
}

const expressionRefusal = 'Unsupported expression: ';
const literalRefusal = 'Unsupported literal expression: ';
