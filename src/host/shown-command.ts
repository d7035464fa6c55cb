import { commandEnd } from '../log/log-error.ts';

/**
 * Gives the commands in an error of a log the flag that names its data folder: ` --data-dir …`, or
 * nothing for the default folder.
 */
export function withDataFolder(text: string, flag: string): string {
  return text.replaceAll(commandEnd, `${flag}\``);
}
