import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { crc32c, RecordHash } from './checksum.ts';

describe('the CRC-32C', () => {
  it.each([
    ['123456789', 0xe3069283],
    ['', 0],
    ['The quick brown fox jumps over the lazy dog', 0x22620404],
  ])('of %j is the known one', (text, expected) => {
    expect(crc32c(new TextEncoder().encode(text))).toBe(expected);
  });

  it.each([
    [0x00, 0x8a9136aa],
    [0xff, 0x62a8ab43],
  ])('of 32 bytes %i is that of RFC 3720', (byte, expected) => {
    expect(crc32c(new Uint8Array(32).fill(byte))).toBe(expected);
  });
});

describe('the hash of a record', () => {
  it('has the CRC of the record with its checksum field zero, started with the salt', () => {
    fc.assert(
      fc.property(record, fc.integer(), (bytes, salt) => {
        const plain = bytes.slice();
        plain.fill(0, 4, 8);
        // CRC-32C does not depend on how the input is split: continue it from the salt by hand.
        expect(hashOf(bytes, salt).crc >>> 0).toBe(slowCrc(plain, salt));
      }),
    );
  });

  it('does not look at the checksum field', () => {
    const bytes = Uint8Array.from({ length: 40 }, (_, index) => index);
    const other = bytes.slice();
    other.fill(200, 4, 8);
    expect(hashOf(bytes, 3)).toEqual(hashOf(other, 3));
  });

  it('[durability 4] has the values of docs/format/log.md', () => {
    const bytes = Uint8Array.from({ length: 40 }, (_, index) => index);
    const { crc, chainLow, chainHigh } = hashOf(bytes, 0x12345678);
    expect(
      [crc, chainLow, chainHigh].map((word) => (word >>> 0).toString(16)),
    ).toMatchInlineSnapshot(`
      [
        "337f42b1",
        "a842103b",
        "1b945fd",
      ]
    `);
  });

  it('changes in CRC and chain with every bit outside the checksum field', () => {
    fc.assert(
      fc.property(record, fc.nat(), fc.integer({ min: 0, max: 7 }), (bytes, where, bit) => {
        const at = where % bytes.length;
        fc.pre(at < 4 || at >= 8);
        const before = hashOf(bytes, 1);
        bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
        const after = hashOf(bytes, 1);
        expect(after.crc).not.toBe(before.crc);
        expect([after.chainLow, after.chainHigh]).not.toEqual([before.chainLow, before.chainHigh]);
      }),
    );
  });

  it('has chain hashes that do not repeat over similar records', () => {
    const seen = new Set<string>();
    const bytes = new Uint8Array(48);
    for (let at = 8; at < 48; at++) {
      for (let value = 0; value < 256; value++) {
        bytes[at] = value;
        const { chainLow, chainHigh } = hashOf(bytes, 0);
        seen.add(`${chainLow} ${chainHigh}`);
      }
      bytes[at] = 0;
    }
    expect(seen.size).toBe(40 * 255 + 1);
  });
});

const record = fc
  .uint8Array({ minLength: 8, maxLength: 400 })
  .map((bytes) => bytes.slice(0, bytes.length & ~7));

function hashOf(bytes: Uint8Array, salt: number) {
  const words = new Int32Array(bytes.slice().buffer);
  const hash = new RecordHash();
  hash.overRecord(words, 0, words.length, salt);
  return { crc: hash.crc, chainLow: hash.chainLow, chainHigh: hash.chainHigh };
}

function slowCrc(bytes: Uint8Array, start: number): number {
  let crc = ~start;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  return ~crc >>> 0;
}
