import type { WatchedQuery, WatchedRows, WatchOptions } from '../client/watch.ts';
import { Shape } from '../client/watch-shape.ts';

type Field = keyof WatchedRows<unknown>;

/**
 * What one component sees of the queries that it asks for, one after another. It gives the same
 * object until something that the component looks at is different: who shows rows alone does not
 * render again because the connection went away and came back.
 */
export class QueryView<R, Out> {
  readonly #shape = new Shape<R, Out>();
  /** What the component has looked at. Whether there are rows decides what it sees of the rest. */
  readonly #fields = new Set<Field>(['isReady']);
  #watch: WatchedQuery<R> | undefined;
  #seen: WatchedRows<Out> | undefined;
  /** The rows of the query before, once they were on the screen. */
  #previous: readonly Out[] | undefined;

  /** What there is to see now. */
  look(watch: WatchedQuery<R>, options: WatchOptions<R, Out>): WatchedRows<Out> {
    const now = this.#shape.of(watch.get(), options);
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

  /** The rows of the query before in the place of those that are not there yet. */
  bridged(value: WatchedRows<Out>, keepPrevious: boolean): WatchedRows<Out> {
    const previous = this.#previous;
    if (value.isReady || previous === undefined) return value;
    return { ...value, rows: keepPrevious ? previous : value.rows, isReady: true, isStale: true };
  }

  /** Remembers what the component reads of `value`. */
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

  /** `value` is on the screen now. */
  shown(value: WatchedRows<Out>): void {
    if (value.isReady) this.#previous = value.rows;
  }
}
