import { unreachable } from '../../assert.ts';
import type { ComparisonOperator } from './ast.ts';

/** Whether an operator holds for a value that is less than, equal to, or greater than another. */
export type Outcomes = readonly [ifLess: boolean, ifEqual: boolean, ifGreater: boolean];

export function outcomesOf(operator: ComparisonOperator): Outcomes {
  return [holds(operator, -1), holds(operator, 0), holds(operator, 1)];
}

/** Whether `operator` holds for two values of which the first compares as `sign` to the second. */
export function holds(operator: ComparisonOperator, sign: number): boolean {
  switch (operator) {
    case '=':
      return sign === 0;
    case '<>':
      return sign !== 0;
    case '<':
      return sign < 0;
    case '<=':
      return sign <= 0;
    case '>':
      return sign > 0;
    case '>=':
      return sign >= 0;
    default:
      return unreachable(operator);
  }
}

/** The operator that holds exactly when the other does not, for values that are not null. */
export const negatedOperator: Readonly<Record<ComparisonOperator, ComparisonOperator>> = {
  '=': '<>',
  '<>': '=',
  '<': '>=',
  '>=': '<',
  '>': '<=',
  '<=': '>',
};

/** The operator with its sides exchanged. */
export const swappedOperator: Readonly<Record<ComparisonOperator, ComparisonOperator>> = {
  '=': '=',
  '<>': '<>',
  '<': '>',
  '>': '<',
  '<=': '>=',
  '>=': '<=',
};
