import { specialKindOf } from '../../values/special-types.ts';
import type { AlgebraicType } from '../../values/type.ts';
import { encodeLiteralText } from '../functions/literal.ts';
import { decodeQueryValue } from '../functions/value-codec.ts';
import { isNumericType, scalarTypes } from '../functions/value-kind.ts';
import {
  defaultFrame,
  type FrameDistance,
  type FrameEdge,
  type WindowFrame,
} from '../functions/windows.ts';
import type { Frame, FrameBound, FrameOffset } from '../syntax/ast.ts';
import { type Environment, refuse, type WindowCall } from './context.ts';
import { shownType } from './shown-type.ts';
import { intervalMicros } from './type-literal.ts';

/** A frame over rows in this order. */
export function frameOf(
  frame: Frame | undefined,
  order: WindowCall['order'],
  environment: Environment,
): WindowFrame {
  if (frame === undefined) return defaultFrame;
  const { unit, span, exclusion } = frame;
  const edgeOf = (bound: FrameBound): FrameEdge => {
    const { offset } = bound;
    if (typeof offset === 'number') return signed(bound, offset);
    if (unit !== 'range') return signed(bound, countOf(offset, environment));
    const distance = distanceOf(offset, order, environment);
    // At no distance are the rows that the order calls equal.
    return Number(distance) === 0 ? 0 : { distance: signed(bound, distance) };
  };
  const start = edgeOf(frame.start);
  const end = edgeOf(frame.end);
  const fault = faultOf(frame, start === 0 && end === 0);
  if (fault !== undefined) throw refuse(fault, span, environment);
  if (unit === 'groups' && order.length === 0) {
    throw refuse('GROUPS needs ORDER BY', span, environment);
  }
  return { unit, start, end, exclusion };
}

function signed<Offset extends FrameDistance>({ side }: FrameBound, offset: Offset): Offset {
  return side === 'preceding' ? (-offset as Offset) : offset;
}

/** A number of rows or groups. */
function countOf(offset: FrameOffset, environment: Environment): number {
  if (offset.kind === 'number' && /^\d{1,15}$/.test(offset.text)) return Number(offset.text);
  const message = 'ROWS and GROUPS take a whole number of at most 15 digits';
  throw refuse(message, offset.span, environment);
}

/** How far values may be from that of the current row; of times in microseconds. */
function distanceOf(
  offset: FrameOffset,
  order: WindowCall['order'],
  environment: Environment,
): FrameDistance {
  const [key, ...others] = order;
  if (key === undefined || others.length > 0) {
    const message = 'RANGE with a distance needs ORDER BY one expression';
    throw refuse(message, offset.span, environment);
  }
  const { type } = key.expression;
  const distance = isTime(type) ? durationOf(offset, environment) : numberOf(offset, type);
  if (distance === undefined) {
    const name = shownType(type, environment.statement.typespace);
    const message = `RANGE over values of the type ${name} takes ${wantedOf(type)}`;
    throw refuse(message, offset.span, environment);
  }
  if (distance >= 0) return distance;
  throw refuse('A distance of RANGE cannot be below zero', offset.span, environment);
}

function isTime(type: AlgebraicType): boolean {
  const kind = specialKindOf(type);
  return kind === 'timestamp' || kind === 'timeDuration';
}

function wantedOf(type: AlgebraicType): string {
  if (isTime(type)) return "a duration, as INTERVAL '1 hour'";
  if (!isNumericType(type)) return 'UNBOUNDED and CURRENT ROW only';
  return type.kind === 'f32' || type.kind === 'f64' ? 'a finite number' : 'a whole number';
}

function durationOf(offset: FrameOffset, environment: Environment): bigint | undefined {
  if (offset.kind !== 'typedLiteral' || offset.typeName.toUpperCase() !== 'INTERVAL') {
    return undefined;
  }
  return intervalMicros(offset.text, offset.span, environment);
}

/** Of integers of any width, so that a distance may exceed what the type holds. */
function numberOf(offset: FrameOffset, type: AlgebraicType): FrameDistance | undefined {
  if (offset.kind !== 'number' || !isNumericType(type)) return undefined;
  const isFraction = type.kind === 'f32' || type.kind === 'f64';
  const readAs = isFraction ? scalarTypes.f64 : scalarTypes.i256;
  const bytes = encodeLiteralText(offset.text, readAs);
  const value = decodeQueryValue(readAs, bytes);
  if (typeof value === 'bigint') return value;
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** `isRow`: both bounds are the current row, whatever is written. */
function faultOf({ start, end }: Frame, isRow: boolean): string | undefined {
  const [from, to] = [sideOf(start), sideOf(end)];
  if (from === Number.POSITIVE_INFINITY) return 'A frame cannot start at UNBOUNDED FOLLOWING';
  if (to === Number.NEGATIVE_INFINITY) return 'A frame cannot end at UNBOUNDED PRECEDING';
  // Of two bounds on one side of the row, either may be nearer: then the frame is empty.
  return from > to && !isRow ? 'The frame ends before it starts' : undefined;
}

function sideOf({ side, offset }: FrameBound): number {
  const distance = typeof offset === 'number' ? offset : 1;
  return side === 'preceding' ? -distance : distance;
}
