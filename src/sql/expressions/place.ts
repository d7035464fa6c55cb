import { present } from '../../assert.ts';
import { fixedSizeOf, skipperOf } from '../../values/layout.ts';
import type { AlgebraicType, Typespace } from '../../values/type.ts';
import { resolveType } from '../../values/typespace.ts';
import type { TypedColumn, TypedExpression } from '../check/typed.ts';
import { optionInnerType } from '../functions/convert.ts';
import { noneBytes, someTag } from '../functions/option-bytes.ts';
import type { CompileContext } from './compile-context.ts';
import { type Locator, locatorOf } from './row-layout.ts';

/**
 * The place where a value is encoded in a row: a column, an element of one, or the payload of a
 * variant. Such values are compared and copied as bytes, without being decoded.
 */
export interface Place {
  readonly slot: number;
  readonly type: AlgebraicType;
  /** Offset of the first byte of the value, or -1 if it is null. */
  readonly locate: Locator;
  /** False: `locate` never returns -1. Without a row the value is null all the same. */
  readonly isNullable: boolean;
  /** The value if the slot has no row, unless it is null: `none` for columns of Options. */
  readonly withoutRow: Uint8Array | undefined;
}

/** Returns `undefined` for expressions that must be computed. */
export function placeOf(expression: TypedExpression, context: CompileContext): Place | undefined {
  switch (expression.kind) {
    case 'column':
      return columnPlace(expression, context);
    case 'field': {
      const operand = placeOf(expression.operand, context);
      if (operand === undefined) return undefined;
      const step = elementStep(operand.type, expression.element, context.types);
      const { locate } = operand;
      return {
        slot: operand.slot,
        type: expression.type,
        locate: (bytes, row) => {
          const at = locate(bytes, row);
          return at < 0 ? at : step(bytes, at);
        },
        isNullable: operand.isNullable,
        withoutRow: undefined,
      };
    }
    case 'variant': {
      const operand = placeOf(expression.operand, context);
      if (operand === undefined) return undefined;
      const { tag } = expression;
      const { locate } = operand;
      return {
        slot: operand.slot,
        type: expression.type,
        locate: (bytes, row) => {
          const at = locate(bytes, row);
          return at >= 0 && bytes[at] === tag ? at + 1 : -1;
        },
        isNullable: true,
        withoutRow: undefined,
      };
    }
    default:
      return undefined;
  }
}

/** The way from the start of a product to that of one of its elements. */
export function elementStep(type: AlgebraicType, element: number, types: Typespace): Locator {
  const product = resolveType(type, types);
  const elements = product.kind === 'product' ? product.elements : [];
  present(elements[element], `element ${element} of a product`);
  const before = elements.slice(0, element).map((item) => item.type);
  let distance = 0;
  for (const [index, item] of before.entries()) {
    const size = fixedSizeOf(item, types);
    if (size === undefined) return walkingStep(distance, before.slice(index), types);
    distance += size;
  }
  return (_bytes, at) => at + distance;
}

function walkingStep(
  distance: number,
  passed: readonly AlgebraicType[],
  types: Typespace,
): Locator {
  const skippers = passed.map((type) => skipperOf(type, types));
  return (bytes, start) => {
    let at = start + distance;
    for (const skip of skippers) at = skip(bytes, at);
    return at;
  };
}

function columnPlace(expression: TypedColumn, context: CompileContext): Place {
  const { slot, column, type } = expression;
  const { shape, nullableColumns } = context.layoutOf(slot);
  const locate = locatorOf(shape, column);
  if (nullableColumns[column] === true) {
    return {
      slot,
      type,
      locate: (bytes, row) => {
        const at = locate(bytes, row);
        return bytes[at] === someTag ? at + 1 : -1;
      },
      isNullable: true,
      withoutRow: undefined,
    };
  }
  // The null side of a left join: a column of Options has its own null there.
  const isOption = optionInnerType(type, context.types) !== undefined;
  return {
    slot,
    type,
    locate,
    isNullable: false,
    withoutRow: isOption && !expression.isNullable ? noneBytes : undefined,
  };
}
