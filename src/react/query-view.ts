import type { WatchedQuery, WatchedRows, WatchOptions } from '../client/watch.ts';
import { Shape } from '../client/watch-shape.ts';

type Field = keyof WatchedRows<unknown>;

/**
 * One component's view of the queries that it uses, one after another. It returns the same object
 * until something that the component reads is different: a component that reads only rows does not
 * render again when the connection is lost and comes back.
 */
export class QueryView<R, Out> {
  readonly #shape = new Shape<R, Out>();
  /** The fields that the component has read. `isReady` decides how it sees the others. */
  readonly #fields = new Set<Field>(['isReady']);
  #watch: WatchedQuery<R> | undefined;
  #seen: WatchedRows<Out> | undefined;
  /** The rows of the previous query, once they were on the screen. */
  #previous: readonly Out[] | undefined;

  /** Returns the component's view of a value of the query. */
  look(
    watch: WatchedQuery<R>,
    value: WatchedRows<R>,
    options: WatchOptions<R, Out>,
  ): WatchedRows<Out> {
    const now = this.#shape.of(value, options);
    const before = this.#seen;
    const isSame =
      before !== undefined &&
      this.#watch === watch &&
      [...this.#fields].every((field) => before[field] === now[field]);
    if (isSame) return before;
    this.#watch = watch;
    this.#seen = now;
    return now;
  }

  /** The rows of the previous query, until the new ones have arrived. */
  bridged(value: WatchedRows<Out>, keepPrevious: boolean): WatchedRows<Out> {
    const previous = this.#previous;
    if (value.isReady || previous === undefined) return value;
    return { ...value, rows: keepPrevious ? previous : value.rows, isReady: true, isStale: true };
  }

  /** Records which fields of `value` the component reads. */
  tracked(value: WatchedRows<Out>): WatchedRows<Out> {
    const read = <F extends Field>(field: F): WatchedRows<Out>[F] => {
      this.#fields.add(field);
      return value[field];
    };
    return {
      get rows() {
        return read('rows');
      },
      get isReady() {
        return read('isReady');
      },
      get isStale() {
        return read('isStale');
      },
      get error() {
        return read('error');
      },
    } as WatchedRows<Out>;
  }

  /** `value` is on the screen now; `undefined` if there is no query and nothing to fall back on. */
  shown(value: WatchedRows<Out> | undefined): void {
    if (value?.isReady !== false) this.#previous = value?.rows;
  }
}
