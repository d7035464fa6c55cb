const counts = new Intl.NumberFormat('en');
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

/** `1,234,567`. */
export function countText(count: number): string {
  return counts.format(count);
}

/** `1.2M`, where there is little room. */
export function shortCount(count: number): string {
  return count < 10_000 ? counts.format(count) : short.format(count);
}

/** `12.4 MiB`. */
export function bytesText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** `850 µs`, `12.3 ms`, `4.1 s`. */
export function microsText(micros: number): string {
  if (micros < 1_000) return `${Math.round(micros)} µs`;
  if (micros < 1_000_000) return `${(micros / 1_000).toFixed(micros < 100_000 ? 1 : 0)} ms`;
  return `${(micros / 1_000_000).toFixed(1)} s`;
}
