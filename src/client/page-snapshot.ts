import type { Json } from './tagged-json.ts';

/**
 * The rows of queries at one moment, read in one place to be shown first in another. It is plain
 * JSON: `serialize` writes it into a page, and frameworks can pass it along.
 *
 * @example
 * ```ts
 * const snapshot: Snapshot = await preload(client, { heroes: (q) => q.hero });
 * const uri = 'ws://localhost:3000';
 * const page = connect<typeof tavern>({ uri, database: 'tavern', snapshot });
 * ```
 */
export interface Snapshot {
  /** Hash of the rows' schema. */
  readonly schema: string;
  /** The identity that read them, in hex. */
  readonly identity: string;
  /** Queries by the name that the program gave them. */
  readonly queries: Readonly<Record<string, SnapshotQuery>>;
}

export interface SnapshotQuery {
  /** The text with its parameters filled in, with the names that programs use. */
  readonly sql: string;
  readonly rows: readonly Json[];
  /** True if another identity may get other rows. */
  readonly isPersonal: boolean;
}
