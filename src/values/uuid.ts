import { littleEndianBytes } from './binary-writer.ts';
import { bigintToHex } from './hex.ts';
import { integerFrom } from './integer-input.ts';
import type { Timestamp } from './timestamp.ts';

const { asUintN } = BigInt;

/**
 * The version of a UUID; the two extremes have no version bits of their own.
 *
 * @example
 * ```ts
 * const version: UuidVersion | undefined = Uuid.NIL.getVersion();
 * version; // 'Nil'
 * ```
 */
export type UuidVersion = 'Nil' | 'V4' | 'V7' | 'Max';

/**
 * A 128-bit identifier (RFC 9562). The number is that of the 16 bytes of its text, highest first,
 * so numbers, texts and `compareTo` order alike.
 *
 * @example
 * ```ts
 * const id = Uuid.parse('01888d6e-5c00-7000-8000-000000000000');
 * id.getVersion(); // 'V7'
 * id.toString(); // '01888d6e-5c00-7000-8000-000000000000'
 * ```
 */
export class Uuid {
  static readonly NIL: Uuid = new Uuid(0n);
  static readonly MAX: Uuid = new Uuid((1n << 128n) - 1n);

  readonly __uuid__: bigint;

  /** From the integer, or from a text of its digits; `parse` reads the usual text. */
  constructor(value: bigint | number | string) {
    this.__uuid__ = integerFrom(value, 'a UUID', 128);
  }

  /** Parses any usual text: hyphenated, 32 digits, braced, or with `urn:uuid:`. */
  static parse(text: string): Uuid {
    const value = uuidFromText(text);
    if (value === undefined) throw new SyntaxError('the text is not a UUID');
    return new Uuid(value);
  }

  /** Version 4: 16 random bytes, six bits of which are replaced by version and variant. */
  static fromRandomBytesV4(randomBytes: Uint8Array): Uuid {
    if (randomBytes.length !== 16) throw new RangeError('a version 4 UUID takes 16 random bytes');
    const random = numberOf(randomBytes);
    return new Uuid(withBits(withBits(random, 76n, 0xfn, 4n), 62n, 3n, 2n));
  }

  /**
   * Version 7: time, then a counter that this call advances (it wraps at 31 bits), then randomness.
   * UUIDs of one counter and equal times order by the counter.
   *
   * `randomBytes` holds at least 4 bytes.
   */
  static fromCounterV7(counter: { value: number }, now: Timestamp, randomBytes: Uint8Array): Uuid {
    if (randomBytes.length < 4) throw new RangeError('a version 7 UUID takes 4 random bytes');
    const micros = now.microsSinceUnixEpoch;
    if (micros < 0n) throw new RangeError('a version 7 UUID cannot hold a time before 1970');
    const count = counter.value & 0x7fff_ffff;
    counter.value = (count + 1) & 0x7fff_ffff;
    return new Uuid(versionSeven(micros / 1000n, BigInt(count), numberOf(randomBytes.slice(0, 4))));
  }

  /** `01888d6e-5c00-7000-8000-000000000000` */
  toString(): string {
    return uuidToText(this.__uuid__);
  }

  /** 32 lower-case digits without hyphens. */
  toHexString(): string {
    return bigintToHex(this.__uuid__, 32);
  }

  /** 16 bytes in the order of the text. */
  toBytes(): Uint8Array {
    return littleEndianBytes(this.__uuid__, 16).reverse();
  }

  asBigInt(): bigint {
    return this.__uuid__;
  }

  /** The version, or `undefined` if the UUID is not nil, 4, 7 or max. */
  getVersion(): UuidVersion | undefined {
    if (this.__uuid__ === 0n) return 'Nil';
    if (this.__uuid__ === Uuid.MAX.__uuid__) return 'Max';
    const version = (this.__uuid__ >> 76n) & 0xfn;
    return version === 4n ? 'V4' : version === 7n ? 'V7' : undefined;
  }

  /** The 31-bit counter of a version 7 UUID made by `fromCounterV7`; meaningless for others. */
  getCounter(): number {
    const bits = this.__uuid__;
    const count = (asUintN(8, bits >> 64n) << 23n) | (asUintN(16, bits >> 40n) << 7n);
    return Number(count | asUintN(7, bits >> 33n));
  }

  /** Negative, zero or positive, as for `Array.prototype.sort`. */
  compareTo(other: Uuid): number {
    return this.__uuid__ < other.__uuid__ ? -1 : this.__uuid__ > other.__uuid__ ? 1 : 0;
  }

  isEqual(other: Uuid): boolean {
    return this.__uuid__ === other.__uuid__;
  }

  equals(other: Uuid): boolean {
    return this.isEqual(other);
  }
}

/** The hyphenated text of a UUID. */
export function uuidToText(uuid: bigint): string {
  return bigintToHex(uuid, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** The UUID written hyphenated, as 32 digits, in braces or with `urn:uuid:`; any case. */
export function uuidFromText(text: string): bigint | undefined {
  const bare = text.replace(/^urn:uuid:|^\{(.*)\}$/i, '$1');
  const isUuid = /^[0-9a-f]{8}(-?)([0-9a-f]{4}\1){3}[0-9a-f]{12}$/i.test(bare);
  return isUuid ? BigInt(`0x${bare.replaceAll('-', '')}`) : undefined;
}

/**
 * | bits, from the lowest | content |
 * |---|---|
 * | 80–127 | milliseconds since 1970 |
 * | 72–79 | `70`, the version |
 * | 64–71 | counter bits 23–30 |
 * | 56–63 | `80`, the variant |
 * | 33–55 | counter bits 0–22; bit 32 is 0 |
 * | 0–31 | random; the highest bit is 0 |
 */
function versionSeven(millis: bigint, count: bigint, random: bigint): bigint {
  const time = (asUintN(48, millis) << 8n) | 0x70n;
  const counted = ((count >> 23n) << 31n) | (0x80n << 23n) | asUintN(23, count);
  return (time << 72n) | (counted << 33n) | asUintN(31, random);
}

/** `bits` with those of `mask`, which begin at `at`, replaced by `value`. */
function withBits(bits: bigint, at: bigint, mask: bigint, value: bigint): bigint {
  return (bits & ~(mask << at)) | (value << at);
}

/** The highest byte first. */
function numberOf(bytes: Uint8Array): bigint {
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  return value;
}
