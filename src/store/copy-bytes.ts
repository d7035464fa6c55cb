/** Pieces shorter than this are copied byte by byte: a call costs more than the loop. */
const shortBytes = 64;

export function copyBytes(
  from: Uint8Array,
  fromAt: number,
  into: Uint8Array,
  at: number,
  length: number,
): void {
  if (length < shortBytes) {
    for (let index = 0; index < length; index++) into[at + index] = from[fromAt + index] as number;
  } else {
    into.set(from.subarray(fromAt, fromAt + length), at);
  }
}

export function equalBytes(
  a: Uint8Array,
  aAt: number,
  b: Uint8Array,
  bAt: number,
  length: number,
): boolean {
  for (let index = 0; index < length; index++) {
    if (a[aAt + index] !== b[bAt + index]) return false;
  }
  return true;
}
