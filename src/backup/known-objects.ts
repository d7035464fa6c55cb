import { limits } from '../limits.ts';
import { BackupError } from './backup-error.ts';
import { type ObjectEntry, objectsOf } from './manifest.ts';
import type { ManifestName } from './object-names.ts';
import { ObjectFault, type Repository } from './repository.ts';

/**
 * What manifests say of objects, which are never read again to find out. Manifests are read when
 * they are needed, the newest first.
 */
export class KnownObjects {
  readonly #repository: Repository;
  readonly #entries = new Map<string, ObjectEntry>();
  #unread: ManifestName[] | undefined;

  constructor(repository: Repository) {
    this.#repository = repository;
  }

  note(entry: ObjectEntry): void {
    if (!this.#entries.has(entry.name)) this.#entries.set(entry.name, entry);
  }

  async find(name: string): Promise<ObjectEntry | undefined> {
    this.#unread ??= (await this.#repository.manifests()).slice(0, limits.manifestsSearchedMax);
    while (!this.#entries.has(name)) {
      const manifest = this.#unread.shift();
      if (manifest === undefined) return undefined;
      await this.#read(manifest);
    }
    return this.#entries.get(name);
  }

  /** One that cannot be read says nothing. */
  async #read(name: ManifestName): Promise<void> {
    try {
      for (const entry of objectsOf(await this.#repository.manifest(name))) this.note(entry);
    } catch (error) {
      const isOfManifest = error instanceof ObjectFault || error instanceof BackupError;
      if (!isOfManifest) throw error;
    }
  }
}
