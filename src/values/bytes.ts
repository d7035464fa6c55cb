/** Concatenates all parts into a new buffer. */
export function joinBytes(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export function sameBytes(one: Uint8Array, other: Uint8Array): boolean {
  const { length } = one;
  if (length !== other.length) return false;
  // Without a call for each byte: some are megabytes.
  for (let at = 0; at < length; at++) if (one[at] !== other[at]) return false;
  return true;
}
