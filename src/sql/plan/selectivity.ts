import type { IndexSpec, TableSpec } from '../../schema/catalog.ts';
import type { TypedExpression } from '../check/typed.ts';
import type { Statistics } from './statistics.ts';

/** Guesses about columns without information from an index. */
const guessedDistinctShare = 0.1;
const guessedDistinctMin = 10;

/** The estimated number of values of a column. */
export function distinctValues(
  table: TableSpec | undefined,
  column: number,
  rows: number,
  statistics: Statistics,
): number {
  if (table !== undefined) {
    const index = table.indexes.find(
      ({ columns }) => columns.length === 1 && columns[0] === column,
    );
    if (index !== undefined) return distinctKeys(table, index, statistics);
  }
  return Math.max(1, Math.min(rows, Math.max(guessedDistinctMin, rows * guessedDistinctShare)));
}

function distinctKeys(table: TableSpec, index: IndexSpec, statistics: Statistics): number {
  return Math.max(1, statistics.rowCount(table) / statistics.rowsPerKey(table, index));
}

/** The estimated share of rows that a condition lets through. */
export function selectivityOf(
  condition: TypedExpression,
  distinctOf: (expression: TypedExpression) => number,
): number {
  switch (condition.kind) {
    case 'comparison': {
      const { left, right, operator } = condition;
      if (operator === '<>') return 0.9;
      if (operator !== '=') return 0.33;
      return 1 / Math.max(1, distinctOf(left), distinctOf(right));
    }
    case 'inList':
      return Math.min(1, condition.values.length / distinctOf(condition.operand));
    case 'like':
      return 0.25;
    case 'isNull':
      return 0.1;
    case 'and':
      return condition.terms.reduce((share, term) => share * selectivityOf(term, distinctOf), 1);
    case 'or': {
      const misses = condition.terms.map((term) => 1 - selectivityOf(term, distinctOf));
      return 1 - misses.reduce((share, miss) => share * miss, 1);
    }
    case 'not':
      return 1 - selectivityOf(condition.operand, distinctOf);
    case 'constant':
      return condition.bytes?.[0] === 1 ? 1 : 0;
    default:
      return 0.5;
  }
}
