/** The encodings of an Option: `some` has the tag 0, `none` is the tag 1 alone. */
export const noneBytes = Uint8Array.of(1);

export function someOf(encoded: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(encoded.length + 1);
  bytes.set(encoded, 1);
  return bytes;
}
