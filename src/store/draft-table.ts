import { limits } from '../limits.ts';
import type { Catalog, TableSpec } from '../schema/catalog.ts';
import { equalBytes } from './copy-bytes.ts';
import { type ConflictGroups, conflictGroups } from './duplicates.ts';
import { noRow, type RowRef } from './row-ref.ts';
import { Table } from './table.ts';

/** What happened to a row that a migration made. `full`: the table takes no more rows. */
export type DraftResult = 'added' | 'equal' | 'conflict' | 'full';

/**
 * A table that a migration fills beside the one that serves. Several old rows may give the same new
 * row, which then stays until all of them are gone. A row whose unique key another one has waits
 * aside: that one may still go.
 */
export class DraftTable {
  readonly table: Table;
  /** How often a row was added beyond once. */
  readonly #more = new Map<RowRef, number>();
  readonly #aside: Uint8Array[] = [];

  constructor(spec: TableSpec, types: Catalog) {
    this.table = new Table(spec, types);
  }

  /** True if there are so many conflicts that it makes no sense to go on. */
  get isHopeless(): boolean {
    return this.#aside.length >= limits.migrationConflictsMax;
  }

  /** Adds one valid row. */
  add(bytes: Uint8Array, at: number, length: number): DraftResult {
    const { changes } = this.table;
    const equal = changes.findEqual(bytes, at, length);
    if (equal !== noRow) {
      this.#more.set(equal, (this.#more.get(equal) ?? 0) + 1);
      return 'equal';
    }
    const result = changes.tryToLoad(bytes, at, length);
    if (result !== 'conflict') return result === 'loaded' ? 'added' : 'full';
    this.#aside.push(bytes.slice(at, at + length));
    return 'conflict';
  }

  /**
   * Takes back one `add` of that row. After `gone` a call of `retry` may add rows that wait aside;
   * `absent`: there was no such `add`.
   */
  remove(bytes: Uint8Array, at: number, length: number): 'gone' | 'stays' | 'absent' {
    const ref = this.table.changes.findEqual(bytes, at, length);
    if (ref === noRow) {
      const aside = this.#aside.findIndex((row) => {
        return row.length === length && equalBytes(row, 0, bytes, at, length);
      });
      if (aside < 0) return 'absent';
      this.#aside.splice(aside, 1);
      return 'stays';
    }
    const more = this.#more.get(ref);
    if (more !== undefined) {
      if (more === 1) this.#more.delete(ref);
      else this.#more.set(ref, more - 1);
      return 'stays';
    }
    this.table.changes.unload(ref);
    return 'gone';
  }

  /** Adds what waited aside, where nothing is in its way any more; returns what was added. */
  retry(): readonly Uint8Array[] {
    if (this.#aside.length === 0) return noRows;
    const waiting = this.#aside.splice(0);
    return waiting.filter((row) => this.add(row, 0, row.length) === 'added');
  }

  /** What the conflicts are, for people. */
  conflicts(): readonly ConflictGroups[] {
    return this.#aside.length === 0 ? [] : conflictGroups(this.table, this.#aside);
  }
}

const noRows: readonly Uint8Array[] = [];
