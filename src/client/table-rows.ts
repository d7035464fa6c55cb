import type { ClientTable, Row, RowKey } from './client-schema.ts';
import { type Entry, TableIndex } from './table-index.ts';

/** The rows of one table that any query set has, with the indexes that were used. */
export class TableRows {
  readonly table: ClientTable;
  readonly entries = new Map<RowKey, Entry>();
  readonly #indexes = new Map<string, TableIndex>();

  constructor(table: ClientTable) {
    this.table = table;
  }

  /** True if the rows are not of a table: their type comes with the result of a query. */
  get isComputed(): boolean {
    return this.table.parts.name.startsWith('{');
  }

  /** Adds an entry for a new row. */
  add(key: RowKey, row: Row): Entry {
    const entry: Entry = { key, row, count: 0 };
    this.restore(entry);
    return entry;
  }

  /** Puts back an entry that was removed. */
  restore(entry: Entry): void {
    this.entries.set(entry.key, entry);
    for (const index of this.#indexes.values()) index.add(entry);
  }

  replace(entry: Entry, row: Row): void {
    const old = entry.row;
    for (const index of this.#indexes.values()) index.remove(entry, old);
    entry.row = row;
    for (const index of this.#indexes.values()) index.add(entry);
  }

  remove(entry: Entry): void {
    this.entries.delete(entry.key);
    for (const index of this.#indexes.values()) index.remove(entry, entry.row);
  }

  /** Built from the rows on first use, kept up to date afterwards. */
  index(accessor: string): TableIndex | undefined {
    const known = this.#indexes.get(accessor);
    if (known !== undefined) return known;
    const definition = this.table.parts.indexes.find((each) => each.accessor === accessor);
    if (definition === undefined) return undefined;
    const index = new TableIndex(this.table, definition);
    for (const entry of this.entries.values()) index.add(entry);
    this.#indexes.set(accessor, index);
    return index;
  }

  *rows(): Generator<Row, undefined, undefined> {
    for (const entry of this.entries.values()) yield entry.row;
    return undefined;
  }
}
