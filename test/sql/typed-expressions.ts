import { present } from '../../src/assert.ts';
import type {
  TypedColumn,
  TypedConstant,
  TypedExpression,
  TypedParameter,
} from '../../src/sql/check/typed.ts';
import type { CompileContext } from '../../src/sql/expressions/compile-context.ts';
import type { Frame, SlotLayout } from '../../src/sql/expressions/frame.ts';
import type { ComparisonOperator } from '../../src/sql/syntax/ast.ts';
import { RowShape } from '../../src/store/row-shape.ts';
import { encodeValue } from '../../src/values/encode.ts';
import { optionType, product } from '../../src/values/special-types.ts';
import { type AlgebraicType, emptyTypespace, type Typespace } from '../../src/values/type.ts';
import type { Value } from '../../src/values/value.ts';
import { nowMicros } from './call-function.ts';

const bool: AlgebraicType = { kind: 'bool' };

/** A column of a row that expressions read; a nullable one is that of a derived query. */
export interface RowColumn {
  readonly type: AlgebraicType;
  readonly isNullable?: boolean;
}

/** One row for each slot, `undefined` for none; null stands for NULL in a nullable column. */
export type Rows = readonly (readonly (Value | null)[] | undefined)[];

/** The relations that the expressions of a test are about, and frames that stand on their rows. */
export class Slots {
  readonly context: CompileContext;
  readonly #slots: readonly (readonly RowColumn[])[];
  readonly #types: Typespace;

  constructor(slots: readonly (readonly RowColumn[])[], types: Typespace = emptyTypespace) {
    this.#slots = slots;
    this.#types = types;
    const layouts = slots.map((columns) => layoutOf(columns, types));
    this.context = {
      layoutOf: (slot) => layouts[slot] as SlotLayout,
      types,
      subquery: () => () => null,
    };
  }

  column(slot: number, column: number): TypedColumn {
    const { type, isNullable = false } = present(this.#slots[slot]?.[column], 'the column');
    return { kind: 'column', slot, column, name: `c${column}`, type, isNullable };
  }

  /** Rows lie at odd offsets, as they do in pages. */
  frame(rows: Rows, parameters: readonly (Uint8Array | undefined)[] = []): Frame {
    const encoded = rows.map((row, slot) => row && this.encodeRow(slot, row));
    return {
      pages: encoded.map((bytes) => bytes && paddedBytes(bytes)),
      rows: encoded.map(() => padding),
      values: [],
      parameters,
      nowMicros,
    };
  }

  encodeRow(slot: number, row: readonly (Value | null)[]): Uint8Array {
    const columns = this.#slots[slot] as readonly RowColumn[];
    const type = product(
      ...columns.map(({ type: inner, isNullable }, at) => {
        return [`c${at}`, isNullable === true ? optionType(inner) : inner] as const;
      }),
    );
    const values = columns.map(({ isNullable }, at): Value => {
      const value = row[at] as Value | null;
      if (isNullable !== true) return value as Value;
      return value === null ? { tag: 1, value: [] } : { tag: 0, value };
    });
    return encodeValue(type, values, this.#types);
  }
}

const padding = 3;

function paddedBytes(bytes: Uint8Array): Uint8Array {
  const padded = new Uint8Array(bytes.length + 2 * padding).fill(0xa5);
  padded.set(bytes, padding);
  return padded;
}

function layoutOf(columns: readonly RowColumn[], types: Typespace): SlotLayout {
  const specs = columns.map(({ type, isNullable }, at) => {
    const name = `c${at}`;
    return { name, sourceName: name, type: isNullable === true ? optionType(type) : type };
  });
  return {
    shape: new RowShape(specs, types),
    nullableColumns: columns.map(({ isNullable }) => isNullable === true),
  };
}

export function constant(type: AlgebraicType, value: Value | null): TypedConstant {
  const bytes = value === null ? undefined : encodeValue(type, value);
  return { kind: 'constant', type, isNullable: value === null, bytes };
}

export function parameter(type: AlgebraicType, at: number): TypedParameter {
  return { kind: 'parameter', parameter: at, type, isNullable: true };
}

export function compare(
  left: TypedExpression,
  operator: ComparisonOperator,
  right: TypedExpression,
): TypedExpression {
  const isNullable = left.isNullable || right.isNullable;
  return { kind: 'comparison', operator, left, right, type: bool, isNullable };
}

export function chain(kind: 'and' | 'or', ...terms: readonly TypedExpression[]): TypedExpression {
  return { kind, terms, type: bool, isNullable: terms.some((term) => term.isNullable) };
}

export function not(operand: TypedExpression): TypedExpression {
  return { kind: 'not', operand, type: bool, isNullable: operand.isNullable };
}

export function isNull(operand: TypedExpression): TypedExpression {
  return { kind: 'isNull', operand, type: bool, isNullable: false };
}

export function isDistinct(left: TypedExpression, right: TypedExpression): TypedExpression {
  return { kind: 'isDistinct', left, right, type: bool, isNullable: false };
}

export function inList(
  operand: TypedExpression,
  ...values: readonly TypedExpression[]
): TypedExpression {
  const isNullable = operand.isNullable || values.some((value) => value.isNullable);
  return { kind: 'inList', operand, values, type: bool, isNullable };
}

export function variant(
  operand: TypedExpression,
  tag: number,
  type: AlgebraicType,
): TypedExpression {
  return { kind: 'variant', operand, tag, type, isNullable: true };
}

export function field(
  operand: TypedExpression,
  element: number,
  type: AlgebraicType,
): TypedExpression {
  return { kind: 'field', operand, element, type, isNullable: operand.isNullable };
}

export interface Branch {
  readonly when: TypedExpression;
  readonly then: TypedExpression;
}

export function branch(when: TypedExpression, then: TypedExpression): Branch {
  return { when, then };
}
