import { textOfBytes } from '../sql/functions/canonical.ts';

/**
 * Makes a value a map key: equal encodings give equal keys. Two values can share a key, so what is
 * found by one must still be tested.
 */
export function watchKeyOf(bytes: Uint8Array, start: number, end: number): number | string {
  const length = end - start;
  if (length <= 4) return littleEndian(bytes, start, length);
  if (length === 8) {
    const high = littleEndian(bytes, start + 4, 4);
    if (high < highMax) return high * 2 ** 32 + littleEndian(bytes, start, 4);
  }
  return textOfBytes(bytes.subarray(start, end));
}

function littleEndian(bytes: Uint8Array, start: number, length: number): number {
  let value = 0;
  for (let at = start + length - 1; at >= start; at--) value = value * 256 + (bytes[at] as number);
  return value;
}

/** Below this, a number of 64 bits is a whole number that a double holds exactly. */
const highMax = 2 ** 21;
