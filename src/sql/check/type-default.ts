import { present } from '../../assert.ts';
import type { TableSpec } from '../../schema/catalog.ts';
import { resolveType } from '../../values/typespace.ts';
import { optionInnerType } from '../functions/convert.ts';
import { encodeLiteralText } from '../functions/literal.ts';
import type { StoredExpression } from '../syntax/ast.ts';
import { dialectTexts } from '../syntax/refusal.ts';
import { type Environment, refuse, type StatementContext } from './context.ts';
import { constant, noneOf } from './type-literal.ts';
import { typeStored } from './type-stored.ts';
import type { TypedConstant, TypedExpression } from './typed.ts';

/** Where a value is stored, and how a value that does not fit there is refused. */
export interface StoredAt {
  readonly table: TableSpec;
  /** Position of the column. */
  readonly position: number;
  readonly refusal: 'insertValue' | 'assignment';
}

/** Types a value to store, or the default of its column. */
export function typeStoredOrDefault(
  value: StoredExpression,
  { table, position, refusal }: StoredAt,
  environment: Environment,
): TypedExpression {
  const column = present(table.columns[position], 'a column at every position');
  if (value.kind !== 'default') return typeStored(value, column, environment);
  const typed = defaultOf(table, position, environment.statement);
  if (typed !== undefined) return typed;
  const text = dialectTexts[refusal](environment.source.text(value.span));
  const hint = `The column \`${column.name}\` has no default: write a value`;
  throw refuse(text, value.span, environment, hint);
}

/**
 * What a column gets without a value: what its module declares, else the zero that stands for the
 * next number of its sequence, else the none of an Option; `undefined` if it has nothing of that.
 */
export function defaultOf(
  table: TableSpec,
  position: number,
  { schema, typespace }: StatementContext,
): TypedConstant | undefined {
  const column = present(table.columns[position], 'a column at every position');
  const type = resolveType(column.type, typespace);
  const declared = schema.defaults?.get(table.id)?.get(position);
  if (declared !== undefined) return constant(type, declared);
  if (table.sequences.some((sequence) => sequence.column === position)) {
    return constant(type, present(encodeLiteralText('0', type), 'a sequence counts integers'));
  }
  return optionInnerType(type, typespace) === undefined ? undefined : noneOf(type);
}
