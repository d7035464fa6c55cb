import { present } from '../../assert.ts';
import { limits } from '../../limits.ts';
import type { Expression, QueryBody, Select, SelectItem, Values } from '../syntax/ast.ts';
import { type Environment, refuse } from './context.ts';
import { aggregateNames, operandsOf } from './written.ts';

/**
 * The rows of VALUES as SELECTs that are united, so that their values find common types like those
 * of any UNION ALL. The tree is balanced: its depth is the logarithm of the rows. Columns are named
 * `column1`, `column2`, … as in PostgreSQL and SQLite.
 */
export function bodyOfValues(values: Values, environment: Environment): QueryBody {
  const { rows, span } = values;
  const width = present(rows[0], 'VALUES has a row').length;
  for (const row of rows) {
    if (row.length === width && width > 0) continue;
    const message =
      width === 0
        ? 'A row of VALUES has at least one value'
        : `The rows of VALUES must have the same number of values, not ${width} and ${row.length}`;
    throw refuse(message, row[0]?.span ?? span, environment);
  }
  if (width > limits.columnCountMax) {
    throw refuse(`A row has at most ${limits.columnCountMax} values`, span, environment);
  }
  for (const row of rows) for (const value of row) refuseAggregate(value, environment);
  return unitedRows(values, 0, rows.length);
}

/** Each row would be counted alone. */
function refuseAggregate(value: Expression, environment: Environment): void {
  if (value.kind === 'call' && aggregateNames.has(value.name.toLowerCase())) {
    const name = value.name.toLowerCase();
    const message = `The aggregate function \`${name}\` is not allowed in VALUES`;
    throw refuse(message, value.span, environment);
  }
  for (const operand of operandsOf(value)) refuseAggregate(operand, environment);
}

function unitedRows(values: Values, from: number, to: number): QueryBody {
  const { rows, span } = values;
  if (to - from === 1) return selectOf(present(rows[from], 'a row of VALUES'), values);
  const middle = (from + to) >> 1;
  const left = unitedRows(values, from, middle);
  const right = unitedRows(values, middle, to);
  return { kind: 'setOperation', operator: 'union', isAll: true, left, right, span };
}

function selectOf(row: readonly Expression[], { span }: Values): Select {
  const items = row.map((expression, at): SelectItem => {
    const alias = `column${at + 1}`;
    return { kind: 'expression', expression, alias, isParenthesised: false, span: expression.span };
  });
  return {
    kind: 'select',
    isDistinct: false,
    items,
    from: undefined,
    where: undefined,
    groupBy: [],
    having: undefined,
    windows: [],
    unsupported: undefined,
    span,
  };
}
