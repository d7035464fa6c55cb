import fs from 'node:fs';
import path from 'node:path';

const folders = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin', '/sbin'];

/** Where a command of the system is; `undefined` where it is not installed. */
export function systemCommand(name: string): string | undefined {
  if (process.platform !== 'linux') return undefined;
  return folders.map((folder) => path.join(folder, name)).find((file) => fs.existsSync(file));
}

/**
 * The words that a command is put behind, so that the system ends it with the process that started
 * it, whatever it is doing then, and it can gain no privileges. Empty where there is no such way.
 */
export function endingWithParent(): readonly string[] {
  wrapper ??= systemCommand('setpriv') ?? '';
  return wrapper === '' ? [] : [wrapper, '--no-new-privs', '--pdeathsig', 'KILL'];
}

let wrapper: string | undefined;

/** Whether `endingWithParent` does what it says. */
export function endsWithParent(): boolean {
  return endingWithParent().length > 0;
}
