/** Rows as JSON objects by column name, in the shape that was asked for. */
export interface ChangedRows {
  /** The table or view whose whole rows these are, or their columns: `(room, messages)`. */
  readonly table: string;
  readonly deletes: readonly string[];
  readonly inserts: readonly string[];
  /** True: they are events, which are no rows of a table. */
  readonly isEvent?: true;
}

/**
 * The rows that a subscription has shown, so that after a connection that broke only what changed
 * meanwhile is shown. Two queries can give the same row.
 */
export class KnownRows {
  readonly #tables = new Map<string, Map<string, number>>();

  /** Notes what was shown. */
  apply(tables: readonly ChangedRows[]): void {
    for (const { table, deletes, inserts, isEvent } of tables) {
      if (isEvent) continue;
      const rows = this.#rowsOf(table);
      for (const row of deletes) {
        const count = (rows.get(row) ?? 0) - 1;
        if (count > 0) rows.set(row, count);
        else rows.delete(row);
      }
      for (const row of inserts) rows.set(row, (rows.get(row) ?? 0) + 1);
    }
  }

  /** What makes these rows of those that were shown, table by table. */
  changesTo(all: readonly ChangedRows[]): ChangedRows[] {
    const next = new KnownRows();
    next.apply(all);
    const names = new Set([...this.#tables.keys(), ...next.#tables.keys()]);
    return [...names].flatMap((table) => {
      const [before, after] = [this.#rowsOf(table), next.#rowsOf(table)];
      const deletes = [...surplus(before, after)];
      const inserts = [...surplus(after, before)];
      return deletes.length + inserts.length === 0 ? [] : [{ table, deletes, inserts }];
    });
  }

  #rowsOf(table: string): Map<string, number> {
    const rows = this.#tables.get(table) ?? new Map<string, number>();
    this.#tables.set(table, rows);
    return rows;
  }
}

function* surplus(
  rows: ReadonlyMap<string, number>,
  others: ReadonlyMap<string, number>,
): Generator<string> {
  for (const [row, count] of rows) {
    for (let at = others.get(row) ?? 0; at < count; at++) yield row;
  }
}
