import type { Disk } from './disk.ts';

/** A name that no file has, for one that is set aside: `<name>.<word>-<number>`. */
export function freeName(disk: Disk, name: string, word: 'torn' | 'bad' | 'deposed'): string {
  const taken = new Set(disk.list());
  let number = 1;
  while (taken.has(`${name}.${word}-${number}`)) number++;
  return `${name}.${word}-${number}`;
}
