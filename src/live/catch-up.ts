import { AssertionError } from '../assert.ts';
import type { TableChange } from '../store/change-set.ts';
import type { CallerIdentity } from '../values/identity-roles.ts';
import { frameOf, type LiveFragment } from './fragment.ts';
import type { OperatorSurroundings } from './live-operator.ts';
import type { LiveQuery } from './live-query.ts';
import type { LiveSchema } from './live-schema.ts';
import type { LiveUpdate } from './live-update.ts';
import type { PreparedQuery } from './prepared-query.ts';
import { type FragmentHits, sourceChangesOf } from './source-changes.ts';
import { WatchIndex } from './watch-index.ts';

/**
 * What earlier commits have changed for some queries: those that follow from the changed rows
 * alone, whatever else the tables had then (`followsFromChanges`).
 */
export class CatchUp {
  readonly #schema: LiveSchema;
  readonly #watched = new WatchIndex();
  readonly #owners = new Map<LiveFragment, LiveQuery>();

  constructor(schema: LiveSchema, queries: Iterable<LiveQuery>) {
    this.#schema = schema;
    for (const query of queries) {
      for (const fragment of query.operator.fragments) {
        this.#watched.add(fragment);
        this.#owners.set(fragment, query);
      }
    }
  }

  /** By ascending number of the query, as when the commit was made. */
  updatesOf(tables: readonly TableChange[]): readonly LiveUpdate[] {
    const hits = new Map<LiveFragment, FragmentHits>();
    for (const change of tables) {
      const { tableId } = change;
      const table = this.#watched.has(tableId) ? this.#schema.table(tableId) : undefined;
      if (table === undefined) continue;
      const { shape } = this.#schema.layoutOf(table);
      this.#watched.collect(tableId, sourceChangesOf(change, shape), shape, hits);
    }
    const queries = new Set<LiveQuery>();
    for (const fragment of hits.keys()) {
      const owner = this.#owners.get(fragment);
      if (owner !== undefined) queries.add(owner);
    }
    return [...queries]
      .sort((one, other) => one.number - other.number)
      .flatMap(({ number, table: { name, id }, operator }) => {
        const changes = operator.changes(hits, changesAlone);
        return changes.length === 0 ? [] : [{ query: number, table: name, tableId: id, changes }];
      });
  }
}

/** True of a query over one table, without views, groups, order and limit. */
export function followsFromChanges(query: PreparedQuery, identity: CallerIdentity): boolean {
  if (query.isKept || query.rerunReason !== undefined || query.views.length > 0) return false;
  return query
    .operatorFor(identity)
    .fragments.every(
      ({ relations, join, caller }) =>
        relations.length === 1 && join === undefined && caller === undefined,
    );
}

const changesAlone: OperatorSurroundings = {
  frame: frameOf([]),
  tables: readsNothing,
  scan: readsNothing,
  reread: readsNothing,
};

function readsNothing(): never {
  throw new AssertionError('a query over one table follows from its changes');
}
