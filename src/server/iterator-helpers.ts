type IteratorBase = new <_Row>() => object;

/** The engine's `Iterator`, if it has `map`, `filter` and so on. */
export const EngineIterator: IteratorBase | undefined = engineIterator();

function engineIterator(): IteratorBase | undefined {
  const { Iterator } = globalThis as unknown as { Iterator?: IteratorBase & { prototype: object } };
  return Iterator !== undefined && 'toArray' in Iterator.prototype ? Iterator : undefined;
}

/** The iterator helpers of ECMAScript 2025, for synchronous iteration. */
export class Helpers {
  [Symbol.iterator](): this {
    return this;
  }

  map(transform: Step): Rest {
    return derived(this, function* (rows) {
      let index = 0;
      for (const row of rows) yield transform(row, index++);
    });
  }

  filter(accepts: Step): Rest {
    return derived(this, function* (rows) {
      let index = 0;
      for (const row of rows) if (accepts(row, index++)) yield row;
    });
  }

  take(limit: number): Rest {
    let left = wholeNumber(limit);
    return derived(this, function* (rows) {
      if (left === 0) {
        rows.return?.();
        return;
      }
      for (const row of rows) {
        yield row;
        left -= 1;
        if (left === 0) return;
      }
    });
  }

  drop(limit: number): Rest {
    let left = wholeNumber(limit);
    return derived(this, function* (rows) {
      for (const row of rows) {
        if (left === 0) yield row;
        else left -= 1;
      }
    });
  }

  flatMap(transform: Step): Rest {
    return derived(this, function* (rows) {
      let index = 0;
      for (const row of rows) yield* transform(row, index++) as Iterable<unknown>;
    });
  }

  reduce(step: Reducing, ...start: unknown[]): unknown {
    let hasResult = start.length > 0;
    let [result] = start;
    let index = 0;
    for (const row of rowsOf(this)) {
      result = hasResult ? step(result, row, index) : row;
      hasResult = true;
      index += 1;
    }
    if (!hasResult) throw new TypeError('Reduce of a done iterator with no initial value');
    return result;
  }

  toArray(): unknown[] {
    return [...rowsOf(this)];
  }

  forEach(visit: Step): void {
    let index = 0;
    for (const row of rowsOf(this)) visit(row, index++);
  }

  some(accepts: Step): boolean {
    let index = 0;
    for (const row of rowsOf(this)) if (accepts(row, index++)) return true;
    return false;
  }

  every(accepts: Step): boolean {
    return !this.some((row, index) => !accepts(row, index));
  }

  find(accepts: Step): unknown {
    let index = 0;
    for (const row of rowsOf(this)) if (accepts(row, index++)) return row;
    return undefined;
  }
}

/** The result of a helper, with the helpers again. Closing it closes its source rows. */
class Derived extends Helpers {
  readonly #steps: Rest;
  readonly #rows: Rest;
  #isStarted = false;

  constructor(steps: Rest, rows: Rest) {
    super();
    this.#steps = steps;
    this.#rows = rows;
  }

  next(): IteratorResult<unknown> {
    this.#isStarted = true;
    return this.#steps.next();
  }

  return(): IteratorResult<unknown> {
    // A generator that has not started does not close its rows.
    if (!this.#isStarted) this.#rows.return?.();
    return this.#steps.return?.() ?? { done: true, value: undefined };
  }
}

function derived(rows: object, steps: (rows: Rest) => Rest): Rest {
  const source = rowsOf(rows);
  return new Derived(steps(source), source) as unknown as Rest;
}

function rowsOf(rows: object): Rest {
  return rows as Rest;
}

type Rest = IterableIterator<unknown>;
type Reducing = (before: unknown, row: unknown, index: number) => unknown;
type Step = (row: unknown, index: number) => unknown;

function wholeNumber(limit: number): number {
  const whole = Math.trunc(limit);
  if (!(whole >= 0)) throw new RangeError(`${limit} must be positive`);
  return whole;
}
