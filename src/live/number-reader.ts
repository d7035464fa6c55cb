import { readI16, readI32, readU16 } from '../values/read-bytes.ts';
import type { AlgebraicType } from '../values/type.ts';

/** Reads the encoded number at `at`; `undefined` unless it is a whole number of up to 64 bits. */
export function numberReaderOf({
  kind,
}: AlgebraicType): ((bytes: Uint8Array, at: number) => number) | undefined {
  switch (kind) {
    case 'u8':
      return (bytes, at) => bytes[at] as number;
    case 'i8':
      return (bytes, at) => ((bytes[at] as number) << 24) >> 24;
    case 'u16':
      return readU16;
    case 'i16':
      return readI16;
    case 'u32':
      return (bytes, at) => readI32(bytes, at) >>> 0;
    case 'i32':
      return readI32;
    case 'u64':
      return (bytes, at) => (readI32(bytes, at + 4) >>> 0) * 2 ** 32 + (readI32(bytes, at) >>> 0);
    case 'i64':
      return (bytes, at) => readI32(bytes, at + 4) * 2 ** 32 + (readI32(bytes, at) >>> 0);
    default:
      return undefined;
  }
}
