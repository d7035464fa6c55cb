import { bigintToHex } from './hex.ts';
import type { Timestamp } from './timestamp.ts';

// Constructors run for every row that is read: no lookup of a global in them.
const { asUintN } = BigInt;

/**
 * What the version bits of a UUID say; the two extremes have no version of their own.
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

  constructor(value: bigint) {
    if (typeof value !== 'bigint' || asUintN(128, value) !== value) {
      throw new RangeError('a UUID is a bigint of 128 bits, not negative');
    }
    this.__uuid__ = value;
  }

  /** From any usual text: hyphenated, 32 digits, braced, or with `urn:uuid:`. */
  static parse(text: string): Uuid {
    const value = uuidFromText(text);
    if (value === undefined) throw new SyntaxError('the text is not a UUID');
    return new Uuid(value);
  }

  /** Version 4: 16 random bytes, six bits of which are replaced by version and variant. */
  static fromRandomBytesV4(randomBytes: Uint8Array): Uuid {
    if (randomBytes.length !== 16) throw new RangeError('a version 4 UUID takes 16 random bytes');
    const bytes = Uint8Array.from(randomBytes);
    bytes[6] = (byteAt(bytes, 6) & 0x0f) | 0x40;
    bytes[8] = (byteAt(bytes, 8) & 0x3f) | 0x80;
    return new Uuid(fromBytes(bytes));
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
    return new Uuid(fromBytes(versionSevenBytes(micros / 1000n, count, randomBytes)));
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
    return Uint8Array.from({ length: 16 }, (_, index) =>
      Number((this.__uuid__ >> BigInt(8 * (15 - index))) & 0xffn),
    );
  }

  asBigInt(): bigint {
    return this.__uuid__;
  }

  /** The version, or `undefined` for one that is neither nil, 4, 7 nor max. */
  getVersion(): UuidVersion | undefined {
    if (this.__uuid__ === 0n) return 'Nil';
    if (this.__uuid__ === Uuid.MAX.__uuid__) return 'Max';
    const version = (this.__uuid__ >> 76n) & 0xfn;
    return version === 4n ? 'V4' : version === 7n ? 'V7' : undefined;
  }

  /** The 31-bit counter of a version 7 UUID made by `fromCounterV7`; meaningless for others. */
  getCounter(): number {
    const bytes = this.toBytes();
    const [high, middle, low, last] = [7, 9, 10, 11].map((at) => byteAt(bytes, at)) as Four;
    return high * 2 ** 23 + middle * 2 ** 15 + low * 2 ** 7 + (last >> 1);
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
  const hex = bigintToHex(uuid, 32);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-');
}

/** The UUID written hyphenated, as 32 digits, in braces or with `urn:uuid:`; any case. */
export function uuidFromText(text: string): bigint | undefined {
  const bare = /^urn:uuid:/i.test(text)
    ? text.slice('urn:uuid:'.length)
    : (/^\{(.*)\}$/.exec(text)?.[1] ?? text);
  const isUuid =
    /^[0-9a-f]{32}$/i.test(bare) ||
    /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(bare);
  return isUuid ? BigInt(`0x${bare.replaceAll('-', '')}`) : undefined;
}

type Four = [number, number, number, number];

/**
 * | bytes | content |
 * |---|---|
 * | 0–5 | milliseconds since 1970, highest byte first |
 * | 6 | `70`, the version |
 * | 7 | counter bits 30–23 |
 * | 8 | `80`, the variant |
 * | 9, 10, 11 | counter bits 22–15, 14–7, and 6–0 shifted left by one |
 * | 12–15 | random; the highest bit of byte 12 is 0 |
 */
function versionSevenBytes(millis: bigint, count: number, random: Uint8Array): number[] {
  const time = [40n, 32n, 24n, 16n, 8n, 0n].map((shift) => Number((millis >> shift) & 0xffn));
  return [
    ...time,
    0x70,
    (count >>> 23) & 0xff,
    0x80,
    (count >>> 15) & 0xff,
    (count >>> 7) & 0xff,
    (count & 0x7f) << 1,
    byteAt(random, 0) & 0x7f,
    byteAt(random, 1),
    byteAt(random, 2),
    byteAt(random, 3),
  ];
}

function fromBytes(bytes: Iterable<number>): bigint {
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  return value;
}

function byteAt(bytes: Uint8Array, index: number): number {
  return bytes[index] ?? 0;
}
