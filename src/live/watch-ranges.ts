import type { WatchedRange, Watcher } from './fragment.ts';

/**
 * Watchers that ask for a range of one column of whole numbers. Their bounds lie side by side, so
 * that testing all of them for a changed row costs a nanosecond each: compiled conditions cost a
 * thousand times as much when there are more of them than a cache holds.
 *
 * Numbers of 64 bits are rounded, bounds as well as values, so more watchers may be found than
 * asked for, never fewer.
 */
export class WatchedRanges {
  #lows = new Float64Array(8);
  #highs = new Float64Array(8);
  readonly #watchers: Watcher[] = [];
  readonly #positions = new Map<Watcher, number>();

  get isEmpty(): boolean {
    return this.#watchers.length === 0;
  }

  add(watcher: Watcher, { low, high }: WatchedRange): void {
    const at = this.#watchers.length;
    if (at === this.#lows.length) {
      this.#lows = grown(this.#lows);
      this.#highs = grown(this.#highs);
    }
    this.#lows[at] = low;
    this.#highs[at] = high;
    this.#watchers.push(watcher);
    this.#positions.set(watcher, at);
  }

  /** Moves the last watcher to the free place. */
  remove(watcher: Watcher): void {
    const at = this.#positions.get(watcher);
    const last = this.#watchers.length - 1;
    const moved = this.#watchers[last];
    if (at === undefined || moved === undefined) return;
    this.#lows[at] = this.#lows[last] as number;
    this.#highs[at] = this.#highs[last] as number;
    this.#watchers[at] = moved;
    this.#positions.set(moved, at);
    this.#watchers.pop();
    this.#positions.delete(watcher);
  }

  /** Visits the watchers whose range holds the value. */
  find(value: number, visit: (watcher: Watcher) => void): void {
    const lows = this.#lows;
    const highs = this.#highs;
    const watchers = this.#watchers;
    const { length } = watchers;
    for (let at = 0; at < length; at++) {
      if (value < (lows[at] as number) || value > (highs[at] as number)) continue;
      visit(watchers[at] as Watcher);
    }
  }
}

function grown(numbers: Float64Array): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(2 * numbers.length);
  larger.set(numbers);
  return larger;
}
