import { unreachable } from '../../assert.ts';
import type { ComparisonOperator } from '../syntax/ast.ts';

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
