import { limits } from '../../src/limits.ts';
import type { SnapshotStore } from '../../src/shared-log/snapshot-store.ts';

/** Snapshots in memory, for simulations. */
export class MemoryParts implements SnapshotStore {
  readonly place = 'memory';
  readonly #objects = new Map<string, Uint8Array>();

  async putIfAbsent(name: string, bytes: Uint8Array): Promise<boolean> {
    if (this.#objects.has(name)) return false;
    this.#objects.set(name, bytes.slice());
    return true;
  }

  async get(name: string): Promise<Uint8Array | undefined> {
    return this.#objects.get(name)?.slice();
  }

  async list(prefix: string): Promise<readonly string[]> {
    const names = [...this.#objects.keys()].filter((name) => name.startsWith(prefix));
    return names.sort().slice(0, limits.snapshotNamesMax);
  }

  async remove(name: string): Promise<void> {
    this.#objects.delete(name);
  }
}
