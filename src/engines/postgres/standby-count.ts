/** Standbys that a commit waits for, by `synchronous_standby_names`. */
export function standbyCount(names: string): number {
  const text = names.trim();
  if (text === '') return 0;
  const [, count] = /^(?:any|first)?\s*(\d+)\s*\(/i.exec(text) ?? [];
  return count === undefined ? 1 : Number(count);
}
