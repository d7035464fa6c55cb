/** Distances of vectors that are in a row, measured where they are. */
import type { VectorMetric, VectorRuler } from '../../store/vector-distance.ts';
import { readCount } from '../../values/layout.ts';
import type { TypedExpression } from '../check/typed.ts';
import { needsOf } from '../check/typed-expression.ts';
import { rulerOf, unequalLengths, vectorHeadBytes } from '../functions/vectors.ts';
import { charge } from './charge.ts';
import type { CompileContext } from './compile-context.ts';
import { compileExpression } from './compile-expression.ts';
import type { Evaluator, Frame } from './frame.ts';
import { type Place, placeOf } from './place.ts';

/** A distance of the vector in one place of a row from one that this row does not decide. */
export interface RowDistance {
  readonly metric: VectorMetric;
  readonly place: Place;
  /** What the vector is measured against; `undefined`: null. */
  readonly rulerFor: (frame: Frame) => VectorRuler | undefined;
}

/** Returns `undefined` for other expressions. */
export function compileRowDistance(
  expression: TypedExpression,
  context: CompileContext,
): RowDistance | undefined {
  if (expression.kind !== 'call' || expression.function.metric === undefined) return undefined;
  const { metric } = expression.function;
  const [first, second] = expression.arguments;
  if (first === undefined || second === undefined) return undefined;
  for (const [vector, wanted] of [
    [first, second],
    [second, first],
  ] as const) {
    const place = placeOf(vector, context);
    if (place === undefined || needsOf(wanted).slots.has(place.slot)) continue;
    return { metric, place, rulerFor: compileRuler(metric, wanted, context) };
  }
  return undefined;
}

/** A vector of the request is read once for all rows. */
export function compileRuler(
  metric: VectorMetric,
  wanted: TypedExpression,
  context: CompileContext,
): RowDistance['rulerFor'] {
  const evaluate = compileExpression(wanted, context);
  let known: Uint8Array | undefined;
  let ruler: VectorRuler | undefined;
  return (frame) => {
    const encoded = evaluate(frame) as Uint8Array | null;
    if (encoded === null) return undefined;
    if (ruler === undefined || encoded !== known) {
      known = encoded;
      ruler = rulerOf(metric, encoded);
    }
    return ruler;
  };
}

/** The distance of the row in the frame. */
export function evaluateRowDistance({ place, rulerFor }: RowDistance): Evaluator {
  return (frame) => {
    const ruler = rulerFor(frame);
    if (ruler === undefined) return null;
    const bytes = frame.pages[place.slot];
    if (bytes === undefined) return null;
    const at = place.locate(bytes, frame.rows[place.slot] as number);
    if (at < 0) return null;
    const start = vectorStart(bytes, at, ruler);
    charge(frame, start - at + ruler.wanted.length);
    return ruler.distanceOf(bytes, start);
  };
}

/** Where the vector at `at` has its elements. Throws `SqlFailure` if their number is another. */
export function vectorStart(bytes: Uint8Array, at: number, { wanted }: VectorRuler): number {
  const length = readCount(bytes, at);
  if (length !== wanted.length) throw unequalLengths(length, wanted.length);
  return at + vectorHeadBytes;
}
