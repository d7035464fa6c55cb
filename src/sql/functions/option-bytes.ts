/** The encodings of an Option: `some` is its tag and the value, `none` is a tag alone. */
export const someTag = 0;
export const noneTag = 1;

/** The tag of `some`, which its value follows. */
export const someBytes: Uint8Array = Uint8Array.of(someTag);
export const noneBytes: Uint8Array = Uint8Array.of(noneTag);

export function someOf(encoded: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(encoded.length + 1);
  bytes[0] = someTag;
  bytes.set(encoded, 1);
  return bytes;
}
