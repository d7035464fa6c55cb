import { readFileSync, statSync } from 'node:fs';
import { abortableStore } from '../../backup/abortable-store.ts';
import { BackupError } from '../../backup/backup-error.ts';
import { identitiesIn } from '../../backup/encryption.ts';
import { parsePlace } from '../../backup/parse-place.ts';
import { openRepository, type Repository } from '../../backup/repository.ts';
import { openStore } from '../../backup/repository-place.ts';
import type { RepositorySettings } from './backup-messages.ts';

/**
 * Opens a repository of the configuration, to write to it, or to see what is there. Nothing that is
 * asked of it is waited for once `signal` is aborted.
 */
export async function openedRepository(
  named: RepositorySettings,
  signal: AbortSignal,
  identities: readonly string[] = [],
): Promise<Repository> {
  const { url, keys } = named;
  const ask = keys === undefined ? undefined : () => keys;
  const store = await openStore(parsePlace(url), named, ask);
  return openRepository(abortableStore(store, signal), { identities });
}

/**
 * Opens it to read what is in it. If it is encrypted, the file with the keys is read now: it can be
 * put there for a restore, and taken away again.
 */
export async function readableRepository(
  named: RepositorySettings,
  signal: AbortSignal,
): Promise<Repository> {
  const { name, identityFile } = named;
  const repository = await openedRepository(named, signal);
  if (!repository.isEncrypted) return repository;
  if (identityFile !== undefined) {
    // Its path is nobody's business but the operator's.
    const called = `the identity file of [repository.${name}]`;
    requirePrivate(identityFile, called);
    return openedRepository(named, signal, readIdentities(identityFile, called));
  }
  const text = `the repository ${name} is encrypted, and this service has no key that opens it`;
  const advice = `name a file with one in config.toml, as identity-file of [repository.${name}]`;
  throw new BackupError('backup.wrongKey', `${text}; ${advice}, and start the service again`);
}

function requirePrivate(file: string, called: string): void {
  if (process.platform === 'win32') return;
  const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0;
  if ((mode & 0o077) === 0) return;
  throw new BackupError('backup.place', `${called} can be read by others; chmod 600 it`);
}

/** The keys in a file as `age-keygen` writes it. Throws `BackupError`. */
export function readIdentities(
  file: string,
  called: string = `the identity file ${file}`,
): string[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new BackupError('backup.place', `${called} cannot be read: ${code ?? message}`);
  }
  return identitiesIn(text);
}
