import type { Identity } from '../values/identity.ts';
import type { ClientSchema, Row } from './client-schema.ts';
import type { Snapshot, SnapshotQuery } from './page-snapshot.ts';
import type { Platform } from './platform.ts';
import { fromTagged } from './tagged-json.ts';

/** A query of a snapshot. */
interface Kept {
  readonly snapshot: Snapshot;
  readonly query: SnapshotQuery;
}

/**
 * Rows of snapshots for queries that have none from the server yet. Rows of another schema or
 * another identity are dropped as soon as the mismatch is known.
 */
export class Hydration {
  readonly #platform: Platform;
  readonly #drop: (key: string) => void;
  readonly #kept = new Map<string, Kept>();
  readonly #added = new WeakSet<Snapshot>();
  #schema: ClientSchema | undefined;
  #identity: Identity | undefined;

  /** `drop` is called when the rows of a query must no longer be shown. */
  constructor(platform: Platform, drop: (key: string) => void) {
    this.#platform = platform;
    this.#drop = drop;
  }

  /** Adds a snapshot, once: components pass theirs in every render. */
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

  /** The server's own rows have arrived. */
  over(key: string): void {
    this.#kept.delete(key);
  }

  /** Checks snapshots against the schema and the identity, as far as known by now. */
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

/** A hash of the schema: 64 bits of FNV-1a over the JSON. */
export function markOf({ source }: ClientSchema): string {
  const text = JSON.stringify(source) ?? '';
  let [low, high] = [0x811c9dc5, 0x01000193];
  for (let at = 0; at < text.length; at += 1) {
    low = Math.imul(low ^ text.charCodeAt(at), 0x01000193);
    high = Math.imul(high ^ text.charCodeAt(at), 0x85ebca6b);
  }
  return [low, high].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('');
}
