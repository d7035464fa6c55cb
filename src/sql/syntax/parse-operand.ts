import type { Expression } from './ast.ts';
import { parseCall } from './parse-call.ts';
import { parseExpression, parseNegation } from './parse-expression.ts';
import { isQueryAhead, parseQueryInParentheses } from './parse-query.ts';
import { parseCast, parseTypedLiteral, parseTypeName } from './parse-type.ts';
import { unsupportedExpression, unsupportedLiteral } from './refusal.ts';
import type { Token } from './token.ts';
import type { TokenReader } from './token-reader.ts';
import { bareFunctionWords, literalTypeWords } from './words.ts';

/** Reads one operand with its attachments: `::type`, `.field`, a leading sign. */
export function parseOperand(reader: TokenReader): Expression {
  const start = reader.mark();
  let operand = parsePlainOperand(reader, start);
  let isForeign = false;
  for (;;) {
    if (reader.takeSymbol('::')) {
      const typeName = parseTypeName(reader);
      operand = { kind: 'cast', operand, typeName, span: reader.spanSince(start) };
    } else if (reader.isSymbol('.') && hasFields(operand, reader.peek(-1))) {
      reader.advance();
      const name = reader.expectName();
      operand = { kind: 'field', operand, name, span: reader.spanSince(start) };
    } else if (reader.isSymbol('[')) {
      const index = parseBrackets(reader, start);
      operand = { ...index, form: 'element', operands: [operand, ...index.operands] };
    } else if (skipForeignPostfix(reader)) isForeign = true;
    else return isForeign ? unsupportedExpression(reader, start) : operand;
  }
}

/** A field can follow parentheses only: after a name the dot is part of it. */
function hasFields(operand: Expression, { kind, text }: Token): boolean {
  return operand.kind === 'field' || (kind === 'symbol' && (text === ')' || text === ']'));
}

type ArrayExpression = Extract<Expression, { readonly kind: 'array' }>;

/** `[a, b]`: the values of an array; one of them may be a position in one. */
function parseBrackets(reader: TokenReader, start: number): ArrayExpression {
  reader.expectSymbol('[');
  const operands: Expression[] = [];
  if (!reader.isSymbol(']')) {
    reader.nested(() => {
      do operands.push(parseExpression(reader));
      while (reader.takeSymbol(','));
    });
  }
  reader.expectSymbol(']');
  return { kind: 'array', form: 'literal', operands, span: reader.spanSince(start) };
}

/** Skips `COLLATE …`, `AT TIME ZONE …`; returns false if none follows. */
function skipForeignPostfix(reader: TokenReader): boolean {
  if (reader.takeWord('COLLATE')) {
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
      return { kind, text, span: reader.spanSince(start) };
    case 'exotic':
      reader.advance();
      return unsupportedLiteral(reader, start);
    case 'placeholder':
      reader.advance();
      if (!text.startsWith('$')) return unsupportedLiteral(reader, start);
      return { kind: 'parameter', name: text.slice(1), span: reader.spanSince(start) };
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
  if (reader.isSymbol('[')) return parseBrackets(reader, start);
  if (reader.takeSymbol(':')) return parseParameter(reader, start);
  const sign = ['+', '-', '~', '!'].find((text) => reader.isSymbol(text));
  if (sign === undefined) throw reader.expected('an expression:');
  reader.advance();
  if ((sign === '+' || sign === '-') && reader.current.kind === 'number') {
    const text = sign + reader.advance().text;
    return { kind: 'number', text, span: reader.spanSince(start) };
  }
  const operand = reader.nested(() => parseOperand(reader));
  if (sign !== '-') return unsupportedExpression(reader, start);
  return { kind: 'negate', operand, span: reader.spanSince(start) };
}

/** Exactly `:sender` is the caller; every other name is a value sent with the request. */
function parseParameter(reader: TokenReader, start: number): Expression {
  const { kind, text } = reader.current;
  if (kind !== 'word' && kind !== 'number') throw reader.expected('placeholder');
  reader.advance();
  if (kind === 'number' && !/^\d+$/.test(text)) return unsupportedLiteral(reader, start);
  const span = reader.spanSince(start);
  return text === 'sender' ? { kind: 'sender', span } : { kind: 'parameter', name: text, span };
}

function parseParentheses(reader: TokenReader, start: number): Expression {
  if (isQueryAhead(reader)) {
    const query = parseQueryInParentheses(reader);
    if (query.body.kind === 'unsupported') return unsupportedExpression(reader, start);
    return { kind: 'subquery', query, span: reader.spanSince(start) };
  }
  reader.expectSymbol('(');
  return reader.nested(() => {
    const first = parseExpression(reader);
    if (reader.takeSymbol(')')) return first;
    if (!reader.isSymbol(',')) throw reader.expected(')');
    const values = [first];
    while (reader.takeSymbol(',')) values.push(parseExpression(reader));
    reader.expectSymbol(')');
    return { kind: 'row', values, span: reader.spanSince(start) };
  });
}

function parseWord(reader: TokenReader, start: number): Expression {
  if (reader.isSymbol('.', 1)) return parseName(reader, start);
  const { keyword, text } = reader.current;
  switch (keyword) {
    case 'TRUE':
    case 'FALSE':
      reader.advance();
      return { kind: 'boolean', value: keyword === 'TRUE', span: reader.spanSince(start) };
    case 'NULL':
      reader.advance();
      return { kind: 'null', span: reader.spanSince(start) };
    case 'NOT':
      return reader.nested(() => parseNegation(reader));
    case 'CASE':
      return reader.nested(() => parseCase(reader, start));
    case 'ARRAY':
      if (!reader.isSymbol('[', 1)) break;
      reader.advance();
      return parseBrackets(reader, start);
    default:
  }
  const isCall = reader.isSymbol('(', 1);
  if (bareFunctionWords.has(keyword) && !isCall) {
    reader.advance();
    return {
      kind: 'call',
      modifiers: undefined,
      name: text,
      arguments: [],
      isOfRows: false,
      isDistinct: false,
      isBare: true,
      span: reader.spanSince(start),
    };
  }
  const isTypedLiteral = literalTypeWords.has(keyword) && reader.peek(1).kind === 'string';
  const isInterval = keyword === 'INTERVAL' && !isWhole(reader);
  if (isTypedLiteral || isInterval) return parseTypedLiteral(reader);
  return isCall ? parseFunctionWord(reader, start) : parseName(reader, start);
}

const operandSymbols = new Set(['(', '[', ':', '+', '-', '~', '!']);

/** Whether this word is all of an operand: no value follows it. */
function isWhole(reader: TokenReader): boolean {
  const { kind, text } = reader.peek(1);
  return kind === 'end' || kind === 'word' || (kind === 'symbol' && !operandSymbols.has(text));
}

/** A word before parentheses; most are read like any other call. */
function parseFunctionWord(reader: TokenReader, start: number): Expression {
  const { keyword } = reader.current;
  switch (keyword) {
    case 'CAST':
      return parseCast(reader);
    case 'EXISTS': {
      reader.advance();
      const query = parseQueryInParentheses(reader);
      if (query.body.kind === 'unsupported') return unsupportedExpression(reader, start);
      return { kind: 'exists', query, span: reader.spanSince(start) };
    }
    case 'SAFE_CAST':
    case 'TRY_CAST':
      reader.advance();
      reader.skipBrackets();
      return unsupportedExpression(reader, start);
    default:
      return parseName(reader, start);
  }
}

/** A column with its qualifiers and fields, or a call. */
function parseName(reader: TokenReader, start: number): Expression {
  const { keyword } = reader.current;
  const parts = [reader.expectName()];
  while (reader.takeSymbol('.')) parts.push(reader.expectName());
  if (!reader.isSymbol('(')) return { kind: 'column', parts, span: reader.spanSince(start) };
  const form = parts.length === 1 ? keyword : '';
  return parseCall(reader, start, { name: parts.join('.'), form });
}

function parseCase(reader: TokenReader, start: number): Expression {
  reader.expectWord('CASE');
  const operand = reader.isWord('WHEN') ? undefined : parseExpression(reader);
  const branches: { when: Expression; then: Expression }[] = [];
  do {
    reader.expectWord('WHEN');
    const when = parseExpression(reader);
    reader.expectWord('THEN');
    // biome-ignore lint/suspicious/noThenProperty: no branch is ever awaited.
    branches.push({ when, then: parseExpression(reader) });
  } while (reader.isWord('WHEN'));
  const otherwise = reader.takeWord('ELSE') ? parseExpression(reader) : undefined;
  reader.expectWord('END');
  return { kind: 'case', operand, branches, otherwise, span: reader.spanSince(start) };
}
