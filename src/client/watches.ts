import type { Row } from './client-schema.ts';
import type { Difference } from './contents.ts';
import type { Core, Watcher } from './core.ts';
import type { Readable } from './observable.ts';
import { keyOf, rootsOf, sqlOf } from './query-roots.ts';
import type { QuerySet } from './query-set.ts';
import { Watch, type WatchedRows } from './watch.ts';

/** The watched queries of a connection. Equal queries share one set, whoever asks for them. */
export class Watches implements Watcher {
  readonly #core: Core;
  readonly #watches = new Map<string, { watch: Watch; set: QuerySet | undefined }>();

  constructor(core: Core) {
    this.#core = core;
    core.watcher = this;
  }

  watch(query: unknown, { keepMillis = 5_000 } = {}): Readable<WatchedRows<Row>> {
    const key = keyOf(query);
    const known = this.#watches.get(key);
    if (known !== undefined) return known.watch;
    const entry: { watch: Watch; set: QuerySet | undefined } = {
      set: undefined,
      watch: new Watch({
        subscribe: ({ applied, failed, closed }) => {
          const set = this.#core.subscribe((schema) => sqlOf(query, rootsOf(schema)), {
            applied,
            failed,
            left: () => {},
            closed,
          });
          entry.set = set;
          return {
            rows: () => this.#core.contents?.rowsOf(set.id) ?? [],
            leave: () => this.#core.unsubscribe(set),
          };
        },
        after: (run) => this.#core.platform.after(keepMillis, run),
        gone: () => this.#watches.delete(key),
        report: this.#core.platform.report,
      }),
    };
    this.#watches.set(key, entry);
    return entry.watch;
  }

  /** Something about these sets is not what it was. */
  changed({ sets }: Difference): void {
    for (const { watch, set } of this.#watches.values()) {
      if (set?.wasApplied === true && sets.has(set.id)) watch.refresh(false);
    }
  }

  /** The connection went away. */
  lost(): void {
    for (const { watch } of this.#watches.values()) watch.setStale(true);
  }
}
