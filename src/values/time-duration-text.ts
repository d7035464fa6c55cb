/** Durations as people and agents write them; apart from the class, which travels in modules. */

/** Hours, minutes and seconds, as few as are exact: `1h30m`, `1.5s`, `-250us`, `0s`. */
export function timeDurationToShortText(micros: bigint): string {
  if (micros < 0n) return `-${timeDurationToShortText(-micros)}`;
  if (micros > 0n && micros < 1_000n) return `${micros}us`;
  if (micros > 0n && micros < 1_000_000n) return `${withFraction(micros, 3)}ms`;
  const minutes = micros / 60_000_000n;
  const hours = minutes / 60n;
  const ofMinute = micros % 60_000_000n;
  const text =
    (hours === 0n ? '' : `${hours}h`) + (minutes % 60n === 0n ? '' : `${minutes % 60n}m`);
  return ofMinute === 0n && text !== '' ? text : `${text}${withFraction(ofMinute, 6)}s`;
}

/** `value` with the last `digits` of its digits behind a dot, without zeros at the end. */
function withFraction(value: bigint, digits: number): string {
  const text = String(value).padStart(digits + 1, '0');
  return `${text.slice(0, -digits)}.${text.slice(-digits)}`.replace(/\.?0+$/, '');
}

/**
 * Microseconds of a text such as `1h30m`, `1.5s`, `-250us` (days to microseconds, the largest unit
 * first) or of ISO 8601 such as `PT1H30M` and `P1DT12H` (weeks to seconds); `undefined` if the text
 * is neither, or finer than a microsecond.
 */
export function timeDurationFromText(text: string): bigint | undefined {
  if (text.length > durationCharactersMax) return undefined;
  const match = shortDuration.exec(text) ?? isoDuration.exec(text);
  if (match === null) return undefined;
  const { sign, ...parts } = match.groups ?? {};
  let micros = 0n;
  for (const [unit, count] of Object.entries(parts)) {
    if (count === undefined) continue;
    const [whole = '', fraction = ''] = count.split(/[.,]/);
    const scaled = BigInt(whole + fraction) * (unitMicros[unit] ?? 0n);
    const scale = 10n ** BigInt(fraction.length);
    if (scaled % scale !== 0n) return undefined;
    micros += scaled / scale;
  }
  return sign === '-' ? -micros : micros;
}

/** Far more than the digits of 64 bits in each unit. */
const durationCharactersMax = 160;

const unitMicros: Readonly<Record<string, bigint>> = {
  week: 604_800_000_000n,
  day: 86_400_000_000n,
  hour: 3_600_000_000n,
  minute: 60_000_000n,
  second: 1_000_000n,
  milli: 1_000n,
  micro: 1n,
};

/** A count in front of its unit, which may be missing. */
const counted = (name: string, unit: string) => `(?:(?<${name}>\\d+(?:[.,]\\d+)?)${unit})?`;

const shortDuration = new RegExp(
  `^(?<sign>[+-])?(?=\\d)${counted('day', 'd')}${counted('hour', 'h')}${counted('minute', 'm')}` +
    `${counted('second', 's')}${counted('milli', 'ms')}${counted('micro', '[uµμ]s')}$`,
);

const isoDuration = new RegExp(
  `^(?<sign>[+-])?P(?=.)${counted('week', 'W')}${counted('day', 'D')}` +
    `(?:T(?=\\d)${counted('hour', 'H')}${counted('minute', 'M')}${counted('second', 'S')})?$`,
);
