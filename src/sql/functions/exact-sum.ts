/**
 * The sum of floats, rounded once: the result depends neither on their order nor on values that
 * were added and removed again in between.
 *
 * The sum is a list of floats that do not overlap, smallest first (Shewchuk, "Adaptive Precision
 * Floating-Point Arithmetic", 1997): adding one keeps every bit. Values so large that such a list
 * could overflow are added up as integers, which is slow and rare.
 */
export class ExactSum {
  readonly #parts: number[] = [];
  /** Sum of the values from `hugeMin` on, in units of the smallest float. */
  #huge = 0n;
  #nanCount = 0;
  /** Infinities of both signs. */
  #aboveCount = 0;
  #belowCount = 0;

  add(value: number): void {
    this.#count(value, 1);
  }

  /** Removes a value that was added before. */
  remove(value: number): void {
    this.#count(value, -1);
  }

  /** Infinite if the sum is beyond the range of floats. */
  total(): number {
    if (this.#nanCount > 0) return Number.NaN;
    if (this.#aboveCount > 0) return this.#belowCount > 0 ? Number.NaN : Number.POSITIVE_INFINITY;
    if (this.#belowCount > 0) return Number.NEGATIVE_INFINITY;
    if (this.#huge === 0n) return roundedSum(this.#parts);
    return nearestFloat(this.#parts.reduce((sum, part) => sum + inSmallest(part), this.#huge));
  }

  #count(value: number, sign: 1 | -1): void {
    if (Math.abs(value) < hugeMin) this.#addPart(sign * value);
    else if (Number.isNaN(value)) this.#nanCount += sign;
    else if (value === Number.POSITIVE_INFINITY) this.#aboveCount += sign;
    else if (value === Number.NEGATIVE_INFINITY) this.#belowCount += sign;
    else this.#huge += inSmallest(sign * value);
  }

  #addPart(value: number): void {
    const parts = this.#parts;
    let rest = value;
    let kept = 0;
    for (let at = 0; at < parts.length; at++) {
      const part = parts[at] as number;
      const isLarger = Math.abs(rest) >= Math.abs(part);
      const large = isLarger ? rest : part;
      const small = isLarger ? part : rest;
      const sum = large + small;
      const lost = small - (sum - large);
      if (lost !== 0) parts[kept++] = lost;
      rest = sum;
    }
    parts.length = kept;
    if (rest !== 0) parts.push(rest);
  }
}

/** 2^53 values below this stay within the range of floats. */
const hugeMin = 2 ** 960;

/** The float nearest to the sum of non-overlapping parts; of two, the even one. */
function roundedSum(parts: readonly number[]): number {
  let at = parts.length - 1;
  let sum = parts[at] ?? 0;
  let lost = 0;
  while (at > 0 && lost === 0) {
    at -= 1;
    const before = sum;
    const part = parts[at] as number;
    sum = before + part;
    lost = part - (sum - before);
  }
  // The rest decides only if `lost` is half a step: the part below it must tip the scale.
  const below = parts[at - 1] ?? 0;
  if (at > 0 && Math.sign(lost) === Math.sign(below)) {
    const doubled = lost * 2;
    const next = sum + doubled;
    if (next - sum === doubled) return next;
  }
  return sum;
}

/** A finite float as a multiple of the smallest one. Every step is exact. */
function inSmallest(value: number): bigint {
  const whole = Math.trunc(value);
  const scaled = (value - whole) * 2 ** 1_000;
  const high = Math.trunc(scaled);
  const low = (scaled - high) * 2 ** (smallestExponent - 1_000);
  return (
    (BigInt(whole) << BigInt(smallestExponent)) +
    (BigInt(high) << BigInt(smallestExponent - 1_000)) +
    BigInt(low)
  );
}

function nearestFloat(sum: bigint): number {
  const magnitude = sum < 0n ? -sum : sum;
  const shift = Math.max(0, magnitude.toString(16).length * 4 - 64);
  const high = magnitude >> BigInt(shift);
  const isExact = high << BigInt(shift) === magnitude;
  // `high` has more bits than a float; a remainder is recorded in the last of them.
  const float = Number(isExact ? high : high | 1n) * 2 ** (shift - smallestExponent);
  return sum < 0n ? -float : float;
}

/** The smallest float is 2^-1074. */
const smallestExponent = 1_074;
