import { RowShape } from '../../store/row-shape.ts';
import { optionType } from '../../values/special-types.ts';
import type { NamedType, Typespace } from '../../values/type.ts';
import type { OutputColumn } from '../check/typed.ts';
import type { SlotLayout } from './frame.ts';

/** Finds a column in an encoded row that begins at `row`: the offset of its first byte. */
export type Locator = (bytes: Uint8Array, row: number) => number;

/** How to find `column`: at a fixed distance if the columns before it allow it, else by walking. */
export function locatorOf(shape: RowShape, column: number): Locator {
  const distance = shape.fixedStart(column);
  if (distance === undefined) return (bytes, row) => shape.startOf(bytes, row, column);
  return (_bytes, row) => row + distance;
}

/** The layout of encoded rows of an answer, or of a derived query. */
export function layoutOfRows(columns: readonly OutputColumn[], types: Typespace): SlotLayout {
  const specs = columns.map((column) => {
    const { name } = column;
    return { name, sourceName: name, type: namedTypeOf(column).type };
  });
  const nullableColumns = columns.map(({ isNullable }) => isNullable);
  return { shape: new RowShape(specs, types), nullableColumns };
}

/** How a column of an answer is encoded. */
export function namedTypeOf({ name, type, isNullable }: OutputColumn): NamedType {
  return { name, type: isNullable ? optionType(type) : type };
}
