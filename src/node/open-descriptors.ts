import fs from 'node:fs';

/** What to do where descriptors are short. */
export const descriptorsAdvice =
  'raise the limit on open files of the service (`ulimit -n`, `LimitNOFILE=`)';

/** How many files and sockets this process can have open; `undefined`: the system does not say. */
export function descriptorsMax(): number | undefined {
  try {
    const text = fs.readFileSync('/proc/self/limits', 'latin1');
    const soft = /^Max open files\s+(\d+)/m.exec(text)?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}

/** How many are open; `undefined` where the system does not say, or none is left to look with. */
export function openDescriptors(): number | undefined {
  try {
    return fs.readdirSync('/proc/self/fd').length;
  } catch {
    return undefined;
  }
}
