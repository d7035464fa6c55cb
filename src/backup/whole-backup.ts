import { BackupError } from './backup-error.ts';
import { type Manifest, objectsOf, objectsOfDatabase } from './manifest.ts';
import { absentObjects } from './presence.ts';
import { ObjectFault, type Repository } from './repository.ts';

/** Backups that are looked at to name one that can be restored. */
const searchedMax = 16;

/** Which backup is looked for: of a database, of a whole host, or any. */
export interface WantedBackup {
  readonly identity?: string | undefined;
  readonly isWhole?: boolean | undefined;
}

/**
 * The newest backup before a time that is all that was backed up, and of which all objects are
 * there with their sizes.
 */
export async function wholeBackupBefore(
  repository: Repository,
  beforeMicros: number,
  { identity, isWhole }: WantedBackup,
): Promise<Manifest | undefined> {
  const names = (await repository.manifests()).filter(
    ({ timeMicros }) => timeMicros < beforeMicros,
  );
  for (const name of names.slice(0, searchedMax)) {
    const manifest = await readIfWhole(repository, name);
    if (manifest === undefined || manifest.timeMicros >= beforeMicros) continue;
    const entry = manifest.databases.find((one) => one.identity === identity);
    if (identity !== undefined && entry === undefined) continue;
    if (isWhole === true && !manifest.isWhole) continue;
    const entries = entry === undefined ? manifest.databases : [entry];
    if (entries.some(({ fault }) => fault !== '')) continue;
    const objects = entry === undefined ? objectsOf(manifest) : objectsOfDatabase(entry);
    if ((await absentObjects(repository.store, objects)).length === 0) return manifest;
  }
  return undefined;
}

async function readIfWhole(
  repository: Repository,
  name: Parameters<Repository['manifest']>[0],
): Promise<Manifest | undefined> {
  try {
    return await repository.manifest(name);
  } catch (error) {
    if (error instanceof ObjectFault || error instanceof BackupError) return undefined;
    throw error;
  }
}
