import { limits } from '../limits.ts';
import { listArchives, objectsOfArchive, readArchiveState } from './archive-state.ts';
import { BackupError } from './backup-error.ts';
import { type ObjectEntry, objectsOf } from './manifest.ts';
import type { ArchiveName, ManifestName } from './object-names.ts';
import { ObjectFault, type Repository } from './repository.ts';

/**
 * What archives and manifests say of objects, which are never read again to find out. They are read
 * when they are needed: the archives of the database, then manifests, the newest first.
 */
export class KnownObjects {
  readonly #repository: Repository;
  readonly #entries = new Map<string, ObjectEntry>();
  readonly #archives = new Set<string>();
  #archiveNames: readonly ArchiveName[] | undefined;
  #unread: ManifestName[] | undefined;

  constructor(repository: Repository) {
    this.#repository = repository;
  }

  note(entry: ObjectEntry): void {
    if (!this.#entries.has(entry.name)) this.#entries.set(entry.name, entry);
  }

  async find(name: string): Promise<ObjectEntry | undefined> {
    await this.#readArchives(name.split('/')[1] ?? '');
    this.#unread ??= (await this.#repository.manifests()).slice(0, limits.manifestsSearchedMax);
    while (!this.#entries.has(name)) {
      const manifest = this.#unread.shift();
      if (manifest === undefined) return undefined;
      await this.#read(manifest);
    }
    return this.#entries.get(name);
  }

  async #readArchives(identity: string): Promise<void> {
    if (this.#archives.has(identity)) return;
    this.#archives.add(identity);
    this.#archiveNames ??= await listArchives(this.#repository);
    for (const name of this.#archiveNames.filter((one) => one.identity === identity)) {
      await this.#take(async () => {
        const state = await readArchiveState(this.#repository, name);
        return state === undefined ? [] : objectsOfArchive(state);
      });
    }
  }

  #read(name: ManifestName): Promise<void> {
    return this.#take(async () => objectsOf(await this.#repository.manifest(name)));
  }

  /** What cannot be read says nothing. */
  async #take(read: () => Promise<readonly ObjectEntry[]>): Promise<void> {
    try {
      for (const entry of await read()) this.note(entry);
    } catch (error) {
      const isOfManifest = error instanceof ObjectFault || error instanceof BackupError;
      if (!isOfManifest) throw error;
    }
  }
}
