import type { ClientSchema, Row } from './client-schema.ts';
import type { Difference } from './contents.ts';
import type { Core, Watcher } from './core.ts';
import type { Readable } from './observable.ts';
import { keyOf, rootsOf, sqlOf } from './query-roots.ts';
import { Watch, type WatchedRows } from './watch.ts';

/** The watched queries of a connection. Equal queries share one set, whoever asks for them. */
export class Watches implements Watcher {
  readonly #core: Core;
  /** To be handed out, by the text of the query. */
  readonly #known = new Map<string, Watch>();
  /** Those that have a query set, by its number. */
  readonly #open = new Map<number, Watch>();

  constructor(core: Core) {
    this.#core = core;
    core.watcher = this;
  }

  watch(query: unknown, { keepMillis = 5_000 } = {}): Readable<WatchedRows<Row>> {
    const key = keyOf(query);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const core = this.#core;
    const watch: Watch = new Watch({
      subscribe: (listener) => {
        const queries = (schema: ClientSchema) => sqlOf(query, rootsOf(schema));
        const set = core.subscribe(queries, {
          ...listener,
          failed: (error) => {
            this.#open.delete(set.id);
            listener.failed(error);
          },
          left: () => {},
        });
        this.#open.set(set.id, watch);
        return {
          rows: () => core.contents?.rowsOf(set.id) ?? [],
          leave: () => {
            this.#open.delete(set.id);
            core.unsubscribe(set);
          },
        };
      },
      after: (run) => core.platform.after(keepMillis, run),
      gone: () => this.#known.delete(key),
      report: core.platform.report,
    });
    this.#known.set(key, watch);
    return watch;
  }

  changed({ sets }: Difference): void {
    for (const id of sets) this.#open.get(id)?.changed();
  }

  lost(): void {
    for (const watch of this.#open.values()) watch.setStale(true);
  }
}
