import path from 'node:path';
import type { Command } from 'commander';
import { isHostFolder } from '../../cluster/host-folder.ts';
import type { KeyEntry } from '../../service/key-folder.ts';
import {
  boolean,
  list,
  nullable,
  number,
  object,
  parseAs,
  type Shaped,
  string,
} from '../../values/json-shape.ts';
import { CliError, type Io } from '../io.ts';
import { keyFilesOfService, serviceSettings, withKeySettings } from '../service-settings.ts';
import { Session } from '../session.ts';
import { withServer } from '../shared-flags.ts';
import { drawTable } from '../sql-table.ts';
import { timeText } from '../time-text.ts';

/** Adds `keys`, for the pair that signs a host's tokens and the earlier pairs. */
export function addKeys(program: Command, io: Io): void {
  const keys = program
    .command('keys')
    .description('manage the keys that sign the tokens of a service, and those of its secrets');
  ofService(keys.command('list'))
    .description('list the current key and the old keys that still verify tokens')
    .option('--secrets', secretsText)
    .action(async ({ secrets, server }: SecretsFlag, command: Command) => {
      if (server !== undefined) return printShared(io, secrets, await sharedKeys(io, command));
      const { listKeys, listSecretKeys } = await import('../../service/key-folder.ts');
      const files = filesOf(io, command);
      if (secrets !== true) io.out(tableOf(await listKeys(files)));
      else io.out(secretTableOf(listSecretKeys(files)));
    });
  ofService(keys.command('rotate'))
    .description('create a new key; tokens of the old one stay valid until it is retired')
    .option('--retire', 'retire all old keys: every token issued so far becomes invalid')
    .option('--secrets', `${secretsText}; a service encrypts all secrets again with the new one`)
    .action(async (flags: RotateFlags, command: Command) => {
      const { retire, secrets, server } = flags;
      if (secrets === true && retire === true) throw new CliError(retireLaterText, 2);
      if (server !== undefined) {
        const body = { retire: retire === true, secrets: secrets === true };
        return printShared(io, secrets, await changedKeys(io, command, 'rotate', body));
      }
      await rotateInFolder(io, command, flags);
    });
  ofService(keys.command('retire <number>'))
    .description('reject the tokens that an old key has signed')
    .option('--secrets', `${secretsText}: what is encrypted with it alone is lost`)
    .action(async (word: string, { secrets, server }: SecretsFlag, command: Command) => {
      const number = numberOf(word);
      if (server !== undefined) {
        const body = { number, secrets: secrets === true };
        return printShared(io, secrets, await changedKeys(io, command, 'retire', body));
      }
      await retireInFolder(io, command, { number, secrets });
    });
}

/** The keys of a folder, or, with `--server`, those of a cluster. */
function ofService(command: Command): Command {
  return withServer(withKeySettings(command)).addHelpText('after', sharedHelp);
}

const sharedHelp = `
The keys of one service are in its data folder, or its key folder. All hosts of a cluster share
theirs: with --server an operator sees and changes them at any host, for all hosts at once.`;

async function rotateInFolder(io: Io, command: Command, flags: RotateFlags): Promise<void> {
  const { retire, secrets } = flags;
  const { retireKeys, rotateKeysIn, rotateSecretKeys } = await import(
    '../../service/key-folder.ts'
  );
  const files = filesOf(io, command);
  refuseOfCluster(io, command);
  if (secrets === true) io.out(secretTableOf(await rotateSecretKeys(files)));
  else {
    const rotated = await rotateKeysIn(files);
    io.out(tableOf(retire === true ? await retireKeys(files, () => true) : rotated));
  }
  io.out(whenItCounts);
}

async function retireInFolder(
  io: Io,
  command: Command,
  { number, secrets }: { readonly number: number; readonly secrets: true | undefined },
): Promise<void> {
  const { listKeys, listSecretKeys, retireKeys, retireSecretKey } = await import(
    '../../service/key-folder.ts'
  );
  const files = filesOf(io, command);
  refuseOfCluster(io, command);
  const keys = secrets === true ? listSecretKeys(files) : await listKeys(files);
  if (!keys.some((key) => key.number === number)) {
    const list = `reducerdb keys list${secrets === true ? ' --secrets' : ''}`;
    throw new CliError(`There is no old key ${number}. See \`${list}\`.`);
  }
  if (secrets === true) io.out(secretTableOf(await retireSecretKey(files, number)));
  else io.out(tableOf(await retireKeys(files, (one) => one === number)));
  io.out(whenItCounts);
}

async function sharedKeys(io: Io, command: Command): Promise<SharedKeys> {
  const api = await new Session(io, command).apiWithIdentity();
  return api.json('GET', '/v1/cluster/keys', sharedKeysShape);
}

async function changedKeys(
  io: Io,
  command: Command,
  change: 'rotate' | 'retire',
  body: object,
): Promise<SharedKeys> {
  const session = new Session(io, command);
  const api = await session.apiWithIdentity();
  const sent = {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
  const where = `/v1/cluster/keys/${change}`;
  const text = await session.keepingTokens(() => api.text('POST', where, sent));
  return parseAs(text, sharedKeysShape);
}

function printShared(io: Io, secrets: true | undefined, shared: SharedKeys): void {
  const keys = secrets === true ? shared.secrets : shared.signing;
  io.out(
    drawTable({
      header: ['KEY', 'FINGERPRINT', 'STATE'],
      rows: keys.map(({ number, fingerprint, state, since }) => [
        number === null ? 'current' : String(number),
        fingerprint,
        `${state}, since ${since === null ? 'the cluster began' : timeText(Date.parse(since))}`,
      ]),
    }),
  );
  const late = shared.hosts.filter((host) => host.revision !== shared.revision);
  if (late.length === 0) return;
  const names = late.map(({ host }) => host).join(', ');
  io.out(`Not there, or not so far yet: ${names}. A host takes the keys when it starts.`);
}

const keyShape = object({
  ...{ number: nullable(number), fingerprint: string, state: string, since: nullable(string) },
});

/** The keys of a cluster, as any of its hosts shows them. */
export const sharedKeysShape = object({
  ...{ revision: number, signing: list(keyShape), secrets: list(keyShape), secret: string },
  hosts: list(
    object({
      ...{ host: string, is_living: boolean, revision: nullable(number) },
      secrets: nullable(list(string)),
    }),
  ),
});

type SharedKeys = Shaped<typeof sharedKeysShape>;

interface SecretsFlag {
  readonly server?: string;
  readonly secrets?: true;
}

interface RotateFlags extends SecretsFlag {
  readonly retire?: true;
}

const secretsText = 'the keys that encrypt secrets, instead of those that sign tokens';

const retireLaterText =
  'a key of secrets can be retired when the service has encrypted them again: ' +
  'rotate with --secrets first, then `reducerdb keys retire <number> --secrets`';

const whenItCounts = 'A running service applies this when it restarts or receives SIGHUP.';

function filesOf(io: Io, command: Command) {
  return keyFilesOfService(new Session(io, command), command);
}

/** All hosts of a cluster have one pair; with another one a host would be alone. */
function refuseOfCluster(io: Io, command: Command): void {
  const { dataDirectory } = serviceSettings(new Session(io, command), command);
  if (!isHostFolder(dataDirectory)) return;
  throw new CliError(
    `${dataDirectory} belongs to a host of a cluster, whose hosts share their keys. As an ` +
      'operator, change them at a host that runs, for all hosts at once: add --server ADDRESS.',
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
