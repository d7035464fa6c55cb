import { overBudget } from '../failure.ts';

/** Rows between two questions: few enough to stop within a millisecond or so. */
export const rowsPerCheck = 1_024;

export interface BudgetOptions {
  /** Milliseconds that only go up; the clock is the caller's. */
  readonly now: () => number;
  /** Running time of the whole statement, pauses left out. */
  readonly millisMax: number;
  /** Running time until the next pause. */
  readonly sliceMillis: number;
  /** What a statement may hold beside its result. */
  readonly memoryBytesMax: number;
  /** A stretch that cannot pause, such as a subquery asked for one row. */
  readonly stallMillisMax: number;
  /** Rows looked at between two looks at the clock. */
  readonly rowsPerCheck: number;
}

/** What a statement may still spend: time, time until it should pause, memory. */
export class QueryBudget {
  readonly rowsPerCheck: number;
  readonly #options: BudgetOptions;
  #ranBefore = 0;
  #sliceStart: number;
  #bytes = 0;
  /** When the stretch that cannot pause should have paused. */
  #stallStart: number | undefined;

  constructor(options: Partial<BudgetOptions> = {}) {
    this.#options = { ...unlimited, ...options };
    this.rowsPerCheck = this.#options.rowsPerCheck;
    this.#sliceStart = this.#options.now();
  }

  now(): number {
    return this.#options.now();
  }

  /** The statement starts, or goes on after a pause. */
  startSlice(): void {
    this.#sliceStart = this.#options.now();
    this.#stallStart = undefined;
  }

  /** Something begins that cannot pause. */
  startStretch(): void {
    this.#stallStart = undefined;
  }

  endSlice(): void {
    this.#ranBefore += this.#options.now() - this.#sliceStart;
  }

  /** True when the slice is over. Throws `SqlFailure` when the statement is. */
  check(): boolean {
    const { now, millisMax, sliceMillis } = this.#options;
    const ran = now() - this.#sliceStart;
    if (this.#ranBefore + ran > millisMax) {
      throw overBudget(
        `The statement ran longer than ${millisMax} ms and was stopped; ` +
          'narrow its WHERE clause or add an index for it',
      );
    }
    return ran >= sliceMillis;
  }

  /** The slice is over, but what runs cannot pause. Throws when that has lasted too long. */
  stall(): void {
    const { now, stallMillisMax } = this.#options;
    const time = now();
    this.#stallStart ??= time;
    if (time - this.#stallStart <= stallMillisMax) return;
    throw overBudget(
      `A subquery ran longer than ${stallMillisMax} ms for one row and was stopped; ` +
        'add an index for what it compares with the outer row, or write it as a join',
    );
  }

  /** Counts memory that the statement takes. Throws when it holds more than it may. */
  take(bytes: number): void {
    this.#bytes += bytes;
    const { memoryBytesMax } = this.#options;
    if (this.#bytes <= memoryBytesMax) return;
    throw overBudget(
      `The statement needs more than ${Math.round(memoryBytesMax / mebibyte)} MiB of memory; ` +
        'narrow its WHERE clause, join fewer rows, or add an index for what it sorts or joins by',
    );
  }

  giveBack(bytes: number): void {
    this.#bytes -= bytes;
  }
}

const mebibyte = 1024 * 1024;

const unlimited: BudgetOptions = {
  now: () => 0,
  millisMax: Number.POSITIVE_INFINITY,
  sliceMillis: Number.POSITIVE_INFINITY,
  memoryBytesMax: Number.POSITIVE_INFINITY,
  stallMillisMax: Number.POSITIVE_INFINITY,
  rowsPerCheck,
};
