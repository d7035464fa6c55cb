import { limits } from '../limits.ts';
import { overBudget } from './failure.ts';

/** Rows between two checks: few enough to stop within a millisecond or so. */
export const rowsPerCheck = 1_024;

/** Memory shared by statements. `take` throws `SqlFailure` when none is left. */
export interface MemoryShare {
  take(bytes: number): void;
  giveBack(bytes: number): void;
}

export interface BudgetOptions {
  /** Milliseconds that never go backwards; the clock is the caller's. */
  readonly now: () => number;
  /** Running time of the whole statement, not counting pauses. */
  readonly millisMax: number;
  /** Running time until the next pause. */
  readonly sliceMillis: number;
  /** Memory that a statement can hold besides its result. */
  readonly memoryBytesMax: number;
  /** Memory that it holds beyond a small amount is also taken from here. */
  readonly memory: MemoryShare;
  /** Limit of a stretch that cannot pause, such as a subquery evaluated for one row. */
  readonly stallMillisMax: number;
  /** Rows looked at between two readings of the clock. */
  readonly rowsPerCheck: number;
}

/** The remaining budget of a statement: time, time until it should pause, memory. */
export class QueryBudget {
  readonly rowsPerCheck: number;
  readonly #options: BudgetOptions;
  #ranBefore = 0;
  #sliceStart: number;
  /** Memory besides the result. */
  #workBytes = 0;
  #resultBytes = 0;
  /** Additional memory for writing. */
  #changeBytes = 0;
  #memory: MemoryShare;
  /** Memory that it can hold before it takes more. */
  #grantedBytes = stepBytes;
  /** When the current stretch, which cannot pause, should have paused. */
  #stallStart: number | undefined;

  constructor(options: Partial<BudgetOptions> = {}) {
    this.#options = { ...unlimited, ...options };
    this.rowsPerCheck = this.#options.rowsPerCheck;
    this.#memory = this.#options.memory;
    this.#sliceStart = this.#options.now();
  }

  now(): number {
    return this.#options.now();
  }

  /** Starts the statement, or resumes it after a pause. */
  startSlice(): void {
    this.#sliceStart = this.#options.now();
    this.#stallStart = undefined;
  }

  /** Begins a stretch that cannot pause. */
  startStretch(): void {
    this.#stallStart = undefined;
  }

  endSlice(): void {
    this.#ranBefore += this.#options.now() - this.#sliceStart;
  }

  /** True when the slice is over. Throws `SqlFailure` when the statement's time is over. */
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

  /** Called when the slice is over but cannot pause. Throws when that has lasted too long. */
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

  /** Memory that the statement holds, including its result. */
  get bytes(): number {
    return this.#workBytes + this.#resultBytes;
  }

  /**
   * Takes its memory from `memory`, now and later: it continues beside other statements. Throws
   * when none is left.
   */
  share(memory: MemoryShare): void {
    memory.take(this.#grantedBytes - stepBytes);
    this.#memory = memory;
  }

  /** Counts memory that the statement takes. Throws when it holds too much. */
  take(bytes: number): void {
    this.#workBytes += bytes;
    const { memoryBytesMax } = this.#options;
    if (this.#workBytes > memoryBytesMax) {
      throw overBudget(
        `The statement needs more than ${Math.round(memoryBytesMax / mebibyte)} MiB of memory; ` +
          'narrow its WHERE clause, join fewer rows, or add an index for what it sorts or joins by',
      );
    }
    if (this.#changeBytes > 0) this.#requireWritable();
    if (this.bytes > this.#grantedBytes) this.#claim();
  }

  /**
   * Counts bytes of rows that will be written and that will be deleted: all their copies are made
   * at once, at the end. Throws if they do not fit beside what the statement holds.
   */
  takeChange(comingBytes: number, goingBytes: number): void {
    this.#changeBytes += comingCopies * comingBytes + goingCopies * goingBytes;
    this.#requireWritable();
  }

  giveBack(bytes: number): void {
    this.#workBytes -= bytes;
    this.#yield();
  }

  /** Counts memory of the result, which has a bound of its own. */
  takeResult(bytes: number): void {
    this.#resultBytes += bytes;
    if (this.#changeBytes > 0) this.#requireWritable();
    if (this.bytes > this.#grantedBytes) this.#claim();
  }

  giveBackResult(bytes: number): void {
    this.#resultBytes -= bytes;
    this.#yield();
  }

  /**
   * Stops counting the statement's memory, now and later. A second call does nothing.
   */
  release(): void {
    this.#memory.giveBack(this.#grantedBytes - stepBytes);
    this.#grantedBytes = stepBytes;
    this.#memory = unlimited.memory;
  }

  #requireWritable(): void {
    if (this.bytes + this.#changeBytes <= limits.sqlWriteBytesMax) return;
    throw overBudget(
      `The statement needs more than ${limits.sqlWriteBytesMax / mebibyte} MiB of memory for the ` +
        'rows that it writes, their copies included; write them in portions, each with a ' +
        'narrower WHERE clause',
    );
  }

  #claim(): void {
    const steps = Math.ceil((this.bytes - this.#grantedBytes) / stepBytes);
    this.#memory.take(steps * stepBytes);
    this.#grantedBytes += steps * stepBytes;
  }

  /** Keeps one step, so that a subquery that runs again and again takes nothing each time. */
  #yield(): void {
    const needed = Math.max(this.bytes, 0) + stepBytes;
    const steps = Math.floor((this.#grantedBytes - needed) / stepBytes);
    if (steps <= 0) return;
    this.#grantedBytes -= steps * stepBytes;
    this.#memory.giveBack(steps * stepBytes);
  }
}

/** The first step is free: it is not taken from what statements share. */
const stepBytes = limits.sqlUncountedBytes;
/** Copies of a written row: in its page, the change set, the log record; then of a deleted one. */
const comingCopies = 3;
const goingCopies = 2;
const mebibyte = 1024 * 1024;

const unlimited: BudgetOptions = {
  now: () => 0,
  millisMax: Number.POSITIVE_INFINITY,
  sliceMillis: Number.POSITIVE_INFINITY,
  memoryBytesMax: Number.POSITIVE_INFINITY,
  memory: { take: () => undefined, giveBack: () => undefined },
  stallMillisMax: Number.POSITIVE_INFINITY,
  rowsPerCheck,
};
