import { asOption, type Bound, columnOf } from '../check/conjuncts.ts';
import type { TypedColumn, TypedExpression } from '../check/typed.ts';
import { codePointsOf } from '../functions/code-points.ts';
import { checkedEscape, defaultEscape } from '../functions/like.ts';
import { decodeQueryValue, encodeQueryValue } from '../functions/value-codec.ts';

/**
 * The range of a column in which `column LIKE 'abc%'` and `starts_with(column, 'abc')` can hold:
 * from `abc` to before `abd`. An ordered index has texts in the order of their code points. Empty:
 * the start is not known, or there is none. Rows in the range have still to be tested.
 */
export function prefixBounds(conjunct: TypedExpression, slot: number): readonly Bound[] {
  const tested = testedPrefix(conjunct);
  if (tested === undefined || tested.prefix === '') return [];
  const column = columnOf(tested.operand, slot);
  if (column === undefined) return [];
  const isHeld = tested.operand !== column;
  const bound = (operator: '>=' | '<', text: string): Bound => {
    const value = textAs(text, tested.operand, column);
    return { column: column.column, operator, value, conjunct, isExact: false, isHeld };
  };
  const end = textAfter(tested.prefix);
  const lower = bound('>=', tested.prefix);
  return end === undefined ? [lower] : [lower, bound('<', end)];
}

interface TestedPrefix {
  readonly operand: TypedExpression;
  readonly prefix: string;
}

function testedPrefix(conjunct: TypedExpression): TestedPrefix | undefined {
  if (conjunct.kind === 'like') {
    const { operand, pattern, escape: escaping, ignoresCase } = conjunct;
    const text = ignoresCase ? undefined : textOf(pattern);
    const escapeBy = escaping === undefined ? defaultEscape : textOf(escaping);
    if (text === undefined || escapeBy === undefined) return undefined;
    return { operand, prefix: patternStart(text, checkedEscape(escapeBy)) };
  }
  if (conjunct.kind !== 'call' || conjunct.function.name !== 'starts_with') return undefined;
  const [operand, part] = conjunct.arguments;
  const prefix = part && textOf(part);
  return operand === undefined || prefix === undefined ? undefined : { operand, prefix };
}

/** A text that is written out; NULL is none. */
function textOf(e: TypedExpression): string | undefined {
  if (e.kind !== 'constant' || e.type.kind !== 'string') return undefined;
  const text = decodeQueryValue(e.type, e.bytes);
  return typeof text === 'string' ? text : undefined;
}

/** The text before the first `%` or `_`. */
function patternStart(pattern: string, escapeBy: string): string {
  const points = codePointsOf(pattern);
  let start = '';
  for (let at = 0; at < points.length; at++) {
    const point = points[at] as string;
    if (point === escapeBy) start += points[++at] ?? '';
    else if (point === '%' || point === '_') break;
    else start += point;
  }
  return start;
}

const lastPoint = 0x10_ffff;
const firstSurrogate = 0xd800;
const afterSurrogates = 0xe000;

/** The first text after all that begin with `prefix`; `undefined`: there is none. */
function textAfter(prefix: string): string | undefined {
  const points = codePointsOf(prefix);
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    const point = (last.codePointAt(0) ?? 0) + 1;
    if (point > lastPoint) continue;
    const isSurrogate = point >= firstSurrogate && point < afterSurrogates;
    return points.join('') + String.fromCodePoint(isSurrogate ? afterSurrogates : point);
  }
  return undefined;
}

/** A text as a value of the column, which may hold it as an Option. */
function textAs(text: string, tested: TypedExpression, column: TypedColumn): TypedExpression {
  const type = { kind: 'string' } as const;
  const bytes = encodeQueryValue(type, text);
  const value: TypedExpression = { kind: 'constant', type, isNullable: false, bytes };
  return tested === column ? value : asOption(value, column);
}
