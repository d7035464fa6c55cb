const units: Readonly<Record<string, number>> = {
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  TiB: 1024 ** 4,
};

/** Bytes of a size as people write it, such as `64MiB` or `0`; `undefined` for anything else. */
export function parseSize(text: string): number | undefined {
  const [, digits, unit = ''] = /^(\d{1,16})\s?([KMGT]iB)?$/.exec(text.trim()) ?? [];
  if (digits === undefined) return undefined;
  const bytes = Number(digits) * (units[unit] ?? 1);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}
