import { type Command, Option } from 'commander';
import type { NamedRepository, OpeningKeys } from '../service/open-repository.ts';
import { CliError } from './io.ts';
import { dataFolder } from './service-settings.ts';
import type { Session } from './session.ts';
import { withDataDir } from './shared-flags.ts';

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

/** The repository that the flags name. */
export function namedRepository(
  session: Session,
  flags: RepositoryFlags,
  repository = flags.repository,
): NamedRepository {
  if (repository === undefined) throw new CliError('Say which one: --repository', 2);
  const { endpoint, region, pathStyle } = flags;
  return {
    repository,
    dataDirectory: dataFolder(session, flags.dataDir),
    environment: session.io.environment,
    settings: { endpoint, region, pathStyle },
  };
}

/** What opens it if it is encrypted; a passphrase is asked for. */
export async function openingKeys(session: Session, flags: RepositoryFlags): Promise<OpeningKeys> {
  const passphrase =
    flags.passphrase === true ? await session.io.askHidden('Passphrase: ') : undefined;
  return { identityFile: flags.identityFile, passphrase };
}
