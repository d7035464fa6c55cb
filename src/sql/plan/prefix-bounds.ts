import { asOption, type Bound, columnOf } from '../check/conjuncts.ts';
import type { TypedColumn, TypedExpression } from '../check/typed.ts';
import { isRequestValue } from '../check/typed-expression.ts';
import { codePointsOf } from '../functions/code-points.ts';
import type { QueryValue, ScalarFunction } from '../functions/function.ts';
import { checkedEscape, defaultEscape } from '../functions/like.ts';
import { decodeQueryValue, encodeQueryValue } from '../functions/value-codec.ts';
import { scalarTypes } from '../functions/value-kind.ts';

/**
 * The range of a column in which `column LIKE 'abc%'` and `starts_with(column, 'abc')` can hold:
 * from `abc` to before `abd`. An ordered index has texts in the order of their code points. A
 * pattern that comes with the request is taken apart when the statement runs. Empty: the start is
 * not known, or there is none. Rows in the range have still to be tested.
 */
export function prefixBounds(conjunct: TypedExpression, slot: number): readonly Bound[] {
  return knownBounds(conjunct, slot) ?? requestBounds(conjunct, slot);
}

function knownBounds(conjunct: TypedExpression, slot: number): readonly Bound[] | undefined {
  const tested = testedPrefix(conjunct);
  if (tested === undefined) return undefined;
  if (tested.prefix === '') return [];
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

function requestBounds(conjunct: TypedExpression, slot: number): readonly Bound[] {
  const test = testedBy(conjunct);
  const column = test && columnOf(test.operand, slot);
  if (test === undefined || column === undefined) return [];
  if (!test.arguments.every(isRequestValue)) return [];
  const isHeld = test.operand !== column;
  return (['>=', '<'] as const).map((operator): Bound => {
    const made = boundOfPattern(operator === '<', test.isPattern, test.arguments.length);
    const value: TypedExpression = {
      kind: 'call',
      function: made,
      arguments: test.arguments,
      type: scalarTypes.string,
      isNullable: true,
    };
    const bound = isHeld ? asOption(value, column) : value;
    const { column: at } = column;
    const how = { conjunct, isExact: false, isHeld, isOfPattern: true } as const;
    return { column: at, operator, value: bound, ...how };
  });
}

interface TestedBy {
  readonly operand: TypedExpression;
  readonly isPattern: boolean;
  /** The pattern and what escapes in it, or the start itself. */
  readonly arguments: readonly TypedExpression[];
}

function testedBy(conjunct: TypedExpression): TestedBy | undefined {
  if (conjunct.kind === 'like') {
    const { operand, pattern, escape: escaping, ignoresCase } = conjunct;
    if (ignoresCase) return undefined;
    const list = escaping === undefined ? [pattern] : [pattern, escaping];
    return { operand, isPattern: true, arguments: list };
  }
  if (conjunct.kind !== 'call' || conjunct.function.name !== 'starts_with') return undefined;
  const [operand, ...rest] = conjunct.arguments;
  return operand && { operand, isPattern: false, arguments: rest };
}

/** Where texts with the start of a pattern begin, or end; null: they have no end. */
function boundOfPattern(isEnd: boolean, isPattern: boolean, count: number): ScalarFunction {
  const name = `${isPattern ? 'pattern' : 'text'}_${isEnd ? 'end' : 'start'}`;
  return {
    name,
    parameters: new Array(count).fill(scalarTypes.string),
    isStrict: true,
    canRaise: isPattern,
    evaluate: ([given, escaping = defaultEscape]): QueryValue => {
      const text = given as string;
      const start = isPattern ? patternStart(text, checkedEscape(escaping as string)) : text;
      return isEnd ? (textAfter(start) ?? null) : start;
    },
  };
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
