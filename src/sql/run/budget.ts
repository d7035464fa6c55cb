import { limits } from '../../limits.ts';
import { overBudget } from '../failure.ts';

/** Rows between two questions: few enough to stop within a millisecond or so. */
export const rowsPerCheck = 1_024;

/** Memory that statements have together. `take` throws `SqlFailure` when there is no more. */
export interface MemoryShare {
  take(bytes: number): void;
  giveBack(bytes: number): void;
}

export interface BudgetOptions {
  /** Milliseconds that only go up; the clock is the caller's. */
  readonly now: () => number;
  /** Running time of the whole statement, pauses left out. */
  readonly millisMax: number;
  /** Running time until the next pause. */
  readonly sliceMillis: number;
  /** What a statement may hold beside its result. */
  readonly memoryBytesMax: number;
  /** What it holds beyond a little is also taken from here. */
  readonly memory: MemoryShare;
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
  /** Beside the result. */
  #workBytes = 0;
  #resultBytes = 0;
  /** What writing will take besides. */
  #changeBytes = 0;
  #memory: MemoryShare;
  /** What it may hold before it takes more. */
  #grantedBytes = stepBytes;
  /** When the stretch that cannot pause should have paused. */
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

  /** What the statement holds, its result included. */
  get bytes(): number {
    return this.#workBytes + this.#resultBytes;
  }

  /**
   * Takes what it holds from `memory`, now and later: it goes on beside other statements. Throws
   * when there is no more.
   */
  share(memory: MemoryShare): void {
    memory.take(this.#grantedBytes - stepBytes);
    this.#memory = memory;
  }

  /** Counts memory that the statement takes. Throws when it holds more than it may. */
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
   * Counts bytes of rows that will come and that will go: all their copies are made at once, in the
   * end. Throws when there is no room for them beside what the statement holds.
   */
  takeChange(comingBytes: number, goingBytes: number): void {
    this.#changeBytes += comingCopies * comingBytes + goingCopies * goingBytes;
    this.#requireWritable();
  }

  giveBack(bytes: number): void {
    this.#workBytes -= bytes;
    this.#yield();
  }

  /** The same for its result, which has a bound of its own. */
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
   * Nothing of what the statement holds is counted any more, now or later. A second time does
   * nothing.
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

  /** One step is kept, so that a subquery that is asked again and again takes nothing each time. */
  #yield(): void {
    const needed = Math.max(this.bytes, 0) + stepBytes;
    const steps = Math.floor((this.#grantedBytes - needed) / stepBytes);
    if (steps <= 0) return;
    this.#grantedBytes -= steps * stepBytes;
    this.#memory.giveBack(steps * stepBytes);
  }
}

/** The first step is everybody's own: it is not taken from what statements share. */
const stepBytes = limits.sqlUncountedBytes;
/** Of a row that comes: in its page, in the change set, in the log record; of one that goes. */
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
