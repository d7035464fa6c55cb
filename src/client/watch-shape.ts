import type { RowChange } from './contents.ts';
import { sameValue } from './native-order.ts';
import type { WatchedQuery, WatchedRows, WatchOptions } from './watch.ts';

/**
 * Sorts, limits and selects the rows of a watched query. Results keep their identity while they are
 * equal: a row that stayed, a selected value that equals the previous one, the array.
 */
export class Shape<R, Out> {
  #given: WatchedRows<R> | undefined;
  #options: WatchOptions<R, Out> = {};
  #shown: WatchedRows<Out> | undefined;
  /** Results of `select` for the shown rows. */
  #selected = new Map<R, Out>();

  /** Free if both arguments are the same objects as before. */
  of(given: WatchedRows<R>, options: WatchOptions<R, Out>): WatchedRows<Out> {
    const { sort, limit, select } = options;
    const before = this.#options;
    const isSameShape = sort === before.sort && limit === before.limit && select === before.select;
    if (this.#shown !== undefined && given === this.#given && isSameShape) return this.#shown;
    const rows =
      isSameShape && this.#shown !== undefined && given.rows === this.#given?.rows
        ? this.#shown.rows
        : this.#rows(given.rows, options, select === before.select);
    this.#given = given;
    this.#options = options;
    this.#shown = { ...given, rows };
    return this.#shown;
  }

  #rows(
    given: readonly R[],
    { sort, limit, select }: WatchOptions<R, Out>,
    isSameSelect: boolean,
  ): readonly Out[] {
    const sorted = sort === undefined ? given : [...given].sort(sort);
    const cut = limit === undefined ? sorted : sorted.slice(0, limit);
    const before = this.#shown?.rows ?? [];
    const known = this.#selected;
    this.#selected = new Map();
    const rows = cut.map((row, at) => {
      // Without `select` the row itself is shown.
      if (select === undefined) return row as unknown as Out;
      const made = isSameSelect && known.has(row) ? (known.get(row) as Out) : select(row);
      const old = before[at] as Out;
      const kept = known.get(row);
      const out = sameValue(kept, made) ? (kept as Out) : sameValue(old, made) ? old : made;
      this.#selected.set(row, out);
      return out;
    });
    const isSame = rows.length === before.length && rows.every((row, at) => row === before[at]);
    return isSame ? before : rows;
  }
}

/** Shows a watched query with other options. */
export function shaped<R, Out>(
  watch: WatchedQuery<R>,
  options: WatchOptions<R, Out>,
): WatchedQuery<Out, R> {
  const shape = new Shape<R, Out>();
  const get = () => shape.of(watch.get(), options);
  return {
    get,
    subscribe: (changed) => {
      let shown = get();
      return watch.subscribe(() => {
        const now = get();
        if (isSame(now, shown)) return;
        shown = now;
        changed();
      });
    },
    onChange: (listener: (changes: readonly RowChange<R>[]) => void) => watch.onChange(listener),
    getInitial: () => shape.of(watch.getInitial(), options),
    ready: () => watch.ready(),
  };
}

function isSame<Out>(a: WatchedRows<Out>, b: WatchedRows<Out>): boolean {
  return (
    a.rows === b.rows && a.isReady === b.isReady && a.isStale === b.isStale && a.error === b.error
  );
}
