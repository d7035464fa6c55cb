/** How often each row is there, by its JSON. */
export class Bag {
  readonly #counts = new Map<string, number>();

  static of(rows: Iterable<unknown>): Bag {
    const bag = new Bag();
    for (const row of rows) bag.add(JSON.stringify(row), 1);
    return bag;
  }

  /** Throws when more goes than was there. */
  add(row: string, count: number): void {
    const now = (this.#counts.get(row) ?? 0) + count;
    if (now < 0) throw new Error(`${row} was deleted more often than it was inserted`);
    if (now === 0) this.#counts.delete(row);
    else this.#counts.set(row, now);
  }

  addAll(other: Bag, factor = 1): void {
    for (const [row, count] of other.#counts) this.add(row, count * factor);
  }

  /** For comparing. */
  get lines(): string[] {
    return [...this.#counts].map(([row, count]) => `${count}x ${row}`).sort();
  }

  /** Each row once. */
  get rows(): string[] {
    return [...this.#counts.keys()].sort();
  }
}

/** Bags by the name of the table. */
export class Bags {
  readonly #bags = new Map<string, Bag>();

  of(table: string): Bag {
    const bag = this.#bags.get(table) ?? new Bag();
    this.#bags.set(table, bag);
    return bag;
  }

  get lines(): string[] {
    const all = [...this.#bags].flatMap(([table, bag]) =>
      bag.lines.map((one) => `${table} ${one}`),
    );
    return all.sort();
  }
}
