import { littleEndianBytes } from './binary-writer.ts';
import { bigintFromHex, bigintToHex } from './hex.ts';
import { integerFrom } from './integer-input.ts';

const hexDigits = 64;

/**
 * Identifies a caller or a database: 256 bits, written as 64 hexadecimal digits.
 *
 * Instances compare with `isEqual`, never with `===`.
 *
 * @example
 * ```ts
 * const identity = Identity.fromString('c2'.padEnd(64, '0'));
 * identity.isEqual(new Identity(identity.__identity__)); // true
 * ```
 */
export class Identity {
  readonly __identity__: bigint;

  /** From the integer, or from its hexadecimal text as `fromString` takes it. */
  constructor(value: bigint | number | string) {
    const parsed = typeof value === 'string' ? parse(value) : value;
    this.__identity__ = integerFrom(parsed, 'an identity', 256);
  }

  /** From 64 hexadecimal digits with or without `0x`. Throws `SyntaxError` on anything else. */
  static fromString(text: string): Identity {
    return new Identity(text);
  }

  static zero(): Identity {
    return new Identity(0n);
  }

  isEqual(other: Identity): boolean {
    return this.__identity__ === other.__identity__;
  }

  equals(other: Identity): boolean {
    return this.isEqual(other);
  }

  /** 64 lower-case digits, most significant first. */
  toHexString(): string {
    return identityToHex(this.__identity__);
  }

  toString(): string {
    return this.toHexString();
  }

  /** 32 bytes, least significant first: the binary encoding. */
  toUint8Array(): Uint8Array {
    return littleEndianBytes(this.__identity__, hexDigits / 2);
  }
}

/** 64 lower-case hexadecimal digits, most significant first, without prefix. */
export function identityToHex(identity: bigint): string {
  return bigintToHex(identity, hexDigits);
}

/** The text for a person who wrote `given`, which `identityFromHex` does not accept. */
export function notIdentityText(given: string): string {
  return `\`${given}\` is not an identity (64 hex digits)`;
}

/** The identity written as 64 hexadecimal digits of any case with an optional `0x`. */
export function identityFromHex(text: string): bigint | undefined {
  return bigintFromHex(text, hexDigits);
}

function parse(text: string): bigint {
  const value = identityFromHex(text);
  if (value === undefined) {
    throw new SyntaxError(`an identity is written as ${hexDigits} hexadecimal digits`);
  }
  return value;
}
