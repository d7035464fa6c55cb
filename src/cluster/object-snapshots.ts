import { type ObjectStore, readWhole } from '../backup/object-store.ts';
import { limits } from '../limits.ts';
import type { SnapshotStore } from '../shared-log/snapshot-store.ts';

/** Snapshots as objects of a store for backups: a bucket, or a folder that all hosts see. */
export class ObjectSnapshots implements SnapshotStore {
  readonly #store: ObjectStore;

  constructor(store: ObjectStore) {
    this.#store = store;
  }

  get place(): string {
    return this.#store.place;
  }

  async putIfAbsent(name: string, bytes: Uint8Array): Promise<boolean> {
    return (await this.#store.put(name, bytes)) === 'put';
  }

  async get(name: string): Promise<Uint8Array | undefined> {
    if ((await this.#store.head(name)) === undefined) return undefined;
    return readWhole(this.#store, name, limits.snapshotPartBytes);
  }

  async list(prefix: string): Promise<readonly string[]> {
    const folder = prefix.slice(0, prefix.lastIndexOf('/') + 1);
    const names: string[] = [];
    for await (const { name } of this.#store.list(folder)) {
      if (name.startsWith(prefix) && names.length < limits.snapshotNamesMax) names.push(name);
    }
    return names.sort();
  }

  async remove(name: string): Promise<void> {
    await this.#store.delete(name);
  }
}
