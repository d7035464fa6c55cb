import { type Command, Option } from 'commander';
import type { NamedRepository, OpeningKeys } from '../service/open-repository.ts';
import { CliError, type Io } from './io.ts';
import { dataFolder } from './service-settings.ts';
import type { Session } from './session.ts';
import { refuseFlags, withDataDir } from './shared-flags.ts';

/** Flags that say which repository, and how it is reached. */
export interface RepositoryFlags {
  readonly repository?: string;
  readonly dataDir?: string;
  readonly endpoint?: string;
  readonly region?: string;
  readonly pathStyle?: boolean;
  readonly identityFile?: string;
  readonly passphrase?: boolean;
}

/** Adds the flags for a repository. Keys of a store are given by variables, never by flags. */
export function withRepository(command: Command): Command {
  return withDataDir(command)
    .option('--repository <repository>', 'name in config.toml, a folder, or s3://bucket/prefix')
    .option('--endpoint <url>', 'address of an S3-compatible store')
    .option('--region <region>', 'its region')
    .option('--path-style', 'the bucket is part of the path, not of the host name')
    .option('--identity-file <file>', 'keys that open an encrypted repository')
    .addOption(new Option('--passphrase', 'ask for the passphrase of the repository'));
}

/** Flags with which a command reaches a repository itself, without the service. */
export const ownFlags = [
  'dataDir',
  'endpoint',
  'region',
  'pathStyle',
  'identityFile',
  'passphrase',
] as const;

/** The repository that the flags name. */
export function namedRepository(
  session: Session,
  flags: RepositoryFlags,
  repository = flags.repository,
): NamedRepository {
  if (repository === undefined) throw new CliError('Say which one: --repository', 2);
  if (!repository.startsWith('s3://')) {
    const why = 'is for an address s3://bucket/prefix; for a name, write it into config.toml';
    refuseFlags(flags, ['endpoint', 'region', 'pathStyle'], why);
  }
  const { endpoint, region, pathStyle } = flags;
  return {
    repository,
    dataDirectory: dataFolder(session, flags.dataDir),
    environment: session.io.environment,
    settings: { endpoint, region, pathStyle },
  };
}

/** Refuses a place where a service needs a name; `advice` says what to do instead. */
export function requireServiceName({ repository }: RepositoryFlags, advice: string): void {
  if (repository === undefined || !/[/.\\:]/.test(repository)) return;
  const text =
    'The service knows repositories by their names in its config.toml, and opens no place';
  throw new CliError(`${text} that it is given, such as ${repository}. ${advice}`, 2);
}

/** What opens it if it is encrypted; a passphrase is asked for. */
export async function openingKeys(
  { io }: Session,
  { identityFile, passphrase }: RepositoryFlags,
): Promise<OpeningKeys> {
  return { identityFile, passphrase: passphrase === true ? await passphraseOf(io) : undefined };
}

/** A passphrase for a new repository: in a terminal it is typed twice. */
export async function newPassphrase(io: Io): Promise<string> {
  const passphrase = await passphraseOf(io);
  if (!io.isInteractive || (await io.askHidden('Passphrase again: ')) === passphrase) {
    return passphrase;
  }
  throw new CliError('The two passphrases differ. Nothing was made.');
}

async function passphraseOf(io: Io): Promise<string> {
  const passphrase = await io.askHidden('Passphrase: ');
  if (passphrase === undefined) {
    throw new CliError('Nobody can type a passphrase here; write it to standard input');
  }
  if (passphrase.trim() !== '') return passphrase;
  throw new CliError('The passphrase is empty, and would protect nothing');
}
