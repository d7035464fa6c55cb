/** Lower-case hexadecimal digits of `bytes`, first byte first, without prefix. */
export function toHex(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += hexPairs[byte];
  return text;
}

/** The bytes written as pairs of hexadecimal digits of any case, or `undefined`. */
export function fromHex(text: string): Uint8Array | undefined {
  if (text.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(text)) return undefined;
  return Uint8Array.from({ length: text.length / 2 }, (_, index) =>
    Number.parseInt(text.slice(2 * index, 2 * index + 2), 16),
  );
}

/** `value`, which is not negative, as exactly `digits` hexadecimal digits, the highest first. */
export function bigintToHex(value: bigint, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}

/** The number written as exactly `digits` hexadecimal digits with an optional `0x`. */
export function bigintFromHex(text: string, digits: number): bigint | undefined {
  const bare = text.startsWith('0x') ? text.slice(2) : text;
  if (bare.length !== digits || !/^[0-9a-fA-F]+$/.test(bare)) return undefined;
  return BigInt(`0x${bare}`);
}

const hexPairs = /* @__PURE__ */ Array.from({ length: 256 }, (_, byte) =>
  byte.toString(16).padStart(2, '0'),
);
