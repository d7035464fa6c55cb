import { present } from '../../assert.ts';
import type { Table } from '../../store/table.ts';
import type { RowSource } from '../../store/table-pin.ts';
import type { QueryValue } from '../functions/function.ts';
import type { QueryBudget } from './budget.ts';
import type { Frame } from './frame.ts';

/** What one execution of a compiled plan knows; its operators share it. */
export class ExecutionState implements Frame {
  readonly pages: (Uint8Array | undefined)[];
  readonly rows: number[];
  /** The present row of each slot that shows a stored table. */
  readonly refs: number[];
  readonly values: QueryValue[];
  readonly parameters: readonly (Uint8Array | undefined)[];
  readonly nowMicros: bigint;
  readonly budget: QueryBudget;
  /** Most rows that the reader may have. */
  readonly rowsMax: number | undefined;
  /** By the number that the compiled plan gives each table. */
  readonly tables: readonly Table[];
  /** Where rows are instead of the tables. Once the statement has paused: as they were before. */
  sources: readonly RowSource[] | undefined;
  /** Rows that may be looked at before the clock is. */
  ticks: number;
  /** Answers of subqueries and common tables, by the number that the compiled plan gives them. */
  readonly kept = new Map<number | string, unknown>();
  readonly #rowsPerCheck: number;
  /** To be looked at before it may pause. */
  #rowsInOneGo: number;
  #unpausable = 0;
  /** A slice ended within what cannot pause. */
  #isOverdue = false;

  constructor(options: {
    readonly slotCount: number;
    readonly parameters: readonly (Uint8Array | undefined)[];
    readonly nowMicros: bigint;
    readonly budget: QueryBudget;
    readonly tables: readonly Table[];
    /** Rows to be looked at before it may pause; infinite: it runs in one go, however long. */
    readonly rowsInOneGo: number;
    readonly rowsPerCheck: number;
    readonly rowsMax: number | undefined;
  }) {
    const { slotCount, parameters, nowMicros, budget, tables } = options;
    this.#rowsInOneGo = options.rowsInOneGo;
    this.pages = new Array(slotCount).fill(undefined);
    this.rows = new Array(slotCount).fill(0);
    this.refs = new Array(slotCount).fill(0);
    this.values = [];
    this.parameters = parameters;
    this.nowMicros = nowMicros;
    this.budget = budget;
    this.rowsMax = options.rowsMax;
    this.tables = tables;
    this.#rowsPerCheck = options.rowsPerCheck;
    this.ticks = options.rowsPerCheck;
  }

  table(number: number): Table {
    return present(this.tables[number], 'a table of the plan');
  }

  /**
   * To be called when `ticks` has run out; true when the operator has to return `paused`. At least
   * one row is looked at between two pauses, so nothing stands still.
   */
  mustPause(): boolean {
    this.ticks = this.#rowsPerCheck;
    if (this.#rowsInOneGo > 0) {
      this.#rowsInOneGo -= this.#rowsPerCheck;
      this.budget.check();
      return false;
    }
    if (!this.budget.check()) return false;
    if (this.#unpausable === 0) return true;
    this.#isOverdue = true;
    this.budget.stall();
    return false;
  }

  /** From now on it runs in one go, however long that takes. */
  stopPausing(): void {
    this.#rowsInOneGo = Number.POSITIVE_INFINITY;
  }

  /** After a pause: what is asked first must not pause again before it has done anything. */
  resume(): void {
    this.ticks = this.#rowsPerCheck + 1;
  }

  /**
   * Runs what cannot pause: a subquery in the middle of an expression. When a slice has ended in
   * it, whoever asked pauses before the next row.
   */
  withoutPause<Result>(run: () => Result): Result {
    if (this.#unpausable === 0) {
      this.#isOverdue = false;
      this.budget.startStretch();
    }
    this.#unpausable++;
    try {
      return run();
    } finally {
      this.#unpausable--;
      if (this.#unpausable === 0 && this.#isOverdue) this.ticks = 1;
    }
  }
}
