import type {
  CallModifiers,
  Expression,
  Frame,
  FrameBound,
  FrameExclusion,
  FrameOffset,
  NamedWindow,
  OrderItem,
  Window,
} from './ast.ts';
import { parseExpression } from './parse-expression.ts';
import { isName } from './parse-names.ts';
import { parseOrderBy } from './parse-query.ts';
import type { TokenReader } from './token-reader.ts';
import { notColumnAlias } from './words.ts';

/**
 * `WITHIN GROUP (ORDER BY …)`, `FILTER (WHERE …)`, `OVER …` behind the arguments of a call, in this
 * order. `foreign`: one of them has a form that no dialect has.
 */
export function parseModifiers(
  reader: TokenReader,
  ordered: readonly OrderItem[],
): CallModifiers | 'foreign' | undefined {
  const isWithinGroup = isWithinGroupAhead(reader);
  const orderBy = isWithinGroup ? parseWithinGroup(reader) : ordered;
  const filter = parseFilter(reader);
  const over = parseOver(reader);
  if (orderBy === 'foreign' || filter === 'foreign' || over === 'foreign') return 'foreign';
  if (isWithinGroup && ordered.length > 0) return 'foreign';
  if (orderBy.length === 0 && filter === undefined && over === undefined) return undefined;
  return { orderBy, isWithinGroup, filter, over };
}

function isWithinGroupAhead(reader: TokenReader): boolean {
  return reader.isWord('WITHIN') && reader.isWord('GROUP', 1);
}

function parseWithinGroup(reader: TokenReader): readonly OrderItem[] | 'foreign' {
  reader.advance();
  reader.advance();
  if (!reader.isSymbol('(')) throw reader.expected('(');
  return inParentheses(reader, () => {
    const orderBy = parseOrderBy(reader);
    return orderBy.length === 0 ? 'foreign' : orderBy;
  });
}

function parseFilter(reader: TokenReader): Expression | 'foreign' | undefined {
  if (!reader.isWord('FILTER') || !reader.isSymbol('(', 1)) return undefined;
  reader.advance();
  return inParentheses(reader, () =>
    reader.takeWord('WHERE') ? parseExpression(reader) : 'foreign',
  );
}

function parseOver(reader: TokenReader): Window | string | 'foreign' | undefined {
  if (!reader.isWord('OVER')) return undefined;
  if (reader.isSymbol('(', 1)) {
    reader.advance();
    return parseWindow(reader);
  }
  // `f(x) over` without more is an alias.
  if (!isName(reader, 1) || reader.isOneOf(notColumnAlias, 1)) return undefined;
  reader.advance();
  return reader.expectName();
}

/** `WINDOW name AS (…), …` */
export function parseWindowClause(reader: TokenReader): readonly NamedWindow[] | 'foreign' {
  const windows: NamedWindow[] = [];
  if (!reader.takeWord('WINDOW')) return windows;
  let isForeign = false;
  do {
    const name = reader.expectName();
    reader.expectWord('AS');
    if (!reader.isSymbol('(')) throw reader.expected('(');
    const window = parseWindow(reader);
    if (window === 'foreign') isForeign = true;
    else windows.push({ name, window });
  } while (reader.takeSymbol(','));
  return isForeign ? 'foreign' : windows;
}

function parseWindow(reader: TokenReader): Window | 'foreign' {
  const start = reader.mark();
  return inParentheses(reader, () => {
    const partitionBy: Expression[] = [];
    if (reader.takeWord('PARTITION')) {
      reader.expectWord('BY');
      do partitionBy.push(parseExpression(reader));
      while (reader.takeSymbol(','));
    }
    const orderBy = parseOrderBy(reader);
    const frame = parseFrame(reader);
    if (frame === 'foreign') return 'foreign';
    return { partitionBy, orderBy, frame, span: reader.spanSince(start) };
  });
}

/** Reads what `parse` leaves as foreign, too. */
function inParentheses<Parsed>(
  reader: TokenReader,
  parse: () => Parsed | 'foreign',
): Parsed | 'foreign' {
  reader.expectSymbol('(');
  const parsed = reader.nested(parse);
  if (reader.takeSymbol(')')) return parsed;
  reader.skipToClose();
  reader.expectSymbol(')');
  return 'foreign';
}

const units = new Map<string, Frame['unit']>([
  ['ROWS', 'rows'],
  ['RANGE', 'range'],
  ['GROUPS', 'groups'],
]);

/** `ROWS start`, `ROWS BETWEEN start AND end`, then `EXCLUDE …`. */
function parseFrame(reader: TokenReader): Frame | 'foreign' | undefined {
  const unit = units.get(reader.current.keyword);
  if (unit === undefined) return undefined;
  const at = reader.mark();
  reader.advance();
  const isBetween = reader.takeWord('BETWEEN');
  const start = parseBound(reader);
  if (isBetween) reader.expectWord('AND');
  const end = isBetween ? parseBound(reader) : currentRow;
  const exclusion = parseExclusion(reader);
  if (start === 'foreign' || end === 'foreign') return 'foreign';
  return { unit, start, end, exclusion, span: reader.spanSince(at) };
}

/** `EXCLUDE CURRENT ROW`, `GROUP`, `TIES`, or `NO OTHERS`, which is as good as nothing. */
function parseExclusion(reader: TokenReader): FrameExclusion | undefined {
  if (!reader.takeWord('EXCLUDE')) return undefined;
  if (reader.takeWord('GROUP')) return 'group';
  if (reader.takeWord('TIES')) return 'ties';
  if (reader.takeWord('NO')) {
    reader.expectWord('OTHERS');
    return undefined;
  }
  reader.expectWord('CURRENT');
  reader.expectWord('ROW');
  return 'current row';
}

const currentRow: FrameBound = { side: 'following', offset: 0 };

function parseBound(reader: TokenReader): FrameBound | 'foreign' {
  if (reader.takeWord('CURRENT')) {
    reader.expectWord('ROW');
    return currentRow;
  }
  const isUnbounded = reader.takeWord('UNBOUNDED');
  const offset = isUnbounded ? Number.POSITIVE_INFINITY : parseOffset(reader);
  const side = reader.takeWord('PRECEDING') ? 'preceding' : 'following';
  if (side === 'following') reader.expectWord('FOLLOWING');
  return offset === 'foreign' ? 'foreign' : { side, offset };
}

function parseOffset(reader: TokenReader): FrameOffset | 'foreign' {
  const expression = parseExpression(reader);
  switch (expression.kind) {
    case 'number':
    case 'string':
    case 'hex':
    case 'typedLiteral':
      return expression;
    default:
      return 'foreign';
  }
}
