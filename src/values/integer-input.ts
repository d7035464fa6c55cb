/**
 * The integer that the constructors of times and ids take: a bigint, a number without a fraction,
 * or a text of decimal digits or of `0x` and hexadecimal ones. `what` begins the error of anything
 * else, as in `a timestamp`.
 */
export function integerFrom(value: bigint | number | string, what: string): bigint {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number') {
    if (Number.isInteger(value)) return BigInt(value);
    throw new RangeError(`${what} is an integer, not ${value}`);
  }
  if (typeof value === 'string') {
    if (value.length <= digitsMax && integer.test(value)) return BigInt(value);
    throw new SyntaxError(`${what} is written in decimal digits, or as 0x and hexadecimal digits`);
  }
  throw new TypeError(`${what} is a bigint, an integer or a text of digits, not ${typeof value}`);
}

const integer = /^(?:-?\d+|0x[\da-f]+)$/i;

/** Enough for every integer of 128 bits with its sign and zeros in front. */
const digitsMax = 64;
