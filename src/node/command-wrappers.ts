import fs from 'node:fs';
import path from 'node:path';

const folders = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin', '/sbin'];

/** Where a command of the system is; `undefined` where there is none that may be run. */
export function systemCommand(name: string): string | undefined {
  if (process.platform !== 'linux') return undefined;
  return folders.map((folder) => path.join(folder, name)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return true;
  } catch {
    return false;
  }
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
