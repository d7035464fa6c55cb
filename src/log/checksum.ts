import { assert } from '../assert.ts';

/**
 * Checksums over the bytes of the log.
 *
 * - **CRC-32C** (Castagnoli, reflected polynomial 0x82F63B78): finds every odd number of flipped
 *   bits and every burst of up to 32 bits. Eight tables, eight bytes a step.
 * - **Chain hash**, 64 bits in two lanes that feed each other: not cryptographic, a different
 *   mixing from the CRC. Each record holds the chain hash of the one before it, which binds the
 *   order, and binds every record to all of those before it.
 *
 * Both are computed in one pass over 32-bit words: while the CRC waits for its table lookups, the
 * chain hash multiplies, so it costs next to nothing. `docs/format/log.md` has test vectors.
 */
export class RecordHash {
  /** The CRC-32C as a signed 32-bit number. */
  crc = 0;
  chainLow = 0;
  chainHigh = 0;

  /**
   * Hashes `words[start, end)`, one whole record, as if its checksum (its second word) were zero.
   * `end - start` is even and at least 2. `salt` is the CRC's start value, the same in one log.
   */
  overRecord(words: Int32Array, start: number, end: number, salt: number): void {
    const length = words[start] ?? 0;
    const table = tables;
    let crc = crcStep(~salt ^ length, 0);
    let low = Math.imul(chainLowSeed ^ length, lowFactor);
    let high = Math.imul(chainHighSeed, highFactor);
    for (let at = start + 2; at < end; at += 2) {
      const first = words[at] as number;
      const second = words[at + 1] as number;
      const mixed = crc ^ first;
      crc =
        (table[1792 + (mixed & 255)] as number) ^
        (table[1536 + ((mixed >>> 8) & 255)] as number) ^
        (table[1280 + ((mixed >>> 16) & 255)] as number) ^
        (table[1024 + (mixed >>> 24)] as number) ^
        (table[768 + (second & 255)] as number) ^
        (table[512 + ((second >>> 8) & 255)] as number) ^
        (table[256 + ((second >>> 16) & 255)] as number) ^
        (table[second >>> 24] as number);
      low = Math.imul(low ^ first, lowFactor);
      low = (low << 15) | (low >>> 17);
      high = Math.imul(high ^ second, highFactor);
      high = (high << 13) | (high >>> 19);
      low = (low + high) | 0;
      high = (high + 2 * low) | 0;
    }
    this.crc = ~crc;
    // The lanes mix too little to distinguish records that differ in a few high bits of adjacent
    // words; the CRC always distinguishes those, so it goes in as well.
    low = finish(low ^ crc);
    high = finish(high + low);
    this.chainLow = low ^ high;
    this.chainHigh = high;
  }
}

/** CRC-32C of `bytes[start, end)`, unsigned. */
export function crc32c(bytes: Uint8Array, start = 0, end = bytes.length): number {
  let crc = -1;
  for (let at = start; at < end; at++) {
    crc = (crc >>> 8) ^ (tables[(crc ^ (bytes[at] as number)) & 255] as number);
  }
  return ~crc >>> 0;
}

const chainLowSeed = 0x243f6a88;
const chainHighSeed = 0x85a308d3;
const lowFactor = 0x85ebca6b;
const highFactor = 0xc2b2ae35;

/** Spreads each bit over the whole word (the closing mix of MurmurHash3). */
function finish(word: number): number {
  let mixed = word ^ (word >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

function crcStep(first: number, second: number): number {
  let crc = first;
  for (let count = 0; count < 4; count++) crc = (crc >>> 8) ^ (tables[crc & 255] as number);
  crc ^= second;
  for (let count = 0; count < 4; count++) crc = (crc >>> 8) ^ (tables[crc & 255] as number);
  return crc;
}

/** Table k (256 entries from 256·k) advances one byte and then k more zero bytes. */
const tables = makeTables();

function makeTables(): Int32Array {
  const made = new Int32Array(8 * 256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
    made[byte] = crc;
  }
  for (let byte = 0; byte < 256; byte++) {
    let crc = made[byte] as number;
    for (let table = 1; table < 8; table++) {
      crc = (crc >>> 8) ^ (made[crc & 255] as number);
      made[table * 256 + byte] = crc;
    }
  }
  return made;
}

assert(
  new Uint8Array(new Uint32Array([1]).buffer)[0] === 1,
  'the log reads its files as little-endian words; this machine is big-endian',
);
