const local = new Intl.DateTimeFormat('en-CA', {
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});

/** `2026-11-29 15:22:13` in the time zone of the browser. */
export function localTime(millis: number): string {
  return local.format(millis).replace(',', '');
}

/** `2026-11-29T15:22:13.123456Z`; a text of its own where no date reaches. */
export function utcTime(micros: bigint): string {
  const millis = micros / 1_000n - (micros % 1_000n < 0n ? 1n : 0n);
  const rest = micros - millis * 1_000n;
  const date = new Date(Number(millis));
  if (Number.isNaN(date.getTime())) return `${micros} µs`;
  const text = date.toISOString();
  return rest === 0n ? text : text.replace('Z', `${String(rest).padStart(3, '0')}Z`);
}

/** `3 min ago`. */
export function agoText(millis: number, now: number = Date.now()): string {
  const seconds = Math.round((now - millis) / 1_000);
  const size = Math.abs(seconds);
  const words = (count: number, unit: string) =>
    seconds >= 0 ? `${count} ${unit} ago` : `in ${count} ${unit}`;
  if (size < 2) return 'now';
  if (size < 60) return words(size, 's');
  if (size < 3_600) return words(Math.floor(size / 60), 'min');
  if (size < 86_400) return words(Math.floor(size / 3_600), 'h');
  return words(Math.floor(size / 86_400), 'd');
}

/** `1 d 2 h 3.5 s`, from microseconds. */
export function durationText(micros: bigint): string {
  if (micros < 0n) return `−${durationText(-micros)}`;
  const units = [
    ['d', 86_400_000_000n],
    ['h', 3_600_000_000n],
    ['min', 60_000_000n],
  ] as const;
  let rest = micros;
  const parts: string[] = [];
  for (const [unit, size] of units) {
    if (rest >= size) parts.push(`${rest / size} ${unit}`);
    rest %= size;
  }
  if (rest === 0n && parts.length > 0) return parts.join(' ');
  const small = parts.length === 0 && rest < 1_000_000n;
  if (small) parts.push(rest < 1_000n ? `${rest} µs` : `${Number(rest) / 1_000} ms`);
  else parts.push(`${Number(rest) / 1_000_000} s`);
  return parts.join(' ');
}
