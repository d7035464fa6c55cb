import type { Json } from './tagged-json.ts';

/**
 * The rows of queries at one moment, read in one place to be shown first in another. It is plain
 * JSON: `serialize` writes it into a page, and frameworks that pass values along may pass it.
 *
 * @example
 * ```ts
 * const snapshot: Snapshot = await preload(client, { heroes: (q) => q.hero });
 * const uri = 'ws://localhost:3000';
 * const page = connect<typeof tavern>({ uri, database: 'tavern', snapshot });
 * ```
 */
export interface Snapshot {
  /** Stands for the schema that the rows are of. */
  readonly schema: string;
  /** Who read them, in hex. */
  readonly identity: string;
  /** By the name that they were given. */
  readonly queries: Readonly<Record<string, SnapshotQuery>>;
}

export interface SnapshotQuery {
  /** The text with its parameters in place, under the names that programs use. */
  readonly sql: string;
  readonly rows: readonly Json[];
  /** Somebody else may get other rows. */
  readonly isPersonal: boolean;
}
