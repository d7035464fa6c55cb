/**
 * A 32-bit hash of `bytes[start, end)`, as an unsigned number. Every bit of the input reaches every
 * bit of the result, so tables may take any bits of it. Snapshots hold results of it: a change
 * needs another number in `inverted-image.ts` of the store. It gives no protection against chosen
 * keys: code that hashes user input must bound its probes.
 *
 * The mixing is that of MurmurHash3 (x86, 32 bits).
 */
export function hashBytes(bytes: Uint8Array, start: number, end: number): number {
  let hash = seed;
  let at = start;
  for (; at + 4 <= end; at += 4) {
    const word =
      (bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24);
    hash = mix(hash, word);
  }
  let tail = 0;
  for (let shift = 0; at < end; at += 1, shift += 8) tail |= (bytes[at] as number) << shift;
  hash = mix(hash, tail) ^ (end - start);
  hash = imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function mix(hash: number, word: number): number {
  const scattered = imul(word, 0xcc9e2d51);
  const turned = imul((scattered << 15) | (scattered >>> 17), 0x1b873593);
  const mixed = hash ^ turned;
  return (imul((mixed << 13) | (mixed >>> 19), 5) + 0xe6546b64) | 0;
}

const seed = 0x9747b28c | 0;
const { imul } = Math;
