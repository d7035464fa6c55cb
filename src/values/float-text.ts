/**
 * Floats as the shortest decimal that reads back as the same bits; never mistaken for an integer.
 */

/** `1.0`, `-0.0`, `0.1`, `1e+21`; `inf`, `-inf`, `NaN` for floats that are not JSON numbers. */
export function float64Text(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (value === Infinity) return 'inf';
  if (value === -Infinity) return '-inf';
  if (Object.is(value, -0)) return '-0.0';
  return withFraction(String(value));
}

/** Like `float64Text`, for a 32-bit float: `0.1`, not `0.10000000149011612`. */
export function float32Text(value: number): string {
  if (!Number.isFinite(value) || value === 0) return float64Text(value);
  // A text of six digits is already the shortest: no two such texts round to the same float.
  const exact = String(value);
  if (exact.length <= 7) return withFraction(exact);
  // For the same reason, six digits less trailing zeros are the shortest, if they round back. Below
  // the normal numbers fewer digits are significant. Nine digits always suffice.
  const digitsMin = Math.abs(value) < smallestNormal ? 1 : 6;
  for (let digits = digitsMin; digits < 9; digits += 1) {
    const shorter = Number(value.toPrecision(digits));
    if (Math.fround(shorter) === value) return withFraction(String(shorter));
  }
  return withFraction(String(Number(value.toPrecision(9))));
}

/** The smallest 32-bit float of full precision. */
const smallestNormal = 2 ** -126;

function withFraction(text: string): string {
  return /[.e]/.test(text) ? text : `${text}.0`;
}
