import fs from 'node:fs';
import path from 'node:path';

const folders = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin', '/sbin'];

/** The path of a system command; `undefined` where no executable one exists. */
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
 * The words to put before a command, so that the system ends it with the process that started it,
 * whatever it is doing, and it can gain no privileges. Empty where the system has no such way.
 */
export function endingWithParent(): readonly string[] {
  wrapper ??= systemCommand('setpriv') ?? '';
  return wrapper === '' ? [] : [wrapper, '--no-new-privs', '--pdeathsig', 'KILL'];
}

let wrapper: string | undefined;

/** Whether `endingWithParent` has an effect. */
export function endsWithParent(): boolean {
  return endingWithParent().length > 0;
}
