import { present } from '../../assert.ts';
import { noRow, type RowRef } from '../../store/row-ref.ts';
import type { Table } from '../../store/table.ts';
import type { RowSource } from '../../store/table-pin.ts';
import type { QueryBudget } from '../budget.ts';
import type { Frame } from '../expressions/frame.ts';
import type { QueryValue } from '../functions/function.ts';

/** State of one execution of a compiled plan, shared by its operators. */
export class ExecutionState implements Frame {
  readonly pages: (Uint8Array | undefined)[];
  readonly rows: number[];
  /** The current row of each slot that holds a stored table. */
  readonly refs: RowRef[];
  readonly values: QueryValue[];
  readonly parameters: readonly (Uint8Array | undefined)[];
  readonly nowMicros: bigint;
  readonly budget: QueryBudget;
  /** Most rows that the reader may have. */
  readonly rowsMax: number | undefined;
  /** Tables by their number in the compiled plan. */
  readonly tables: readonly Table[];
  /** Where rows are read instead of the tables. After a pause: the rows from before it. */
  sources: readonly RowSource[] | undefined;
  /** Rows that can be looked at before the clock is read. */
  ticks: number;
  /** Answers of subqueries and common tables, by their number in the compiled plan. */
  readonly kept = new Map<number | string, unknown>();
  readonly #rowsPerCheck: number;
  /** Rows to look at before it may pause. */
  #rowsInOneGo: number;
  #unpausable = 0;
  /** Whether a slice ended within a stretch that cannot pause. */
  #isOverdue = false;

  constructor(options: {
    readonly slotCount: number;
    readonly parameters: readonly (Uint8Array | undefined)[];
    readonly nowMicros: bigint;
    readonly budget: QueryBudget;
    readonly tables: readonly Table[];
    /** Rows to look at before it may pause; infinite: it runs in one go, however long. */
    readonly rowsInOneGo: number;
    readonly rowsPerCheck: number;
    readonly rowsMax: number | undefined;
  }) {
    const { slotCount, parameters, nowMicros, budget, tables } = options;
    this.#rowsInOneGo = options.rowsInOneGo;
    this.pages = new Array(slotCount).fill(undefined);
    this.rows = new Array(slotCount).fill(0);
    this.refs = new Array(slotCount).fill(noRow);
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
   * Must be called when `ticks` has run out; true if the operator must return `paused`. At least
   * one row is looked at between two pauses, so there is always progress.
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

  /** Makes it run in one go, however long that takes. */
  stopPausing(): void {
    this.#rowsInOneGo = Number.POSITIVE_INFINITY;
  }

  /** After a pause: the first step must not pause again before it has done anything. */
  resume(): void {
    this.ticks = this.#rowsPerCheck + 1;
  }

  /**
   * Runs a stretch that cannot pause: a subquery in the middle of an expression. If a slice ends in
   * it, the operator around it pauses before the next row.
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
