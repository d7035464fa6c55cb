const unitMillis: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  sec: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/**
 * Milliseconds of a duration as people write it, such as `23s`, `5min` or `1m 30s`; `undefined` for
 * anything else.
 */
export function parseDuration(text: string): number | undefined {
  const parts = text.trim().split(/\s+/);
  let total = 0;
  for (const part of parts) {
    const match = /^(\d{1,9})([a-z]+)$/.exec(part);
    const unit = unitMillis[match?.[2] ?? ''];
    if (match === null || unit === undefined) return undefined;
    total += Number(match[1]) * unit;
  }
  return total;
}
