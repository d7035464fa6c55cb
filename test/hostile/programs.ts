import path from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * What must become of a hostile program. Whatever it is, the process and other databases live on.
 */
export type HostileEnd =
  /** The call crashes; the database serves the next one. */
  | 'crashed'
  /** The call returns as if nothing was; the database serves the next one. */
  | 'returned'
  /** Ends only when its worker is ended, by the clock of a call. */
  | 'overTime'
  /** Ends when the memory of its worker does, or by the clock, whichever is first. */
  | 'overMemory'
  /** Cannot be published: loading ends by the clock of a publish. */
  | 'overTimeAtLoad'
  | 'overMemoryAtLoad';

export interface HostileProgram {
  /** File name in test/fixtures/hostile, without `.ts`. */
  readonly name: string;
  readonly end: HostileEnd;
}

/**
 * Programs that attack time, memory and stack. Each has the reducers `write({ text })`, which adds
 * a row to the public table `note`, and `attack()`, except those that end at load. Only `crashed`
 * and `returned` may run in the thread of a test.
 */
export const hostilePrograms: readonly HostileProgram[] = [
  { name: 'loop-in-reducer', end: 'overTime' },
  { name: 'loop-in-thrown-getter', end: 'overTime' },
  { name: 'loop-in-thrown-to-string', end: 'overTime' },
  { name: 'loop-in-thrown-proxy', end: 'overTime' },
  { name: 'loop-in-promise-job', end: 'overTime' },
  { name: 'loop-in-row-getter', end: 'overTime' },
  { name: 'loop-in-iterator', end: 'overTime' },
  { name: 'regex-backtracking', end: 'overTime' },
  { name: 'heap-by-array', end: 'overMemory' },
  { name: 'heap-by-string', end: 'overMemory' },
  { name: 'heap-by-map', end: 'overMemory' },
  { name: 'heap-by-big-array', end: 'overMemory' },
  { name: 'heap-by-closure', end: 'overMemory' },
  { name: 'heap-by-promises', end: 'overMemory' },
  { name: 'buffers-by-constructor', end: 'overMemory' },
  { name: 'buffers-by-fill', end: 'overMemory' },
  { name: 'buffers-by-slice', end: 'overMemory' },
  { name: 'buffers-huge', end: 'overMemory' },
  { name: 'rows-without-end', end: 'overMemory' },
  { name: 'log-flood', end: 'overTime' },
  { name: 'deep-recursion', end: 'crashed' },
  { name: 'deep-pattern', end: 'crashed' },
  { name: 'pattern-on-full-stack', end: 'returned' },
  { name: 'huge-message', end: 'crashed' },
  { name: 'rejections', end: 'returned' },
  { name: 'loop-at-top-level', end: 'overTimeAtLoad' },
  { name: 'loop-in-describe', end: 'overTimeAtLoad' },
  { name: 'heap-at-top-level', end: 'overMemoryAtLoad' },
];

/** The source of a program, for `buildModule`. */
export function hostileSource(name: string): string {
  const folder = fileURLToPath(new URL('../fixtures/hostile', import.meta.url));
  return path.join(folder, `${name}.ts`);
}
