import type { RowList } from '../store/change-set.ts';
import type { RowShape } from '../store/row-shape.ts';

/** The start of each row of a list, followed by the end of the last one. */
export function rowStarts(shape: RowShape, { bytes, count }: RowList): Float64Array {
  const starts = new Float64Array(count + 1);
  for (let row = 0; row < count; row++) {
    starts[row + 1] = shape.endOfRow(bytes, starts[row] as number, bytes.length);
  }
  return starts;
}

/** The rows of a list whose numbers `isMeant` accepts, in a buffer of their own. */
export function pickRows(
  { bytes, count }: RowList,
  starts: Float64Array,
  isMeant: (row: number) => boolean,
): RowList {
  const picked: number[] = [];
  let length = 0;
  for (let row = 0; row < count; row++) {
    if (!isMeant(row)) continue;
    picked.push(row);
    length += (starts[row + 1] as number) - (starts[row] as number);
  }
  const into = new Uint8Array(length);
  let at = 0;
  for (const row of picked) {
    const rowBytes = bytes.subarray(starts[row], starts[row + 1]);
    into.set(rowBytes, at);
    at += rowBytes.length;
  }
  return { bytes: into, count: picked.length };
}
