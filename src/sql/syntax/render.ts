import { unreachable } from '../../assert.ts';
import { quotedName } from '../../schema/quoted-name.ts';
import type { Token } from './token.ts';
import { shownInCapitals } from './words.ts';

/**
 * Renders a part of a statement as error messages show it: keywords in capitals, one blank between
 * tokens except around dots and inside brackets, without comments.
 */
export function renderTokens(tokens: readonly Token[]): string {
  let text = '';
  tokens.forEach((token, at) => {
    const previous = tokens[at - 1];
    if (previous !== undefined) {
      const isBinary = isOperator(previous) && isOperand(tokens[at - 2]);
      if (isBinary || isBlankBetween(previous, token)) text += ' ';
    }
    text += renderToken(token);
  });
  return text;
}

function renderToken(token: Token): string {
  switch (token.kind) {
    case 'word':
      return shownInCapitals.has(token.keyword) ? token.keyword : token.text;
    case 'quotedWord':
      return quotedName(token.text);
    case 'string':
      return `'${token.text.replaceAll("'", "''")}'`;
    case 'hex':
      return `X'${token.text.replaceAll("'", "''")}'`;
    case 'number':
    case 'exotic':
    case 'placeholder':
    case 'symbol':
      return token.text;
    case 'end':
      return '';
    default:
      return unreachable(token.kind);
  }
}

function isBlankBetween(left: Token, right: Token): boolean {
  if (right.kind === 'symbol' && [',', ')', ']', '.', ';', '::', '['].includes(right.text)) {
    return false;
  }
  if (left.kind === 'symbol' && ['(', '[', '.', '::', ':'].includes(left.text)) return false;
  // A sign or a call keeps the distance at which it was written.
  const isTouching = left.end === right.start;
  if (right.kind === 'symbol' && right.text === '(') return !(isTouching && isName(left));
  return !(isTouching && left.kind === 'symbol' && '+-~'.includes(left.text));
}

function isOperator(token: Token): boolean {
  return token.kind === 'symbol' && '+-'.includes(token.text);
}

/** Tokens that end an operand: a sign after one of them is an operator between two operands. */
function isOperand(token: Token | undefined): boolean {
  switch (token?.kind) {
    case undefined:
      return false;
    case 'symbol':
      return token.text === ')' || token.text === ']';
    case 'word':
      return !shownInCapitals.has(token.keyword) && token.keyword !== 'OF';
    default:
      return true;
  }
}

function isName(token: Token): boolean {
  return token.kind === 'word' || token.kind === 'quotedWord';
}
