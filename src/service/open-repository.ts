import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { BackupError } from '../backup/backup-error.ts';
import { parsePlace } from '../backup/parse-place.ts';
import {
  initRepository,
  openRepository,
  type Repository,
  requireRecipients,
} from '../backup/repository.ts';
import { openStore } from '../backup/repository-place.ts';
import type { S3Settings } from '../backup/s3-settings.ts';
import type { RepositorySettings } from '../host/backups/backup-messages.ts';
import { readIdentities } from '../host/backups/opened-repository.ts';
import { privateFolderMode } from '../node/private-files.ts';
import { ConfigurationError } from './configuration.ts';
import { configurationFile } from './effective-settings.ts';
import { repositoriesIn, s3KeysIn } from './repositories.ts';
import { parseToml } from './toml.ts';

/** How a person names a repository on the command line. */
export interface NamedRepository {
  /** A name in `config.toml`, a path, or `s3://bucket/prefix`. */
  readonly repository: string;
  readonly dataDirectory: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** For a store that the configuration does not name. */
  readonly settings?: S3Settings;
}

/** True for a word that names a repository of the configuration, and not a place. */
export function isRepositoryName(text: string): boolean {
  return /^[a-z0-9][a-z0-9-]*$/.test(text);
}

/** What opens an encrypted repository. */
export interface OpeningKeys {
  /** A file with lines that begin with `AGE-SECRET-KEY-`. */
  readonly identityFile: string | undefined;
  readonly passphrase: string | undefined;
}

/**
 * Opens a repository on behalf of the command line. To write into one of the configuration, it has
 * to be encrypted to the recipients there. Rejects with `ConfigurationError`.
 */
export function openNamed(
  named: NamedRepository,
  keys: OpeningKeys,
  use: 'read' | 'write' = 'read',
): Promise<Repository> {
  return usable(async () => {
    const store = await storeOf(named);
    const { identityFile, passphrase } = keys;
    const given = identityFile === undefined ? undefined : readIdentities(identityFile);
    const { identityFile: file, recipients = [] } = configuredRepository(named) ?? {};
    const own = file !== undefined && existsSync(file) ? readIdentities(file) : [];
    const repository = await openRepository(store, { identities: given ?? own, passphrase });
    requireUse(repository, keys);
    if (use === 'write') requireRecipients(repository, recipients);
    return repository;
  });
}

/** Keys that open nothing are refused: the user believes that something is encrypted to them. */
function requireUse({ store, isEncrypted, facts }: Repository, keys: OpeningKeys): void {
  if (keys.identityFile !== undefined && !isEncrypted) {
    throw new ConfigurationError(`${store.place} is not encrypted: leave out --identity-file`);
  }
  if (keys.passphrase === undefined || facts.sealedIdentity !== undefined) return;
  const why = isEncrypted ? 'has no passphrase: use --identity-file' : 'is not encrypted';
  throw new ConfigurationError(`${store.place} ${why}; leave out --passphrase`);
}

/** Makes a place a repository. */
export function initNamed(
  named: NamedRepository,
  options: { readonly recipients: readonly string[]; readonly passphrase: string | undefined },
): Promise<string> {
  return usable(async () => {
    const store = await storeOf(named);
    const configured = configuredRepository(named);
    const place = parsePlace(configured?.url ?? named.repository);
    if (place.kind === 'folder') {
      mkdirSync(place.folder, { recursive: true, mode: privateFolderMode });
    }
    const recipients = [...(configured?.recipients ?? []), ...options.recipients];
    const { passphrase } = options;
    await initRepository(store, { recipients, passphrase, nowMicros: Date.now() * 1_000 });
    return store.place;
  });
}

/** Makes a folder that is empty, or does not exist, a repository, which is not encrypted. */
export async function initIfEmpty(named: NamedRepository, keys: OpeningKeys): Promise<void> {
  const place = await usable(async () => parsePlace(named.repository));
  if (place.kind !== 'folder' || isRepositoryName(named.repository)) return;
  if (existsSync(place.folder) && readdirSync(place.folder).length > 0) return;
  if (keys.identityFile !== undefined || keys.passphrase !== undefined) {
    const text = `${place.folder} is no repository yet`;
    throw new ConfigurationError(`${text}; make an encrypted one with reducerdb backup init`);
  }
  await initNamed(named, { recipients: [], passphrase: undefined });
}

function storeOf(named: NamedRepository) {
  const { repository, environment, settings = {} } = named;
  const configured = configuredRepository(named);
  if (configured === undefined) {
    const keys = s3KeysIn(environment);
    return openStore(parsePlace(repository), settings, keys && (() => keys));
  }
  const { url, keys } = configured;
  return openStore(parsePlace(url), configured, keys && (() => keys));
}

function configuredRepository(named: NamedRepository): RepositorySettings | undefined {
  const { repository, dataDirectory: folder, environment } = named;
  if (!isRepositoryName(repository)) return undefined;
  const file = configurationFile(folder);
  const tables = existsSync(file) ? parseToml(readFileSync(file, 'utf8')).repository : undefined;
  const all = repositoriesIn(tables, { file, folder, environment });
  const found = all.find(({ name }) => name === repository);
  if (found !== undefined) return found;
  const advice = `write ./${repository} for a folder`;
  throw new ConfigurationError(`${file} names no repository \`${repository}\`; ${advice}`);
}

/** Work on a repository, with errors that the user can do something about as such. */
export async function usable<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof BackupError) && (error as Error)?.name !== 'StoreError') throw error;
    throw new ConfigurationError((error as Error).message, { cause: error });
  }
}
