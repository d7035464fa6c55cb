import fs from 'node:fs';

/**
 * How many processes the kernel has killed for lack of memory since the machine started, including
 * those in groups with a limit of their own; `undefined`: the system does not report it.
 */
export function memoryKills(): number | undefined {
  try {
    const count = /^oom_kill (\d+)$/m.exec(fs.readFileSync('/proc/vmstat', 'latin1'))?.[1];
    return count === undefined ? undefined : Number(count);
  } catch {
    return undefined;
  }
}
