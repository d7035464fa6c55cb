import { assert } from '../assert.ts';
import type { SequenceSpec } from '../schema/catalog.ts';
import { type IntegerKind, integerRange } from '../values/integer-range.ts';

/**
 * The counter of an auto-increment column. It only moves forward: rolled-back and failed inserts do
 * not give values back, and values that users write themselves do not move it. The exception is
 * work that is only tried: `returnTo` moves the counter back; and imported rows, for which `raise`
 * moves it on. The last value handed out is written
 * with the next record of the log, so that a restart continues exactly.
 */
export class Sequence {
  readonly spec: SequenceSpec;
  /** True when `last` was handed out after the marks were last taken. */
  isMarked = false;
  readonly #widthBytes: number;
  readonly #isSigned: boolean;
  /** Last value handed out: a whole number below 2^53 in magnitude, else NaN and `#big` has it. */
  #small = Number.NaN;
  #big: bigint | undefined;
  readonly #increment: number;
  /** The limits allowed by both the sequence and the column. */
  readonly #least: bigint;
  readonly #most: bigint;
  readonly #min: number;
  readonly #max: number;

  /** `kind` is that of the column: a value that does not fit it is never handed out. */
  constructor(spec: SequenceSpec, kind: IntegerKind) {
    const { min, max } = integerRange[kind];
    this.spec = spec;
    this.#widthBytes = Number(kind.slice(1)) / 8;
    this.#isSigned = min < 0n;
    this.#increment = Number(spec.increment);
    this.#least = min;
    this.#most = max;
    if (spec.minValue > min) this.#least = spec.minValue;
    if (spec.maxValue < max) this.#most = spec.maxValue;
    // Bounds beyond 2^53 are rounded, but no small number is near them.
    this.#min = Number(this.#least);
    this.#max = Number(this.#most);
  }

  get widthBytes(): number {
    return this.#widthBytes;
  }

  /** Whether a column of the sequence is zero in a row, which asks for the next value. */
  isZeroIn(row: Uint8Array, at: number): boolean {
    const end = at + this.#widthBytes;
    for (let index = at; index < end; index++) if (row[index] !== 0) return false;
    return true;
  }

  /** Last value handed out, `undefined` before the first. */
  get last(): bigint | undefined {
    return Number.isNaN(this.#small) ? this.#big : BigInt(this.#small);
  }

  /** Continues after `last`, a value read back from the log or taken over from another sequence. */
  resume(last: bigint): void {
    const isSmall = last >= -safeMax && last <= safeMax;
    this.#small = isSmall ? Number(last) : Number.NaN;
    this.#big = isSmall ? undefined : last;
  }

  /** Goes back to an earlier `last`: values handed out since will be handed out again. */
  returnTo(last: bigint | undefined): void {
    if (last !== undefined) {
      this.resume(last);
      return;
    }
    this.#small = Number.NaN;
    this.#big = undefined;
  }

  /** Takes the next value, to be written with `write`. False if there is none left. */
  advance(): boolean {
    const next = this.#small + this.#increment;
    if (!Number.isSafeInteger(next) || !Number.isSafeInteger(this.#increment)) {
      return this.#advanceBig();
    }
    if (next > this.#max || next < this.#min) return false;
    this.#small = next;
    return true;
  }

  /**
   * Goes on behind the value at `at`, as it is written in a row, if that is ahead in the direction
   * of the sequence and one that it can hand out. True if it has moved.
   */
  raise(bytes: Uint8Array, at: number): boolean {
    const value = readInteger(bytes, at, this.#widthBytes, this.#isSigned);
    return value !== 0n && this.raiseTo(value);
  }

  /** Goes on behind the value, likewise. */
  raiseTo(value: bigint): boolean {
    const { start, increment } = this.spec;
    if (value > this.#most || value < this.#least) return false;
    const last = this.last ?? start - increment;
    if (increment > 0n ? value <= last : value >= last) return false;
    this.resume(value);
    return true;
  }

  /** Writes the last value handed out, little-endian in two's complement. */
  write(bytes: Uint8Array, at: number): void {
    if (Number.isNaN(this.#small)) {
      assert(this.#big !== undefined, 'a value is handed out before it is written');
      writeBig(this.#big, bytes, at, this.#widthBytes);
    } else {
      writeSmall(this.#small, bytes, at, this.#widthBytes);
    }
  }

  #advanceBig(): boolean {
    const { start, increment } = this.spec;
    const last = this.last;
    const next = last === undefined ? start : last + increment;
    if (next > this.#most || next < this.#least) return false;
    this.resume(next);
    return true;
  }
}

const safeMax = BigInt(Number.MAX_SAFE_INTEGER);

function writeSmall(value: number, bytes: Uint8Array, at: number, width: number): void {
  const low = value | 0;
  const high = Math.floor(value / 0x1_0000_0000) | 0;
  for (let index = 0; index < width; index++) {
    const word = index < 4 ? low : high;
    // Beyond eight bytes the sign of the upper word repeats.
    bytes[at + index] = index < 8 ? word >> ((index & 3) << 3) : high >> 31;
  }
}

function writeBig(value: bigint, bytes: Uint8Array, at: number, width: number): void {
  let left = value;
  for (let index = 0; index < width; index++) {
    bytes[at + index] = Number(left & 0xffn);
    left >>= 8n;
  }
}

function readInteger(bytes: Uint8Array, at: number, width: number, isSigned: boolean): bigint {
  let value = 0n;
  for (let index = width - 1; index >= 0; index--)
    value = (value << 8n) | BigInt(bytes[at + index] ?? 0);
  return isSigned ? BigInt.asIntN(width * 8, value) : value;
}
