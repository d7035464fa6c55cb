/**
 * Reads numbers from encoded rows, little-endian. Rows lie in pages that change from row to row, so
 * these read byte by byte instead of keeping a `DataView` for each page.
 */

export function readI16(bytes: Uint8Array, at: number): number {
  return (((bytes[at] as number) | ((bytes[at + 1] as number) << 8)) << 16) >> 16;
}

export function readU16(bytes: Uint8Array, at: number): number {
  return (bytes[at] as number) | ((bytes[at + 1] as number) << 8);
}

export function readI32(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at] as number) |
    ((bytes[at + 1] as number) << 8) |
    ((bytes[at + 2] as number) << 16) |
    ((bytes[at + 3] as number) << 24)
  );
}

export function readU32(bytes: Uint8Array, at: number): number {
  return readI32(bytes, at) >>> 0;
}

export function readF32(bytes: Uint8Array, at: number): number {
  scratch.setInt32(0, readI32(bytes, at), true);
  return scratch.getFloat32(0, true);
}

export function readF64(bytes: Uint8Array, at: number): number {
  scratch.setInt32(0, readI32(bytes, at), true);
  scratch.setInt32(4, readI32(bytes, at + 4), true);
  return scratch.getFloat64(0, true);
}

export function readI64(bytes: Uint8Array, at: number): bigint {
  scratch.setInt32(0, readI32(bytes, at), true);
  scratch.setInt32(4, readI32(bytes, at + 4), true);
  return scratch.getBigInt64(0, true);
}

export function readU64(bytes: Uint8Array, at: number): bigint {
  scratch.setInt32(0, readI32(bytes, at), true);
  scratch.setInt32(4, readI32(bytes, at + 4), true);
  return scratch.getBigUint64(0, true);
}

export function readU128(bytes: Uint8Array, at: number): bigint {
  const high = readU64(bytes, at + 8);
  const low = readU64(bytes, at);
  return high === 0n ? low : (high << 64n) | low;
}

export function readI128(bytes: Uint8Array, at: number): bigint {
  return (readI64(bytes, at + 8) << 64n) | readU64(bytes, at);
}

export function readU256(bytes: Uint8Array, at: number): bigint {
  const high = readU128(bytes, at + 16);
  const low = readU128(bytes, at);
  return high === 0n ? low : (high << 128n) | low;
}

export function readI256(bytes: Uint8Array, at: number): bigint {
  return (readI128(bytes, at + 16) << 128n) | readU128(bytes, at);
}

/** Eight bytes that every read overwrites. */
const scratch = new DataView(new ArrayBuffer(8));
