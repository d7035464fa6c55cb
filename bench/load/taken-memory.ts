import { readdirSync, readFileSync } from 'node:fs';

/** What this process and those that come from it take; pages that several have are divided among them. */
export function takenMebibytes(): number {
  const own = kibibytesIn(readFileSync('/proc/self/smaps_rollup', 'latin1'));
  const kibibytes = [own, ...descendants(process.pid).map(kibibytesOf)];
  return kibibytes.reduce((sum, one) => sum + one, 0) / 1024;
}

function kibibytesOf(id: number): number {
  return unlessGone(() => kibibytesIn(readFileSync(`/proc/${id}/smaps_rollup`, 'latin1')), 0);
}

/** Of a process that has just ended the file is empty. */
function kibibytesIn(rollup: string): number {
  return Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1] ?? 0);
}

function descendants(parent: number): number[] {
  const threads = unlessGone(() => readdirSync(`/proc/${parent}/task`), []);
  const children = threads.flatMap((thread) =>
    unlessGone(() => readFileSync(`/proc/${parent}/task/${thread}/children`, 'latin1'), '')
      .split(' ')
      .filter(Boolean)
      .map(Number),
  );
  return [...children, ...children.flatMap(descendants)];
}

/** Linkers and threads end at any moment; what is gone holds nothing. */
function unlessGone<Found>(read: () => Found, nothing: Found): Found {
  try {
    return read();
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code !== 'ENOENT' && code !== 'ESRCH') throw error;
    return nothing;
  }
}
