/** Longer names are rarely typos, and comparing takes the product of the lengths. */
const comparedLengthMax = 64;
/** Pairs of characters that are compared in all: names can be as many as somebody wants. */
const comparedPairsMax = 1_000_000;

/** Up to three names that a mistyped name could mean, nearest first. */
export function nearestNames(given: string, names: readonly string[]): string[] {
  if (given.length > comparedLengthMax) return [];
  const reach = Math.max(2, Math.floor(given.length / 3));
  let pairsLeft = comparedPairsMax;
  const isCompared = ({ length }: string): boolean => {
    if (Math.abs(length - given.length) > reach || length > comparedLengthMax) return false;
    pairsLeft -= length * given.length;
    return pairsLeft >= 0;
  };
  return names
    .filter(isCompared)
    .map((name) => ({ name, distance: editDistance(given, name) }))
    .filter(({ distance }) => distance <= reach)
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ name }) => name);
}

/** Levenshtein distance: one-character insertions, deletions and replacements from `a` to `b`. */
export function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
