import { present } from '../assert.ts';
import type { TableSpec } from '../schema/catalog.ts';
import { conjunctsOf } from '../sql/check/conjuncts.ts';
import type { TypedBlock, TypedColumn, TypedExpression, TypedQuery } from '../sql/check/typed.ts';
import { RowCompiler } from '../sql/expressions/row-compiler.ts';
import type { LiveSchema } from './live-schema.ts';

/** All that must hold for the rows of a block. */
export function conjunctsOfBlock({
  joins,
  where,
  relations,
}: TypedBlock): readonly TypedExpression[] {
  const joined = joins.flatMap(({ condition }) => conjunctsOf(condition));
  const securities = relations.flatMap(({ security }) => conjunctsOf(security));
  return [...joined, ...conjunctsOf(where), ...securities];
}

/** The columns of two relations that a condition requires to be equal. */
export function pairOf(conjunct: TypedExpression): readonly TypedColumn[] | undefined {
  if (conjunct.kind !== 'comparison' || conjunct.operator !== '=') return undefined;
  const { left, right } = conjunct;
  if (left.kind !== 'column' || right.kind !== 'column') return undefined;
  return left.slot === right.slot ? undefined : [left, right];
}

/** The relation whose whole rows a block returns, if it does. */
export function wholeSlotOf(
  { body, columns }: TypedQuery & { readonly body: TypedBlock },
  tables: readonly TableSpec[],
): number | undefined {
  const [first] = body.items;
  // A table without columns is the only one of its query, or joined by none.
  const slot = first?.kind === 'column' ? first.slot : 0;
  const isWhole =
    body.items.length === tables[slot]?.columns.length &&
    body.items.every(
      (item, at) => item.kind === 'column' && item.slot === slot && item.column === at,
    );
  return isWhole && columns.every(({ isNullable }) => !isNullable) ? slot : undefined;
}

/**
 * Compiled conditions keep `layoutOf` alive, so it is made here, where it captures only the tables
 * and the schema: there may be 100,000 of them.
 */
export function compilerOf(tables: readonly TableSpec[], schema: LiveSchema): RowCompiler {
  return new RowCompiler(schema.types, (slot) =>
    schema.layoutOf(present(tables[slot], 'table of a slot')),
  );
}
