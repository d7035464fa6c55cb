import { commandEnd } from '../../log/log-error.ts';

/**
 * Adds the flag for the data folder to the commands in an error of a log: ` --data-dir …`, or
 * nothing for the default folder.
 */
export function withDataFolder(text: string, flag: string): string {
  return text.replaceAll(commandEnd, `${flag}\``);
}
