import { assert, present } from '../../assert.ts';
import { type TableId, tableId } from '../../schema/ids.ts';
import type { RowList } from '../../store/change-set.ts';
import { noRow, type RowRef } from '../../store/row-ref.ts';
import type { Store } from '../../store/store.ts';
import type { Table } from '../../store/table.ts';
import type { Transaction } from '../../store/transaction.ts';
import { BinaryReader } from '../../values/binary-reader.ts';
import { BinaryWriter } from '../../values/binary-writer.ts';
import { readU32 } from '../../values/read-bytes.ts';
import { microsOf, readMicros } from './due-time.ts';

/**
 * The hidden tables of schedules (`schema/system-tables.ts`). The id of a schedule is that of its
 * table. Keys of rows are two halves, so that no number is allocated for each of them.
 */
export const dueTableId: TableId = tableId(28);
export const attemptTableId: TableId = tableId(29);
export const controlTableId: TableId = tableId(30);

/** A row of a scheduled table: the table, and the halves of its primary key. */
export interface RowKey {
  readonly schedule: TableId;
  readonly high: number;
  readonly low: number;
}

/** The next due times of rows that run at an interval. */
export class DueRows {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** `undefined`: there is no such row. */
  find(row: RowKey): number | undefined {
    const table = this.#store.table(dueTableId);
    if (table === undefined || table.rowCount === 0) return undefined;
    const ref = findKeyed(table, row);
    return ref === noRow ? undefined : readMicros(table.pageOf(ref), table.offsetOf(ref) + dueAt);
  }

  put(transaction: Transaction, row: RowKey, due: number): void {
    writeKey(row);
    writer.i64(BigInt(due));
    upsert(transaction, tableOf(this.#store, dueTableId), row);
  }

  remove(transaction: Transaction, row: RowKey): void {
    removeKeyed(transaction, this.#store.table(dueTableId), row);
  }

  /** Calls `visit` with each row; nothing may be written meanwhile. */
  forEach(visit: (schedule: TableId, due: number, high: number, low: number) => void): void {
    const table = this.#store.table(dueTableId);
    if (table === undefined) return;
    for (let ref = table.nextRow(noRow); ref !== noRow; ref = table.nextRow(ref)) {
      visitDue(table.pageOf(ref), table.offsetOf(ref), visit);
    }
  }
}

/** Reads one encoded row of `st_schedule_due`, and returns where it ends. */
export function visitDue(
  bytes: Uint8Array,
  at: number,
  visit: (schedule: TableId, due: number, high: number, low: number) => void,
): number {
  const due = readMicros(bytes, at + dueAt);
  visit(tableId(readU32(bytes, at)), due, readU32(bytes, at + highAt), readU32(bytes, at + lowAt));
  return at + dueRowBytes;
}

const lowAt = 4;
const highAt = 8;
const dueAt = 12;
const dueRowBytes = 20;

/** What is known of the run of a row that goes beyond the row itself. */
export interface Attempt {
  readonly state: AttemptState;
  /** The time that the run was due at first. */
  readonly due: number;
  /** When it runs; 0: not for this attempt. A failed one of an interval has its next time. */
  readonly at: number;
  /** Runs for that time that have failed so far. */
  readonly attempt: number;
  readonly error: string;
}

/**
 * `waits`: it runs at its time, again or because somebody said so. `claimed`: a procedure runs for
 * it, or ran when the database ended. `failed`: its runs have failed too often. An interval goes on
 * then; a row that runs once stays as it is.
 */
export type AttemptState = (typeof attemptStates)[number];

/** In the order of the numbers that stand for them. */
const attemptStates = ['waits', 'claimed', 'failed'] as const;

export class AttemptRows {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  get count(): number {
    return this.#store.table(attemptTableId)?.rowCount ?? 0;
  }

  find(row: RowKey): Attempt | undefined {
    const table = this.#store.table(attemptTableId);
    if (table === undefined || table.rowCount === 0) return undefined;
    const ref = findKeyed(table, row);
    return ref === noRow ? undefined : readAttempt(table.pageOf(ref), table.offsetOf(ref)).attempt;
  }

  put(transaction: Transaction, row: RowKey, given: Attempt): void {
    const { state, due, at, attempt, error } = given;
    writeKey(row);
    writer.i64(BigInt(due));
    writer.i64(BigInt(at));
    writer.u32(attempt);
    writer.u8(attemptStates.indexOf(state));
    writer.string(error);
    upsert(transaction, tableOf(this.#store, attemptTableId), row);
  }

  remove(transaction: Transaction, row: RowKey): void {
    removeKeyed(transaction, this.#store.table(attemptTableId), row);
  }

  /** Calls `visit` with each row; nothing may be written meanwhile. */
  forEach(visit: (row: RowKey, attempt: Attempt) => void): void {
    const table = this.#store.table(attemptTableId);
    if (table === undefined) return;
    for (let ref = table.nextRow(noRow); ref !== noRow; ref = table.nextRow(ref)) {
      const { row, attempt } = readAttempt(table.pageOf(ref), table.offsetOf(ref));
      visit(row, attempt);
    }
  }
}

/** Reads one encoded row of `st_schedule_attempt`. */
export function readAttempt(
  bytes: Uint8Array,
  at: number,
): { readonly row: RowKey; readonly attempt: Attempt; readonly end: number } {
  const reader = new BinaryReader(bytes, at);
  const schedule = tableId(reader.u32());
  const low = reader.u32();
  const high = reader.u32();
  const due = microsOf(reader.i64());
  const again = microsOf(reader.i64());
  const attempt = reader.u32();
  const state = present(attemptStates[reader.u8()], 'the state of an attempt');
  const error = reader.string();
  const found = { state, due, at: again, attempt, error };
  return { row: { schedule, high, low }, attempt: found, end: reader.offset };
}

/** The state of a schedule that has a name of its own: a cron, or one that was paused by name. */
export interface Control {
  readonly name: string;
  readonly isPaused: boolean;
  /** When it was paused. */
  readonly paused: number;
  /** Empty if it is not a cron, as are the times below. */
  readonly expression: string;
  readonly timeZone: string;
  readonly due: number;
  /** When it runs: at `due`, or later where a failed run is repeated. */
  readonly at: number;
  readonly attempt: number;
  readonly lastDue: number;
  readonly lastStart: number;
  readonly lastError: string;
}

export const noControl: Omit<Control, 'name'> = {
  ...{ isPaused: false, paused: 0, expression: '', timeZone: '', due: 0, at: 0, attempt: 0 },
  ...{ lastDue: 0, lastStart: 0, lastError: '' },
};

export class ControlRows {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  all(): readonly Control[] {
    const table = this.#store.table(controlTableId);
    const found: Control[] = [];
    if (table === undefined) return found;
    for (let ref = table.nextRow(noRow); ref !== noRow; ref = table.nextRow(ref)) {
      found.push(readControl(new BinaryReader(table.pageOf(ref), table.offsetOf(ref))));
    }
    return found;
  }

  find(name: string): Control | undefined {
    const table = this.#store.table(controlTableId);
    if (table === undefined) return undefined;
    const ref = findNamed(table, name);
    if (ref === noRow) return undefined;
    return readControl(new BinaryReader(table.pageOf(ref), table.offsetOf(ref)));
  }

  put(transaction: Transaction, control: Control): void {
    const table = tableOf(this.#store, controlTableId);
    const ref = findNamed(table, control.name);
    if (ref !== noRow) transaction.deleteRef(table, ref);
    writer.reset();
    writer.string(control.name);
    writer.bool(control.isPaused);
    writer.i64(BigInt(control.paused));
    writer.string(control.expression);
    writer.string(control.timeZone);
    writer.i64(BigInt(control.due));
    writer.i64(BigInt(control.at));
    writer.u32(control.attempt);
    writer.i64(BigInt(control.lastDue));
    writer.i64(BigInt(control.lastStart));
    writer.string(control.lastError);
    inserted(transaction, table);
  }

  remove(transaction: Transaction, name: string): void {
    const table = this.#store.table(controlTableId);
    if (table === undefined) return;
    const ref = findNamed(table, name);
    if (ref !== noRow) transaction.deleteRef(table, ref);
  }
}

/** Reads encoded rows of `st_schedule_control`. */
export function readControls({ bytes, count }: RowList): readonly Control[] {
  const reader = new BinaryReader(bytes);
  return Array.from({ length: count }, () => readControl(reader));
}

function readControl(reader: BinaryReader): Control {
  return {
    name: reader.string(),
    isPaused: reader.bool(),
    paused: microsOf(reader.i64()),
    expression: reader.string(),
    timeZone: reader.string(),
    due: microsOf(reader.i64()),
    at: microsOf(reader.i64()),
    attempt: reader.u32(),
    lastDue: microsOf(reader.i64()),
    lastStart: microsOf(reader.i64()),
    lastError: reader.string(),
  };
}

/** Catalogs from before there were schedules lack the tables; no such database writes to them. */
function tableOf(store: Store, id: TableId): Table {
  return present(store.table(id), `hidden table ${id}`);
}

const writer = new BinaryWriter(256);
const keyBytes = 12;
const key = new Uint8Array(keyBytes);
const keyView = new DataView(key.buffer);

function findKeyed(table: Table, { schedule, high, low }: RowKey): RowRef {
  keyView.setUint32(0, schedule, true);
  keyView.setUint32(lowAt, low, true);
  keyView.setUint32(highAt, high, true);
  return foundRef(table.find(keyIndex(table), key, keyBytes));
}

function findNamed(table: Table, name: string): RowRef {
  writer.reset();
  writer.string(name);
  return foundRef(table.find(keyIndex(table), writer.view(), writer.length));
}

function foundRef(found: RowRef | -1 | -3): RowRef {
  assert(found !== -3, 'the key of a hidden row is valid');
  return found === -1 ? noRow : found;
}

function keyIndex(table: Table) {
  return present(table.indexes[0], 'the index of a hidden table');
}

function writeKey({ schedule, high, low }: RowKey): void {
  writer.reset();
  writer.u32(schedule);
  writer.u32(low);
  writer.u32(high);
}

function upsert(transaction: Transaction, table: Table, row: RowKey): void {
  const isThere = findKeyed(table, row) !== noRow;
  const bytes = writer.view();
  const code = isThere
    ? transaction.update(table, keyIndex(table), bytes, bytes.length)
    : transaction.insert(table, bytes, bytes.length);
  assert(code >= 0, `a row of ${table.spec.name} was refused: ${code}`);
}

function inserted(transaction: Transaction, table: Table): void {
  const code = transaction.insert(table, writer.view(), writer.length);
  assert(code >= 0, `a row of ${table.spec.name} was refused: ${code}`);
}

function removeKeyed(transaction: Transaction, table: Table | undefined, row: RowKey): void {
  if (table === undefined || table.rowCount === 0) return;
  const ref = findKeyed(table, row);
  if (ref !== noRow) transaction.deleteRef(table, ref);
}

/** The primary key of a scheduled row. */
export function keyOf({ high, low }: Pick<RowKey, 'high' | 'low'>): bigint {
  return (BigInt(high) << 32n) | BigInt(low);
}
