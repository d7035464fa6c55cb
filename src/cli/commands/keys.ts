import path from 'node:path';
import type { Command } from 'commander';
import { isHostFolder } from '../../cluster/host-folder.ts';
import type { KeyEntry } from '../../service/key-folder.ts';
import { CliError, type Io } from '../io.ts';
import { keyFilesOfService, serviceSettings, withKeySettings } from '../service-settings.ts';
import { Session } from '../session.ts';
import { drawTable } from '../sql-table.ts';
import { timeText } from '../time-text.ts';

/** Adds `keys`, for the pair that signs a host's tokens and the earlier pairs. */
export function addKeys(program: Command, io: Io): void {
  const keys = program
    .command('keys')
    .description('manage the keys that sign the tokens of a service, and those of its secrets');
  withKeySettings(keys.command('list'))
    .description('list the current key and the old keys that still verify tokens')
    .option('--secrets', secretsText)
    .action(async ({ secrets }: SecretsFlag, command: Command) => {
      const { listKeys, listSecretKeys } = await import('../../service/key-folder.ts');
      const files = filesOf(io, command);
      if (secrets !== true) io.out(tableOf(await listKeys(files)));
      else io.out(secretTableOf(listSecretKeys(files)));
    });
  withKeySettings(keys.command('rotate'))
    .description('create a new key; tokens of the old one stay valid until it is retired')
    .option('--retire', 'retire all old keys: every token issued so far becomes invalid')
    .option('--secrets', `${secretsText}; a service encrypts all secrets again with the new one`)
    .action(async ({ retire, secrets }: RotateFlags, command: Command) => {
      const { retireKeys, rotateKeysIn, rotateSecretKeys } = await import(
        '../../service/key-folder.ts'
      );
      const files = filesOf(io, command);
      refuseOfCluster(io, command);
      if (secrets === true) {
        if (retire === true) throw new CliError(retireLaterText, 2);
        io.out(secretTableOf(await rotateSecretKeys(files)));
        io.out(whenItCounts);
        return;
      }
      const rotated = await rotateKeysIn(files);
      io.out(tableOf(retire === true ? await retireKeys(files, () => true) : rotated));
      io.out(whenItCounts);
    });
  withKeySettings(keys.command('retire <number>'))
    .description('reject the tokens that an old key has signed')
    .option('--secrets', `${secretsText}: what is encrypted with it alone is lost`)
    .action(async (word: string, { secrets }: SecretsFlag, command: Command) => {
      const { listKeys, listSecretKeys, retireKeys, retireSecretKey } = await import(
        '../../service/key-folder.ts'
      );
      const files = filesOf(io, command);
      const number = numberOf(word);
      const keys = secrets === true ? listSecretKeys(files) : await listKeys(files);
      if (!keys.some((key) => key.number === number)) {
        const list = `reducerdb keys list${secrets === true ? ' --secrets' : ''}`;
        throw new CliError(`There is no old key ${word}. See \`${list}\`.`);
      }
      if (secrets === true) io.out(secretTableOf(await retireSecretKey(files, number)));
      else io.out(tableOf(await retireKeys(files, (one) => one === number)));
      io.out(whenItCounts);
    });
}

interface SecretsFlag {
  readonly secrets?: true;
}

interface RotateFlags extends SecretsFlag {
  readonly retire?: true;
}

const secretsText = 'the keys that encrypt secrets, instead of those that sign tokens';

const retireLaterText =
  'a key of secrets can be retired when the service has encrypted them again: ' +
  'rotate, restart the service, then `reducerdb keys retire <number> --secrets`';

const whenItCounts = 'A running service applies this when it restarts or receives SIGHUP.';

function filesOf(io: Io, command: Command) {
  return keyFilesOfService(new Session(io, command), command);
}

/** All hosts of a cluster have one pair; with another one a host would be alone. */
function refuseOfCluster(io: Io, command: Command): void {
  const { dataDirectory } = serviceSettings(new Session(io, command), command);
  if (!isHostFolder(dataDirectory)) return;
  throw new CliError(
    `${dataDirectory} belongs to a host of a cluster, whose hosts share their keys: rotated at ` +
      'one host, they would reject what the other hosts sign, and the host would be refused at ' +
      'its next start. Rotation for all hosts is not built yet. A token that must not count any ' +
      'more can be revoked: reducerdb token revoke --help',
  );
}

function tableOf(entries: readonly KeyEntry[]): string {
  return drawn(entries, { current: 'signs', old: 'verifies' });
}

function secretTableOf(entries: readonly KeyEntry[]): string {
  if (entries.length === 0) return 'There is no key for secrets; the first secret makes it.';
  return drawn(entries, { current: 'encrypts', old: 'decrypts' });
}

function drawn(
  entries: readonly KeyEntry[],
  does: { readonly current: string; readonly old: string },
): string {
  return drawTable({
    header: ['KEY', 'FINGERPRINT', 'STATE', 'FILE'],
    rows: entries.map(({ number, fingerprint, sinceMillis, file }) => [
      number === undefined ? 'current' : String(number),
      fingerprint,
      `${number === undefined ? does.current : does.old}, since ${timeText(sinceMillis)}`,
      path.basename(file),
    ]),
  });
}

function numberOf(word: string): number {
  if (!/^[1-9]\d{0,8}$/.test(word))
    throw new CliError('<number> must be the number of an old key', 2);
  return Number(word);
}
