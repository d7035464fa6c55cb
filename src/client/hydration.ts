import type { Identity } from '../values/identity.ts';
import type { ClientSchema, Row } from './client-schema.ts';
import type { Snapshot, SnapshotQuery } from './page-snapshot.ts';
import type { Platform } from './platform.ts';
import { fromTagged } from './tagged-json.ts';

/** What is known of a query from a snapshot. */
interface Kept {
  readonly snapshot: Snapshot;
  readonly query: SnapshotQuery;
}

/**
 * Rows of snapshots for queries that have none of the server yet. Those that cannot be trusted are
 * dropped as soon as that is known: of another schema, or somebody else's.
 */
export class Hydration {
  readonly #platform: Platform;
  readonly #drop: (key: string) => void;
  readonly #kept = new Map<string, Kept>();
  readonly #added = new WeakSet<Snapshot>();
  #schema: ClientSchema | undefined;
  #identity: Identity | undefined;

  /** `drop`: the rows of that query are not to be shown any more. */
  constructor(platform: Platform, drop: (key: string) => void) {
    this.#platform = platform;
    this.#drop = drop;
  }

  /** The same snapshot counts once: components give theirs in every render. */
  add(snapshot: Snapshot): void {
    if (this.#added.has(snapshot)) return;
    this.#added.add(snapshot);
    for (const query of Object.values(snapshot.queries)) {
      this.#kept.set(query.sql, { snapshot, query });
    }
    this.#check();
  }

  rowsFor(key: string): readonly Row[] | undefined {
    return this.#kept.get(key)?.query.rows.map((row) => fromTagged(row) as Row);
  }

  /** The server's own rows have come. */
  over(key: string): void {
    this.#kept.delete(key);
  }

  /** What the database has, and who is connected, as far as that is known by now. */
  learned(schema: ClientSchema | undefined, identity: Identity | undefined): void {
    this.#schema = schema ?? this.#schema;
    this.#identity = identity ?? this.#identity;
    this.#check();
  }

  #check(): void {
    if (this.#kept.size === 0) return;
    const mark = this.#schema && markOf(this.#schema);
    const identity = this.#identity?.toHexString();
    for (const [key, { snapshot, query }] of this.#kept) {
      const isOld = mark !== undefined && snapshot.schema !== mark;
      const isMine = identity === undefined || snapshot.identity === identity;
      if (!isOld && (isMine || !query.isPersonal)) continue;
      if (isOld) this.#platform.warn(`the snapshot of \`${key}\` is of another schema`);
      this.#kept.delete(key);
      this.#drop(key);
    }
  }
}

/** The same for equal schemas: 64 bits of FNV-1a over the JSON. */
export function markOf({ source }: ClientSchema): string {
  const text = JSON.stringify(source) ?? '';
  let [low, high] = [0x811c9dc5, 0x01000193];
  for (let at = 0; at < text.length; at += 1) {
    low = Math.imul(low ^ text.charCodeAt(at), 0x01000193);
    high = Math.imul(high ^ text.charCodeAt(at), 0x85ebca6b);
  }
  return [low, high].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('');
}
