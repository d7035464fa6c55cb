// Constructors run for every row read, so they must not look up globals.
const { asIntN, asUintN } = BigInt;

/**
 * The integer that the constructors of times and ids take: a bigint, a number without a fraction,
 * or a text of digits as `BigInt` reads it. `bits` are below zero for a signed type. `what` begins
 * the errors, as in `a timestamp`; those of fractions and other texts are the engine's own.
 */
export function integerFrom(value: bigint | number | string, what: string, bits: number): bigint {
  const integer = typeof value === 'bigint' ? value : parse(value, what);
  if ((bits < 0 ? asIntN(-bits, integer) : asUintN(bits, integer)) === integer) return integer;
  throw new RangeError(`${what} is out of range`);
}

function parse(value: unknown, what: string): bigint {
  if (typeof value === 'number' || (typeof value === 'string' && value.trim())) {
    return BigInt(value);
  }
  throw new TypeError(`${what} is an integer or digits`);
}
