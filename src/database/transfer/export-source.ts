import { assert } from '../../assert.ts';
import { limits } from '../../limits.ts';
import { quotedName } from '../../schema/quoted-name.ts';
import { isWrite } from '../../sql/statement.ts';
import { noRow, pageShift, type RowRef } from '../../store/row-ref.ts';
import type { Table } from '../../store/table.ts';
import type { TablePin } from '../../store/table-pin.ts';
import { noConnection } from '../../values/connection-number.ts';
import { skipperOf } from '../../values/layout.ts';
import { askedStatement } from '../asked-statement.ts';
import type { DatabaseCore } from '../core.ts';
import type { Caller } from '../outcome.ts';
import type { ReadRun } from '../read-run.ts';

/** The rows of one table as of one moment, handed out in blocks. */
export interface ExportSource {
  /**
   * The next rows: until the block is full, or until `isOver`, which is asked every few rows.
   * Throws `PinRevokedError`, and `SqlFailure`.
   */
  read(isOver: () => boolean): ExportBlock;
  /** Releases what it holds; calling it again does nothing. */
  release(): void;
}

export interface ExportBlock {
  readonly rows: Uint8Array;
  readonly count: number;
  readonly isDone: boolean;
}

/** Reads pinned rows: nothing is kept of them but what others delete meanwhile. */
export class PinnedSource implements ExportSource {
  readonly #pin: TablePin;
  #ref: RowRef = noRow;

  constructor(table: Table) {
    this.#pin = table.pin();
  }

  read(isOver: () => boolean): ExportBlock {
    const { table } = this.#pin;
    this.#pin.requireValid();
    let block = new Uint8Array(limits.exportBlockBytes);
    let end = 0;
    let count = 0;
    let page = this.#ref >>> pageShift;
    for (let left: number = limits.exportLookRows; ; left -= 1) {
      const next = this.#pin.nextRow(this.#ref);
      if (next === noRow) return { rows: block.subarray(0, end), count, isDone: true };
      const length = table.lengthOf(next);
      if (end + length > block.length) {
        if (count > 0) break;
        // A large row has a block of its own.
        block = new Uint8Array(length);
      }
      end += table.copyRow(next, block, end);
      count += 1;
      this.#ref = next;
      // Pages can be nearly empty, and then passing them takes most of the time.
      const isLook = left === 0 || next >>> pageShift !== page;
      if (!isLook) continue;
      if (isOver()) break;
      left = limits.exportLookRows;
      page = next >>> pageShift;
    }
    return { rows: block.subarray(0, end), count, isDone: false };
  }

  release(): void {
    this.#pin.release();
  }
}

/** Runs the statement that reads what the caller may see, which pins the rows when it pauses. */
export class FilteredSource implements ExportSource {
  readonly #run: ReadRun;
  readonly #skip: (bytes: Uint8Array, at: number) => number;
  #isRead: boolean;
  #isReleased = false;
  #row = 0;
  #at = 0;

  constructor(core: DatabaseCore, caller: Caller, { spec, rowType, types }: Table) {
    const { clock, store } = core;
    const sql = `SELECT * FROM ${quotedName(spec.name)}`;
    const connection = { kind: 'open', id: noConnection } as const;
    const query = { caller, connection, sql, confirmed: false };
    const { statement, times, request } = askedStatement(core, query, clock.nowMicros());
    assert(!isWrite(statement), 'a SELECT does not write');
    const slice = { ...times, sliceMillis: limits.exportSliceMillisMax };
    this.#skip = skipperOf(rowType, types);
    this.#run = core.startReadRun(statement, store, slice, request);
    // At once, so that it sees the rows of this moment.
    this.#isRead = this.#run.run() === 'done';
  }

  read(): ExportBlock {
    if (!this.#isRead) {
      this.#isRead = this.#run.run() === 'done';
      return { rows: new Uint8Array(0), count: 0, isDone: false };
    }
    const { rows, rowCount } = this.#run.result();
    const start = this.#at;
    let count = 0;
    while (this.#row < rowCount && this.#at - start < limits.exportBlockBytes) {
      this.#at = this.#skip(rows, this.#at);
      this.#row += 1;
      count += 1;
    }
    return { rows: rows.slice(start, this.#at), count, isDone: this.#row === rowCount };
  }

  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#run.dispose();
  }
}
