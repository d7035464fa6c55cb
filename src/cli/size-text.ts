const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

/** A count of bytes as people read it: `12.3 MiB`. */
export function sizeText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}
