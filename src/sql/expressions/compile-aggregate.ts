import type { TypedAggregate } from '../check/typed.ts';
import type { Accumulator } from '../functions/function.ts';
import { testAt } from './compile-comparison.ts';
import type { CompileContext } from './compile-context.ts';
import { compileExpression } from './compile-expression.ts';
import type { Frame } from './frame.ts';
import { placeOf } from './place.ts';

/** One aggregate of a grouping: an accumulator for each group, and how a row is added to it. */
export interface CompiledAggregate {
  readonly makeAccumulator: () => Accumulator;
  /**
   * Adds the argument's value for the row in the frame; nulls are left out. Repeated values are
   * not: for DISTINCT the caller looks at each value before it adds it.
   */
  readonly add: (frame: Frame, accumulator: Accumulator) => void;
}

export function compileAggregate(
  { function: aggregate, argument }: TypedAggregate,
  context: CompileContext,
): CompiledAggregate {
  const { makeAccumulator } = aggregate;
  if (argument === undefined) {
    return { makeAccumulator, add: (_frame, accumulator) => accumulator.add(null) };
  }
  const place = placeOf(argument, context);
  if (aggregate.name === 'count' && place !== undefined) {
    // A value that is only counted need not be read.
    const isThere = testAt(place, () => true);
    return {
      makeAccumulator,
      add: (frame, accumulator) => {
        if (isThere(frame)) accumulator.add(null);
      },
    };
  }
  const evaluate = compileExpression(argument, context);
  return {
    makeAccumulator,
    add: (frame, accumulator) => {
      const value = evaluate(frame);
      if (value !== null) accumulator.add(value);
    },
  };
}
