import { littleEndianBytes } from './binary-writer.ts';
import { bigintFromHex, bigintToHex } from './hex.ts';
import { integerFrom } from './integer-input.ts';

const hexDigits = 32;

/**
 * One connection of a client: 128 bits, written as 32 hexadecimal digits. Zero stands for "none".
 *
 * Instances compare with `isEqual`, never with `===`.
 *
 * @example
 * ```ts
 * const id = new ConnectionId(0x0an);
 * id.toHexString(); // '0000000000000000000000000000000a'
 * ConnectionId.nullIfZero(new ConnectionId(0n)); // null
 * ```
 */
export class ConnectionId {
  readonly __connection_id__: bigint;

  /** From the integer, or from a text of its decimal digits or of `0x` and hexadecimal ones. */
  constructor(value: bigint | number | string) {
    this.__connection_id__ = integerFrom(value, 'a connection id', 128);
  }

  /** From 32 hexadecimal digits with or without `0x`. Throws `SyntaxError` on anything else. */
  static fromString(text: string): ConnectionId {
    const value = connectionIdFromHex(text);
    if (value === undefined) {
      throw new SyntaxError(`a connection id is written as ${hexDigits} hexadecimal digits`);
    }
    return new ConnectionId(value);
  }

  /** Like `fromString`, but `null` for the id that stands for "none". */
  static fromStringOrNull(text: string): ConnectionId | null {
    return ConnectionId.nullIfZero(ConnectionId.fromString(text));
  }

  /**
   * A random id that is not zero. `randomByte` returns 0 to 255; the default is good enough to
   * distinguish connections, but not for secrets.
   */
  static random(randomByte: () => number = () => Math.floor(Math.random() * 256)): ConnectionId {
    let value = 0n;
    for (let count = 0; count < 16; count += 1) value = (value << 8n) | BigInt(randomByte() & 0xff);
    return new ConnectionId(value === 0n ? 1n : value);
  }

  static nullIfZero(id: ConnectionId): ConnectionId | null {
    return id.isZero() ? null : id;
  }

  isZero(): boolean {
    return this.__connection_id__ === 0n;
  }

  isEqual(other: ConnectionId): boolean {
    return this.__connection_id__ === other.__connection_id__;
  }

  equals(other: ConnectionId): boolean {
    return this.isEqual(other);
  }

  /** 32 lower-case digits, most significant first. */
  toHexString(): string {
    return connectionIdToHex(this.__connection_id__);
  }

  toString(): string {
    return this.toHexString();
  }

  /** 16 bytes, least significant first: the binary encoding. */
  toUint8Array(): Uint8Array {
    return littleEndianBytes(this.__connection_id__, hexDigits / 2);
  }
}

/** 32 lower-case hexadecimal digits, most significant first, without prefix. */
export function connectionIdToHex(id: bigint): string {
  return bigintToHex(id, hexDigits);
}

/** The connection id written as 32 hexadecimal digits of any case with an optional `0x`. */
export function connectionIdFromHex(text: string): bigint | undefined {
  return bigintFromHex(text, hexDigits);
}
