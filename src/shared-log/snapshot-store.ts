/**
 * A place for snapshots of databases that hosts share: objects with names, each there as a whole or
 * not at all. What was put is durable when that resolves. One contract suite holds for all.
 */
export interface SnapshotStore {
  /** How messages call it; without secrets. */
  readonly place: string;
  /** Creates an object; false: there is one with this name, which stays. */
  putIfAbsent(name: string, bytes: Uint8Array): Promise<boolean>;
  get(name: string): Promise<Uint8Array | undefined>;
  /** Names that begin with `prefix`, in order, at most `limits.snapshotNamesMax`. */
  list(prefix: string): Promise<readonly string[]>;
  /** One that is not there counts as removed. */
  remove(name: string): Promise<void>;
}
