import type { BinaryWriter } from '../../values/binary-writer.ts';

/** Appends `bytes[from, to)` to the writer; short ranges without allocating an object. */
export function copyRange(writer: BinaryWriter, bytes: Uint8Array, from: number, to: number): void {
  if (to - from >= longRangeBytes) {
    writer.raw(bytes.subarray(from, to));
    return;
  }
  let at = writer.claim(to - from);
  const view = writer.dataView;
  for (let index = from; index < to; index++) view.setUint8(at++, bytes[index] as number);
}

/** From this length on, one call that copies everything costs less than the loop. */
const longRangeBytes = 64;
