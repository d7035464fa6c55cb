import { present } from '../../assert.ts';
import { limits } from '../../limits.ts';
import type { ScheduleDefinition, SchedulePolicy } from '../../schema/definition.ts';
import type { TableId } from '../../schema/ids.ts';
import { noRow, type RowRef } from '../../store/row-ref.ts';
import type { Table } from '../../store/table.ts';
import type { Index } from '../../store/table-index.ts';
import { readU32 } from '../../values/read-bytes.ts';
import { DueQueue } from './due-queue.ts';
import { readMicros } from './due-time.ts';
import { ScheduleState } from './schedule-state.ts';
import type { RowKey } from './schedule-tables.ts';

/** The `ScheduleAt` of a row. */
export interface At {
  readonly isInterval: boolean;
  /** The time, or the length of the interval. */
  readonly micros: number;
}

/** A scheduled table of the program that serves, and what is due in it. */
export class ArmedTable {
  readonly kind = 'table';
  readonly definition: ScheduleDefinition;
  readonly table: Table;
  readonly queue: DueQueue;
  readonly state: ScheduleState;
  readonly #keyColumn: number;
  readonly #index: Index;
  /** Start of the columns, where it is the same in each row. */
  readonly #keyStart: number | undefined;
  readonly #atStart: number | undefined;

  /** `before`: the schedule of this table in the program that served before. */
  constructor(definition: ScheduleDefinition, table: Table, before: ArmedTable | undefined) {
    this.definition = definition;
    this.table = table;
    this.queue = before?.queue ?? new DueQueue();
    this.state = before?.state ?? new ScheduleState();
    const { primaryKey } = table.spec;
    this.#keyColumn = present(primaryKey, 'the primary key of a scheduled table');
    this.#index = keyIndexOf(table, this.#keyColumn);
    this.#keyStart = table.shape.fixedStart(this.#keyColumn);
    this.#atStart = table.shape.fixedStart(definition.atColumn);
  }

  get id(): TableId {
    return this.table.id;
  }

  get name(): string {
    return this.table.spec.name;
  }

  get policy(): SchedulePolicy {
    return this.definition.policy;
  }

  get functionName(): string {
    return this.definition.functionName;
  }

  get isOfProcedure(): boolean {
    return this.definition.target === 'procedure';
  }

  /** Rows that have a run to come. */
  get armedRows(): number {
    return this.table.rowCount - this.state.atRest;
  }

  /** The visible row with this key, or `noRow`. */
  find(high: number, low: number): RowRef {
    keyView.setUint32(0, low, true);
    keyView.setUint32(4, high, true);
    const found = this.table.find(this.#index, key, key.length);
    return found === -1 || found === -3 ? noRow : found;
  }

  /** Reads a row, whether it is visible or was just deleted. */
  atOf(ref: RowRef): At {
    return this.atIn(this.table.pageOf(ref), this.table.offsetOf(ref));
  }

  atIn(bytes: Uint8Array, row: number): At {
    const { atColumn } = this.definition;
    const start = this.#atStart;
    const at = start === undefined ? this.table.shape.startOf(bytes, row, atColumn) : row + start;
    const micros = readMicros(bytes, at + 1);
    const isInterval = bytes[at] === intervalTag;
    return { isInterval, micros: isInterval ? Math.abs(micros) : micros };
  }

  keyOf(ref: RowRef): RowKey {
    return this.keyIn(this.table.pageOf(ref), this.table.offsetOf(ref));
  }

  keyIn(bytes: Uint8Array, row: number): RowKey {
    const column = this.#keyColumn;
    const start = this.#keyStart;
    const at = start === undefined ? this.table.shape.startOf(bytes, row, column) : row + start;
    return { schedule: this.id, high: readU32(bytes, at + 4), low: readU32(bytes, at) };
  }

  /** The table refuses rows that are due too far ahead. */
  guardAgainst(now: () => number): void {
    this.table.guard = (row) => {
      const { isInterval, micros } = this.atIn(row, 0);
      const delay = isInterval ? micros : micros - now();
      return delay < limits.scheduleDelayMillisMax * 1_000;
    };
  }
}

function keyIndexOf(table: Table, column: number): Index {
  const index = table.indexes.find(({ isUnique, spec }) => {
    return isUnique && spec.columns.length === 1 && spec.columns[0] === column;
  });
  return present(index, `the index of the primary key of ${table.spec.name}`);
}

/** Tag of the variant `Interval` of a `ScheduleAt`. */
const intervalTag = 0;

const key = new Uint8Array(8);
const keyView = new DataView(key.buffer);
