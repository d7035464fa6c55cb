/** The integer typed arrays that `fill` accepts. */
export type IntegerArray =
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array;

/**
 * Random numbers of one call: unpredictable to callers, and identical when the call is replayed
 * from its record. Called as a function, it returns a number of at least 0, below 1.
 *
 * @example
 * ```ts
 * const roll = ctx.random.integerInRange(1, 20);
 * ```
 */
export interface Random {
  (): number;
  /** A whole number below 2^32. */
  uint32(): number;
  /** A whole number from `min` to `max`, both included. */
  integerInRange(min: number, max: number): number;
  /** A whole number from `min` to `max`, both included, of any width. */
  bigintInRange(min: bigint, max: bigint): bigint;
  /** Fills the array with random bits and returns it. */
  fill<Array extends IntegerArray>(array: Array): Array;
}

/** The generator for a seed of 32 bytes: the key stream of ChaCha20 with a nonce of zero. */
export function randomFrom(seed: Uint8Array): Random {
  const uint32 = keyStream(seed);

  const random = (): number => {
    const high = uint32() >>> 5;
    const low = uint32() >>> 6;
    return (high * 2 ** 26 + low) / 2 ** 53;
  };

  const bigintInRange = (min: bigint, max: bigint): bigint => {
    if (min > max) throw new RangeError(`no integer from ${min} to ${max}`);
    const size = max - min + 1n;
    let words = 1n;
    while (1n << (32n * words) < size) words += 1n;
    // A draw above the largest multiple of `size` would favour small numbers: it is drawn again.
    const limit = ((1n << (32n * words)) / size) * size;
    for (;;) {
      let draw = 0n;
      for (let word = 0n; word < words; word += 1n) draw = (draw << 32n) | BigInt(uint32());
      if (draw < limit) return min + (draw % size);
    }
  };

  const integerInRange = (min: number, max: number): number => {
    if (!Number.isSafeInteger(min) || !Number.isSafeInteger(max) || min > max) {
      throw new RangeError(`no integer from ${min} to ${max}`);
    }
    const size = max - min + 1;
    if (size > 2 ** 32) return Number(bigintInRange(BigInt(min), BigInt(max)));
    const limit = 2 ** 32 - (2 ** 32 % size);
    let draw = uint32();
    while (draw >= limit) draw = uint32();
    return min + (draw % size);
  };

  const fill = <Array extends IntegerArray>(array: Array): Array => {
    const bytes = new DataView(array.buffer, array.byteOffset, array.byteLength);
    const wholeWords = array.byteLength & ~3;
    for (let at = 0; at < wholeWords; at += 4) bytes.setUint32(at, uint32(), true);
    for (let at = wholeWords; at < array.byteLength; at += 1) bytes.setUint8(at, uint32() & 255);
    return array;
  };

  return Object.assign(random, { uint32, integerInRange, bigintInRange, fill });
}

/** "expand 32-byte k", the constant of the first row. */
const constant = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574];

/** Words of the key stream, one per call. Plain numbers: typed arrays are slow in the sandbox. */
function keyStream(seed: Uint8Array): () => number {
  const view = new DataView(seed.buffer, seed.byteOffset, seed.byteLength);
  const key = Array.from({ length: 8 }, (_, word) => view.getInt32(4 * word, true));
  let blockCount = 0;
  let block: number[] = [];
  let position = 16;
  return () => {
    if (position === 16) {
      block = chachaBlock([...constant, ...key, blockCount, 0, 0, 0]);
      blockCount += 1;
      position = 0;
    }
    const word = block[position] as number;
    position += 1;
    return word >>> 0;
  };
}

/** One block of ChaCha20: 16 words in, 16 words out (RFC 8439 §2.3). */
export function chachaBlock(input: readonly number[]): number[] {
  const state = [...input];
  for (let round = 0; round < 10; round += 1) {
    quarter(state, 0, 4, 8, 12);
    quarter(state, 1, 5, 9, 13);
    quarter(state, 2, 6, 10, 14);
    quarter(state, 3, 7, 11, 15);
    quarter(state, 0, 5, 10, 15);
    quarter(state, 1, 6, 11, 12);
    quarter(state, 2, 7, 8, 13);
    quarter(state, 3, 4, 9, 14);
  }
  return state.map((word, index) => (word + (input[index] as number)) | 0);
}

function quarter(s: number[], a: number, b: number, c: number, d: number): void {
  mix(s, a, b, d, 16);
  mix(s, c, d, b, 12);
  mix(s, a, b, d, 8);
  mix(s, c, d, b, 7);
}

/** `sum += add; turned = rotate(turned ^ sum)`. */
function mix(s: number[], sum: number, add: number, turned: number, bits: number): void {
  s[sum] = ((s[sum] as number) + (s[add] as number)) | 0;
  const mixed = (s[turned] as number) ^ (s[sum] as number);
  s[turned] = (mixed << bits) | (mixed >>> (32 - bits));
}
