import path from 'node:path';
import type { Command } from 'commander';
import type { KeyEntry } from '../../service/key-folder.ts';
import { CliError, type Io } from '../io.ts';
import { keyFilesOfService, withKeySettings } from '../service-settings.ts';
import { Session } from '../session.ts';
import { drawTable } from '../sql-table.ts';
import { timeText } from '../time-text.ts';

/** Adds `keys`, for the pair that signs a host's tokens and the earlier pairs. */
export function addKeys(program: Command, io: Io): void {
  const keys = program
    .command('keys')
    .description('manage the keys that sign the tokens of a service');
  withKeySettings(keys.command('list'))
    .description('list the current key and the old keys that still verify tokens')
    .action(async (_flags, command: Command) => {
      const { listKeys } = await import('../../service/key-folder.ts');
      io.out(tableOf(await listKeys(filesOf(io, command))));
    });
  withKeySettings(keys.command('rotate'))
    .description('create a new key; tokens of the old one stay valid until it is retired')
    .option('--retire', 'retire all old keys: every token issued so far becomes invalid')
    .action(async ({ retire }: { readonly retire?: true }, command: Command) => {
      const { retireKeys, rotateKeysIn } = await import('../../service/key-folder.ts');
      const files = filesOf(io, command);
      const rotated = await rotateKeysIn(files);
      io.out(tableOf(retire === true ? await retireKeys(files, () => true) : rotated));
      io.out(whenItCounts);
    });
  withKeySettings(keys.command('retire <number>'))
    .description('reject the tokens that an old key has signed')
    .action(async (word: string, _flags, command: Command) => {
      const { listKeys, retireKeys } = await import('../../service/key-folder.ts');
      const files = filesOf(io, command);
      const number = numberOf(word);
      const known = (await listKeys(files)).some((key) => key.number === number);
      if (!known) throw new CliError(`There is no old key ${word}. See \`reducerdb keys list\`.`);
      io.out(tableOf(await retireKeys(files, (one) => one === number)));
      io.out(whenItCounts);
    });
}

const whenItCounts = 'A running service applies this when it restarts or receives SIGHUP.';

function filesOf(io: Io, command: Command) {
  return keyFilesOfService(new Session(io, command), command);
}

function tableOf(entries: readonly KeyEntry[]): string {
  return drawTable({
    header: ['KEY', 'FINGERPRINT', 'STATE', 'FILE'],
    rows: entries.map(({ number, fingerprint, sinceMillis, file }) => [
      number === undefined ? 'current' : String(number),
      fingerprint,
      `${number === undefined ? 'signs' : 'verifies'}, since ${timeText(sinceMillis)}`,
      path.basename(file),
    ]),
  });
}

function numberOf(word: string): number {
  if (!/^[1-9]\d{0,8}$/.test(word))
    throw new CliError('<number> must be the number of an old key', 2);
  return Number(word);
}
