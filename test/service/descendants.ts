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

/** Resident memory; 0 where there is no `/proc`, and once the process is gone. */
export function residentBytes(pid: number): number {
  const kibibytes = /^VmRSS:\s+(\d+) kB/m.exec(readOr(`/proc/${pid}/status`))?.[1];
  return Number(kibibytes ?? 0) * 1024;
}

/** Of a clock of the kernel's accounting, as Linux has it everywhere. */
const ticksPerSecond = 100;

/** Processor time of all threads of a process so far; 0 where nothing says so. */
export function processorSeconds(pid: number): number {
  // Behind the name, which may have blanks and brackets: the state, ten numbers, user and system.
  const fields = readOr(`/proc/${pid}/stat`).split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / ticksPerSecond;
}

/** Nothing, where the process is gone meanwhile. */
function readOr(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}
