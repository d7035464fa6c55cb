import { limits } from '../../limits.ts';
import type { CommitLog } from '../../log/commit-log.ts';
import type { TableId } from '../../schema/ids.ts';
import { emptyRowList, type RowList } from '../../store/change-set.ts';
import type { DraftLog } from './stage-rows.ts';

/** Writes rows of a migration that is under way into the log, in records of a limited size. */
export class StagedWriter implements DraftLog {
  /** Names the run: the log position before its first record. */
  readonly run: number;
  readonly #log: CommitLog;
  #catalog: Uint8Array | undefined;
  readonly #tables = new Map<TableId, { inserts: RowBytes; deletes: RowBytes }>();
  #bytes = 0;

  constructor(log: CommitLog, catalog: Uint8Array) {
    this.#log = log;
    this.#catalog = catalog;
    this.run = log.bytes;
  }

  /** True if a record was appended. */
  added(table: TableId, bytes: Uint8Array, at: number, length: number): boolean {
    this.#of(table).inserts.add(bytes, at, length);
    return this.#note(length);
  }

  removed(table: TableId, bytes: Uint8Array, at: number, length: number): void {
    // In a record, what goes does so before anything comes.
    if (this.#of(table).inserts.count > 0) this.flush();
    this.#of(table).deletes.add(bytes, at, length);
    this.#note(length);
  }

  /** Appends what there is. */
  flush(): void {
    if (this.#tables.size === 0 && this.#catalog === undefined) return;
    const tables = [...this.#tables]
      .map(([tableId, { inserts, deletes }]) => {
        const rows = { inserts: inserts.list(), deletes: deletes.list() };
        return { tableId, ...rows, truncated: false };
      })
      .sort((one, other) => one.tableId - other.tableId);
    this.#log.appendStaged({ run: this.run, catalog: this.#catalog, tables });
    this.#catalog = undefined;
    this.#tables.clear();
    this.#bytes = 0;
  }

  #note(length: number): boolean {
    this.#bytes += length;
    if (this.#bytes < limits.migrationStagedBytes) return false;
    this.flush();
    return true;
  }

  #of(table: TableId) {
    const known = this.#tables.get(table);
    if (known !== undefined) return known;
    const made = { inserts: new RowBytes(), deletes: new RowBytes() };
    this.#tables.set(table, made);
    return made;
  }
}

/** Rows one after another. */
export class RowBytes {
  count = 0;
  #bytes = new Uint8Array(0);
  #end = 0;

  add(from: Uint8Array, at: number, length: number): void {
    const end = this.#end + length;
    if (end > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(end, this.#bytes.length * 2, 4_096));
      grown.set(this.#bytes.subarray(0, this.#end));
      this.#bytes = grown;
    }
    this.#bytes.set(from.subarray(at, at + length), this.#end);
    this.#end = end;
    this.count++;
  }

  list(): RowList {
    if (this.count === 0) return emptyRowList;
    return { count: this.count, bytes: this.#bytes.subarray(0, this.#end) };
  }
}
