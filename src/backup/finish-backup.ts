import { randomBytes } from 'node:crypto';
import { toHex } from '../values/hex.ts';
import { BackupError } from './backup-error.ts';
import {
  backupIdDigits,
  type DatabaseEntry,
  type FileEntry,
  type Manifest,
  objectsOf,
} from './manifest.ts';
import { absenceText, absentObjects } from './presence.ts';
import type { Repository } from './repository.ts';

/** What was put into a repository, and is a backup once the manifest that names it is written. */
export interface BackupParts {
  readonly databases: readonly DatabaseEntry[];
  readonly files: readonly FileEntry[];
  /** True if it has all databases of a host, its registry included. */
  readonly isWhole: boolean;
  /** Name and version of the program, for people. */
  readonly program: string;
  readonly nowMicros: number;
}

/**
 * Writes the manifest of a backup, and returns it. Each object that it names is looked for once
 * more: one that a `prune` has taken meanwhile must not be named.
 */
export async function finishBackup(
  repository: Repository,
  { nowMicros, ...parts }: BackupParts,
  signal?: AbortSignal,
): Promise<Manifest> {
  const [absent] = await absentObjects(repository.store, objectsOf(parts));
  if (absent !== undefined) {
    const text = `${repository.store.place}: ${absenceText(absent)}; run the backup again`;
    throw new BackupError('backup.missing', text);
  }
  const id = toHex(randomBytes(backupIdDigits / 2));
  const manifest: Manifest = { id, timeMicros: nowMicros, ...parts };
  await repository.putManifest(manifest, { signal });
  return manifest;
}
