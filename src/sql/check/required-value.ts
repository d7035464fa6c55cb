import { invalid } from '../failure.ts';
import type { ScalarFunction } from '../functions/function.ts';
import type { TypedExpression } from './typed.ts';

/**
 * The value of a query in parentheses, which may have no row, for a column that takes no NULL: it
 * fails when it is NULL. Other values that can be NULL are refused before the statement runs.
 */
export function requiredValue(value: TypedExpression, column: string): TypedExpression {
  const required: ScalarFunction = {
    name: 'required',
    parameters: [value.type],
    isStrict: false,
    isNullableFor: () => false,
    canRaise: true,
    evaluate: ([given = null]) => {
      if (given !== null) return given;
      throw invalid(
        `The column \`${column}\` does not accept NULL, and the query for it returned no row or ` +
          'NULL; write COALESCE((SELECT …), other)',
      );
    },
  };
  const { type } = value;
  return { kind: 'call', function: required, arguments: [value], type, isNullable: false };
}
