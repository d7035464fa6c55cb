/** Rows that came and went, each as JSON. */
export interface RowDifference {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** Compares the rows of one statement at two moments; equal rows count as often as they occur. */
export function rowDifference(before: readonly string[], now: readonly string[]): RowDifference {
  const counts = new Map<string, number>();
  for (const row of before) counts.set(row, (counts.get(row) ?? 0) + 1);
  const added: string[] = [];
  for (const row of now) {
    const count = counts.get(row) ?? 0;
    if (count === 0) added.push(row);
    else counts.set(row, count - 1);
  }
  const removed = [...counts].flatMap(([row, count]) => new Array<string>(count).fill(row));
  return { added, removed };
}
