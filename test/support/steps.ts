import { expect } from 'vitest';
import { JsonError } from '../../src/values/json.ts';

/** What is returned in the end, and in how many steps. */
export function runSteps<Result>(steps: Generator<undefined, Result>): {
  value: Result;
  count: number;
} {
  for (let count = 1; ; count += 1) {
    const { done, value } = steps.next();
    if (done) return { value, count };
  }
}

/** What the work returns, or the words of its `JsonError`. */
export function resultOrWords<Result>(work: () => Result): Result | string {
  try {
    return work();
  } catch (error) {
    expect(error).toBeInstanceOf(JsonError);
    return (error as JsonError).message;
  }
}
