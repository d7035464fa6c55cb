import type { RowShape } from '../../store/row-shape.ts';

/** Finds a column in an encoded row that begins at `row`: the offset of its first byte. */
export type Locator = (bytes: Uint8Array, row: number) => number;

/** How to find `column`: at a fixed distance if the columns before it allow it, else by walking. */
export function locatorOf(shape: RowShape, column: number): Locator {
  let distance = 0;
  for (let before = 0; before < column; before++) {
    const size = shape.fixedSize(before);
    if (size === undefined) return (bytes, row) => shape.startOf(bytes, row, column);
    distance += size;
  }
  return (_bytes, row) => row + distance;
}
