import type { Expression, OrderItem } from './ast.ts';
import { parseExpression } from './parse-expression.ts';
import { takeRelationWildcard } from './parse-names.ts';
import { parseOperation } from './parse-operation.ts';
import { isQueryAhead, parseOrderBy } from './parse-query.ts';
import { parseModifiers } from './parse-window.ts';
import { unsupportedExpression } from './refusal.ts';
import type { TokenReader } from './token-reader.ts';

interface Callee {
  /** As written, dots included. */
  readonly name: string;
  /** The name as a keyword if it is an unquoted word. */
  readonly form: string;
}

interface Arguments {
  /** The name to use instead, for the forms with words between the arguments. */
  readonly name?: string;
  readonly arguments: readonly Expression[];
  readonly isOfRows?: boolean;
  readonly isDistinct?: boolean;
  /** `f(x ORDER BY …)` */
  readonly orderBy?: readonly OrderItem[];
  /** Whether the arguments have a form that no function takes. */
  readonly isForeign?: boolean;
}

/** Reads the parenthesised arguments of a function whose name began at `start`. */
export function parseCall(reader: TokenReader, start: number, callee: Callee): Expression {
  const parsed = parseArguments(reader, callee.form);
  const modifiers = parseModifiers(reader, parsed.orderBy ?? []);
  if (parsed.isForeign === true || modifiers === 'foreign') {
    const refused = unsupportedExpression(reader, start);
    reader.refusedCalls.add(refused.span);
    return refused;
  }
  return {
    kind: 'call',
    name: parsed.name ?? callee.name,
    arguments: parsed.arguments,
    isOfRows: parsed.isOfRows === true,
    isDistinct: parsed.isDistinct === true,
    isBare: false,
    modifiers,
    span: reader.spanSince(start),
  };
}

function parseArguments(reader: TokenReader, form: string): Arguments {
  // `f(SELECT …)` is not a valid call, `f((SELECT …))` has a subquery as its argument.
  if (isQueryAhead(reader) && !reader.isSymbol('(', 1)) {
    reader.skipBrackets();
    return { arguments: [], isForeign: true };
  }
  reader.expectSymbol('(');
  return reader.nested(() => {
    const parsed = parseForm(reader, form);
    reader.expectSymbol(')');
    return parsed;
  });
}

function parseForm(reader: TokenReader, form: string): Arguments {
  switch (form) {
    case 'EXTRACT':
      return parseExtract(reader);
    case 'POSITION':
      return parsePosition(reader);
    case 'TRIM':
      return parseTrim(reader);
    case 'SUBSTRING':
      return parseSubstring(reader);
    case 'OVERLAY':
      return parseOverlay(reader);
    default:
      return parsePlainArguments(reader);
  }
}

const argumentTailWords = new Set('HAVING IGNORE LIMIT ON RESPECT SEPARATOR USING'.split(' '));

function parsePlainArguments(reader: TokenReader): Arguments {
  if (reader.isSymbol(')')) return { arguments: [] };
  if (reader.isSymbol('*') && reader.isSymbol(')', 1)) {
    reader.advance();
    return { arguments: [], isOfRows: true };
  }
  const isDistinct = takeQuantifier(reader, 'DISTINCT');
  if (!isDistinct) takeQuantifier(reader, 'ALL');
  const parsed: Expression[] = [];
  do {
    if (takeRelationWildcard(reader) !== undefined) {
      reader.skipToClose();
      return { arguments: [], isForeign: true };
    }
    parsed.push(parseExpression(reader));
  } while (reader.takeSymbol(','));
  const orderBy = parseOrderBy(reader);
  if (!reader.isOneOf(argumentTailWords)) return { arguments: parsed, isDistinct, orderBy };
  reader.skipToClose();
  return { arguments: [], isForeign: true };
}

/** A word before the first argument, unless it is the argument. */
function takeQuantifier(reader: TokenReader, word: string): boolean {
  if (!reader.isWord(word)) return false;
  const isArgument = [')', ',', '.'].some((symbol) => reader.isSymbol(symbol, 1));
  if (!isArgument) reader.advance();
  return !isArgument;
}

/** `EXTRACT(year FROM x)`: the field becomes a string. */
function parseExtract(reader: TokenReader): Arguments {
  const { kind, text } = reader.current;
  const isField = (kind === 'word' || kind === 'string') && reader.isWord('FROM', 1);
  if (!isField) return parsePlainArguments(reader);
  const start = reader.mark();
  reader.advance();
  const field: Expression = {
    kind: 'string',
    text: text.toLowerCase(),
    span: reader.spanSince(start),
  };
  reader.expectWord('FROM');
  return { name: 'extract', arguments: [field, parseExpression(reader)] };
}

/** `POSITION(a IN b)`: its first operand ends where IN would begin a predicate. */
function parsePosition(reader: TokenReader): Arguments {
  if (reader.isSymbol(')')) return { arguments: [] };
  const sought = parseOperation(reader);
  if (reader.takeWord('IN')) return { name: 'strpos', arguments: [parseOperation(reader), sought] };
  const parsed = [sought];
  while (reader.takeSymbol(',')) parsed.push(parseExpression(reader));
  return { arguments: parsed };
}

const trims: ReadonlyMap<string, string> = new Map([
  ['BOTH', 'btrim'],
  ['LEADING', 'ltrim'],
  ['TRAILING', 'rtrim'],
]);

/** `TRIM([BOTH | LEADING | TRAILING] [characters] FROM x)`, `TRIM(x [, characters])` */
function parseTrim(reader: TokenReader): Arguments {
  const side = trims.get(reader.current.keyword);
  const isArgument = [')', ',', '.'].some((symbol) => reader.isSymbol(symbol, 1));
  if (side === undefined || isArgument) {
    const plain = parsePlainArguments(reader);
    if (!reader.takeWord('FROM')) return plain;
    return { name: 'btrim', arguments: [parseExpression(reader), ...plain.arguments] };
  }
  reader.advance();
  if (reader.takeWord('FROM')) return { name: side, arguments: [parseExpression(reader)] };
  const first = parseExpression(reader);
  if (!reader.takeWord('FROM')) return { name: side, arguments: [first] };
  return { name: side, arguments: [parseExpression(reader), first] };
}

/** `SUBSTRING(x FROM a FOR b)`, where either part can be missing; `SUBSTRING(x, a, b)` */
function parseSubstring(reader: TokenReader): Arguments {
  const plain = parsePlainArguments(reader);
  if (plain.arguments.length !== 1) return plain;
  const from = reader.takeWord('FROM') ? parseExpression(reader) : undefined;
  const count = reader.takeWord('FOR') ? parseExpression(reader) : undefined;
  if (from === undefined && count === undefined) return plain;
  const at = reader.mark();
  const first: Expression = from ?? { kind: 'number', text: '1', span: { from: at, to: at } };
  const rest = count === undefined ? [first] : [first, count];
  return { name: 'substring', arguments: [...plain.arguments, ...rest] };
}

/** `OVERLAY(x PLACING y FROM a [FOR b])` */
function parseOverlay(reader: TokenReader): Arguments {
  const plain = parsePlainArguments(reader);
  if (!reader.takeWord('PLACING')) return plain;
  const parsed = [...plain.arguments, parseExpression(reader)];
  reader.expectWord('FROM');
  parsed.push(parseExpression(reader));
  if (reader.takeWord('FOR')) parsed.push(parseExpression(reader));
  return { name: 'overlay', arguments: parsed };
}
