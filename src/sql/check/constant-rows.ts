import type { AlgebraicType } from '../../values/type.ts';
import type { QueryValue } from '../functions/function.ts';
import { encodeQueryValue } from '../functions/value-codec.ts';
import { scalarTypes } from '../functions/value-kind.ts';
import { constant } from './type-literal.ts';
import type { OutputColumn, TypedExpression, TypedQuery } from './typed.ts';

export interface ConstantColumn {
  readonly name: string;
  readonly type: AlgebraicType;
}

const { string: textType } = scalarTypes;
export const { bool: truthType, u32: numberType } = scalarTypes;

export function textColumns(...names: readonly string[]): ConstantColumn[] {
  return names.map((name) => ({ name, type: textType }));
}

/** A query whose rows are known when a statement is checked: one SELECT a row, united. */
export function constantRows(
  columns: readonly ConstantColumn[],
  rows: readonly (readonly QueryValue[])[],
): TypedQuery {
  const output = columns.map(({ name, type }): OutputColumn => ({ name, type, isNullable: false }));
  const united = (from: number, to: number): TypedQuery => {
    if (to - from <= 1) return selectOf(rows[from], output);
    // The tree is balanced, so that its depth stays small.
    const middle = (from + to) >> 1;
    const left = united(from, middle);
    const right = united(middle, to);
    return queryOf({ kind: 'setOperation', operator: 'union', isAll: true, left, right }, output);
  };
  return united(0, rows.length);
}

/** Without a row: a SELECT that lets nothing through. */
function selectOf(
  row: readonly QueryValue[] | undefined,
  columns: readonly OutputColumn[],
): TypedQuery {
  const items = columns.map(({ type }, at): TypedExpression => {
    const absent = type.kind === 'string' ? '' : type.kind === 'bool' ? false : 0;
    return constant(type, encodeQueryValue(type, row?.[at] ?? absent));
  });
  const never = constant(truthType, Uint8Array.of(0));
  return queryOf(
    {
      kind: 'block',
      relations: [],
      joins: [],
      where: row === undefined ? never : undefined,
      grouping: undefined,
      having: undefined,
      items,
      isDistinct: false,
    },
    columns,
  );
}

function queryOf(body: TypedQuery['body'], columns: readonly OutputColumn[]): TypedQuery {
  return { body, order: [], limit: undefined, offset: undefined, columns, outerSlots: [] };
}
