import type { Expression } from './ast.ts';
import { parseExpression } from './parse-expression.ts';
import { parseOperand } from './parse-operand.ts';
import { unsupportedExpression } from './refusal.ts';
import type { TokenReader } from './token-reader.ts';

/** The name of a type as errors show it: `U32`, `double precision`, `varchar(10)`. */
export function parseTypeName(reader: TokenReader): string {
  const start = reader.mark();
  const { keyword } = reader.current;
  reader.expectDottedName();
  if (keyword === 'DOUBLE') reader.takeWord('PRECISION');
  if (keyword === 'CHARACTER') reader.takeWord('VARYING');
  if (reader.isSymbol('(')) skipSizes(reader);
  if (keyword === 'TIMESTAMP' || keyword === 'TIME') skipTimeZone(reader);
  return reader.textSince(start);
}

/** `(10)`, `(10, 2)` */
function skipSizes(reader: TokenReader): void {
  reader.expectSymbol('(');
  do {
    if (reader.current.kind !== 'number') throw reader.expected('literal int');
    reader.advance();
  } while (reader.takeSymbol(','));
  reader.expectSymbol(')');
}

function skipTimeZone(reader: TokenReader): void {
  const isZone = reader.isWord('WITH') || reader.isWord('WITHOUT');
  if (!isZone || !reader.isWord('TIME', 1) || !reader.isWord('ZONE', 2)) return;
  for (let word = 0; word < 3; word++) reader.advance();
}

/** `CAST(operand AS type)`; a type in angle brackets needs the parentheses around it. */
export function parseCast(reader: TokenReader): Expression {
  const start = reader.mark();
  reader.expectWord('CAST');
  reader.expectSymbol('(');
  const operand = reader.nested(() => parseExpression(reader));
  reader.expectWord('AS');
  let typeName = parseTypeName(reader);
  if (reader.takeSymbol('<')) {
    typeName += `<${reader.expectName()}>`;
    reader.expectSymbol('>');
  }
  reader.expectSymbol(')');
  return { kind: 'cast', operand, typeName, span: reader.spanSince(start) };
}

const unit = /^(YEAR|MONTH|DAY|HOUR|MINUTE|SECOND)$/;

/** `TIMESTAMP '…'`, `INTERVAL '1 day'`, `INTERVAL '1' DAY` */
export function parseTypedLiteral(reader: TokenReader): Expression {
  const start = reader.mark();
  const typeName = reader.advance().keyword;
  const isText = reader.current.kind === 'string';
  let { text } = reader.current;
  if (isText) reader.advance();
  else reader.nested(() => parseOperand(reader));
  if (typeName === 'INTERVAL' && unit.test(reader.current.keyword)) {
    text += ` ${reader.advance().text}`;
  }
  if (!isText) return unsupportedExpression(reader, start);
  return { kind: 'typedLiteral', typeName, text, span: reader.spanSince(start) };
}
