import { readdirSync, readFileSync } from 'node:fs';

/** Processes whose parent is this one, as Linux shows them. */
export function childrenOf(parent: number): number[] {
  const isChild = new RegExp(`^PPid:\\s+${parent}$`, 'm');
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && isChild.test(read(`/proc/${name}/status`)))
    .map(Number);
}

/** What `ps` shows; empty once the process has ended. */
export function titleOf(pid: number): string {
  return read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim();
}

export function isSpawner(pid: number): boolean {
  return titleOf(pid) === 'reducerdb spawner';
}

/** The processes that start others for this one: one at most, but while it is replaced. */
export function spawnersOf(gateway: number): number[] {
  return childrenOf(gateway).filter(isSpawner);
}

function read(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}
