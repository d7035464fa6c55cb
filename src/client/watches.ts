import type { Identity } from '../values/identity.ts';
import type { ClientSchema, Row, RowKey } from './client-schema.ts';
import type { Difference, Membership } from './contents.ts';
import type { Core, Watcher } from './core.ts';
import { Hydration } from './hydration.ts';
import type { Snapshot } from './page-snapshot.ts';
import { keyOf, rootsOf, sqlOf, withValues } from './query-roots.ts';
import type { QuerySet } from './query-set.ts';
import { resultOrderOf } from './result-order.ts';
import {
  Watch,
  type WatchedQuery,
  type WatchedSet,
  type WatchOptions,
  type WatchOwner,
} from './watch.ts';
import { shaped } from './watch-shape.ts';

interface Open {
  readonly key: string;
  readonly set: QuerySet;
  readonly watch: Watch;
}

/** The watched queries of a connection. Equal queries share one set, even across callers. */
export class Watches implements Watcher {
  readonly #core: Core;
  /** Watched queries to be reused, by the text of the query. */
  readonly #known = new Map<string, Watch>();
  /** Watched queries with a query set, by its number. */
  readonly #open = new Map<number, Open>();
  readonly #hydration: Hydration;

  constructor(core: Core) {
    this.#core = core;
    this.#hydration = new Hydration(core.platform, (key) => this.#known.get(key)?.forget());
    core.watcher = this;
  }

  /** Returns the same object for equal queries, unless options change how they are shown. */
  watch<R, Out>(query: unknown, options: WatchOptions<R, Out> = {}): WatchedQuery<Out, R> {
    const { params, keepMillis = 5_000, sort, limit, select, initial } = options;
    const given = withValues(query, params);
    const key = keyOf(given);
    const known = this.#known.get(key) ?? this.#add(key, given, keepMillis);
    known.keepFor(keepMillis);
    if (initial !== undefined) this.hydrate(initial);
    known.begin(() => this.#hydration.rowsFor(key));
    // The program defines the types of rows.
    const watch = known as unknown as WatchedQuery<R>;
    const isPlain = sort === undefined && limit === undefined && select === undefined;
    return isPlain ? (watch as unknown as WatchedQuery<Out, R>) : shaped(watch, options);
  }

  /** Adds rows for queries that have none yet. */
  hydrate(snapshot: Snapshot): void {
    this.#hydration.add(snapshot);
  }

  begun(schema: ClientSchema): void {
    this.#hydration.learned(schema, this.#core.link.identity);
  }

  welcomed(identity: Identity): void {
    this.#hydration.learned(undefined, identity);
  }

  changed({ sets, predicted, renamed = [], events = [] }: Difference): void {
    for (const { querySetId, rows } of events) this.#open.get(querySetId)?.watch.flash(rows);
    // A change touches few queries, a prediction might touch any.
    for (const id of predicted === undefined ? sets.keys() : this.#open.keys()) {
      const open = this.#open.get(id);
      if (open?.set.wasApplied !== true) continue;
      const { key, watch } = open;
      this.#hydration.over(key);
      for (const { from, to } of renamed) watch.rename(from, to);
      const keys = sets.get(id);
      const isWhole = sets.has(id) && keys === undefined;
      watch.refresh(isWhole ? undefined : [...(keys ?? []), ...(predicted ?? [])]);
    }
  }

  lost(): void {
    for (const { watch } of this.#open.values()) watch.setStale();
  }

  #add(key: string, query: unknown, keepMillis: number): Watch {
    const core = this.#core;
    const subscribe: WatchOwner['subscribe'] = (listener) => {
      const queries = (schema: ClientSchema) => sqlOf(query, rootsOf(schema));
      const set = core.subscribe(queries, {
        ...listener,
        applied: () => {},
        failed: (error) => {
          this.#open.delete(set.id);
          listener.failed(error);
        },
        left: () => {},
      });
      this.#open.set(set.id, { key, set, watch });
      return this.#rowsOf(set);
    };
    const { after, report } = core.platform;
    const gone = () => this.#known.delete(key);
    const watch: Watch = new Watch({ subscribe, after, gone, report }, keepMillis);
    this.#known.set(key, watch);
    return watch;
  }

  /** The rows of a set according to the server. One query gives rows of one table. */
  #rowsOf(set: QuerySet): WatchedSet {
    const core = this.#core;
    const find = (key: RowKey) => {
      for (const [rows, counts] of core.contents?.membership(set.id) ?? none) {
        const entry = rows.entries.get(key);
        const count = entry && counts.get(entry);
        if (entry !== undefined && count !== undefined) return { rows, entry, count };
      }
      return undefined;
    };
    return {
      *keys() {
        for (const counts of (core.contents?.membership(set.id) ?? none).values()) {
          for (const entry of counts.keys()) yield entry.key;
        }
        yield* core.predictions.loaded?.keysFor(set) ?? [];
      },
      at: (key): Row | undefined => {
        const row = find(key)?.entry.row;
        return core.predictions.loaded === undefined
          ? row
          : core.predictions.loaded.shownIn(set, key, row);
      },
      copies: (key) => {
        const found = find(key);
        // A row of a table is shown once, however often a join finds it.
        return found?.rows.isComputed === true ? found.count : 1;
      },
      keyOf: (row) => {
        const [rows] = core.contents?.membership(set.id)?.keys() ?? [];
        return rows?.table.keyOfRow(row);
      },
      order: () => {
        const { schema, contents } = core;
        const [rows] = contents?.membership(set.id)?.keys() ?? [];
        const [sql = ''] = schema === undefined ? [] : set.queries(schema);
        return rows && resultOrderOf(sql, rows.table);
      },
      leave: () => {
        this.#open.delete(set.id);
        core.unsubscribe(set);
      },
    };
  }
}

const none: Membership = new Map();
