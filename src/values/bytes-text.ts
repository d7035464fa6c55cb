const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** A count of bytes as people read it: `1023 bytes`, `1.5 MiB`. */
export function bytesText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = unit === 0 ? String(value) : String(Number(value.toFixed(2)));
  return `${digits} ${units[unit]}`;
}
