import { present } from '../assert.ts';
import { computedTables } from '../schema/system-tables.ts';
import type { LiveQuery } from './live-query.ts';
import { computedIds } from './live-schema.ts';
import type { SourceKey } from './source-changes.ts';

/** What may have changed in tables whose rows are in no change set. */
export interface ComputedChanges {
  /** The program was updated. */
  readonly isNewSchema: boolean;
  /** Values of sequences were handed out. */
  readonly hasSequences: boolean;
}

/** Finds the queries to run again when something that they read has changed. */
export class Reruns {
  readonly #bySource = new Map<SourceKey, Set<LiveQuery>>();

  add(query: LiveQuery): void {
    for (const source of query.operator.sources) {
      const known = this.#bySource.get(source);
      if (known === undefined) this.#bySource.set(source, new Set([query]));
      else known.add(query);
    }
  }

  delete(query: LiveQuery): void {
    for (const source of query.operator.sources) {
      const known = this.#bySource.get(source);
      known?.delete(query);
      if (known?.size === 0) this.#bySource.delete(source);
    }
  }

  get isEmpty(): boolean {
    return this.#bySource.size === 0;
  }

  /** Adds the queries that may be affected, given the sources whose rows have changed. */
  collect(
    sources: Iterable<SourceKey>,
    { isNewSchema, hasSequences }: ComputedChanges,
    queries: Set<LiveQuery>,
  ): void {
    for (const source of sources) this.#addReaders(source, queries);
    if (isNewSchema) for (const id of computedIds) this.#addReaders(id, queries);
    else if (hasSequences) this.#addReaders(sequenceTableId, queries);
  }

  #addReaders(source: SourceKey, queries: Set<LiveQuery>): void {
    for (const query of this.#bySource.get(source) ?? []) queries.add(query);
  }
}

const sequenceTableId = present(
  computedTables.find(({ name }) => name === 'st_sequence'),
  'the table of sequences',
).id;
