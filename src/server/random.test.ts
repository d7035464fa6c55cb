import { describe, expect, it } from 'vitest';
import { chachaBlock, randomFrom } from './random.ts';

const seed = Uint8Array.from({ length: 32 }, (_, index) => index);
const words = (hex: string): number[] =>
  hex.split(/\s+/).map((word) => Number.parseInt(word, 16) | 0);

describe('the generator', () => {
  it('is ChaCha20: the block of RFC 8439 §2.3.2', () => {
    const input = words(
      '61707865 3320646e 79622d32 6b206574 03020100 07060504 0b0a0908 0f0e0d0c ' +
        '13121110 17161514 1b1a1918 1f1e1d1c 00000001 09000000 4a000000 00000000',
    );
    expect(chachaBlock(input)).toEqual(
      words(
        'e4e7f110 15593bd1 1fdd0f50 c47120a3 c7f4d1c7 0368c033 9aaa2204 4e6cd4c3 ' +
          '466482d2 09aa9f07 05d7c214 a2028bd9 d19c12b5 b94e16de e883d0cb 4e3c50a2',
      ),
    );
  });

  it('[module-sdk 7.1] draws the same for the same seed, over many blocks', () => {
    const [a, b] = [randomFrom(seed), randomFrom(seed)];
    const draw = (random: typeof a) => Array.from({ length: 100 }, () => random.uint32());
    expect(draw(a)).toEqual(draw(b));
    expect(new Set(draw(a)).size).toBe(100);
    expect(draw(randomFrom(new Uint8Array(32)))).not.toEqual(draw(randomFrom(seed)));
  });

  it('[module-sdk 7.1] stays within its ranges, both ends included', () => {
    const random = randomFrom(seed);
    const rolls = Array.from({ length: 2000 }, () => random.integerInRange(-1, 2));
    expect([...new Set(rolls)].sort((a, b) => a - b)).toEqual([-1, 0, 1, 2]);
    const wide = Array.from({ length: 2000 }, () => random.bigintInRange(5n, 7n));
    expect([...new Set(wide)].sort()).toEqual([5n, 6n, 7n]);
    for (let draw = 0; draw < 2000; draw += 1) {
      const fraction = random();
      expect(fraction >= 0 && fraction < 1).toBe(true);
      const huge = random.bigintInRange(-(2n ** 127n), 2n ** 127n - 1n);
      expect(BigInt.asIntN(128, huge)).toBe(huge);
    }
    expect(random.integerInRange(3, 3)).toBe(3);
    const [min, max] = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
    expect(Number.isSafeInteger(random.integerInRange(min, max))).toBe(true);
  });

  it('[module-sdk 7.1] refuses ranges that hold nothing', () => {
    const random = randomFrom(seed);
    expect(() => random.integerInRange(2, 1)).toThrow(RangeError);
    expect(() => random.integerInRange(0.5, 1)).toThrow(RangeError);
    expect(() => random.bigintInRange(2n, 1n)).toThrow(RangeError);
  });

  it('[module-sdk 7.1] fills every integer array, also part of a buffer', () => {
    const random = randomFrom(seed);
    const bytes = new Uint8Array(20);
    const part = new Uint8Array(bytes.buffer, 3, 7);
    expect(random.fill(part)).toBe(part);
    expect([bytes.subarray(0, 3), bytes.subarray(10)].every((b) => b.every((x) => x === 0))).toBe(
      true,
    );
    expect(part.some((byte) => byte !== 0)).toBe(true);
    expect(random.fill(new BigUint64Array(2)).every((word) => word !== 0n)).toBe(true);
    expect(random.fill(new Int16Array(0))).toHaveLength(0);
  });
});
