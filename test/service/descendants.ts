import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** Processes that a process has started, and theirs; none where there is no `/proc`. */
export function descendantsOf(ancestor: number): number[] {
  if (!existsSync('/proc/self/stat')) return [];
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const parent = /^\d+ \(.*\) \S (\d+)/s.exec(readOr(`/proc/${name}/stat`))?.[1];
    if (parent !== undefined) parents.set(Number(name), Number(parent));
  }
  const isBelow = (pid: number | undefined): boolean =>
    pid !== undefined && (parents.get(pid) === ancestor || isBelow(parents.get(pid)));
  return [...parents.keys()].filter(isBelow);
}

/** Nothing, where the process is gone meanwhile. */
export function readOr(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}
