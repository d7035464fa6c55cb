import type { QueryBudget } from '../sql/budget.ts';
import type { ReadExecution } from '../sql/run/execution.ts';
import type { RowSet } from './row-set.ts';
import type { RowSetPieces } from './row-set-pieces.ts';

/** One fragment, and where its rows go. */
export interface RowsPart {
  readonly execution: ReadExecution;
  readonly pieces: RowSetPieces;
}

/**
 * The rows of one query, read in slices of its budget. They are a snapshot of the moment of `pin`
 * or of the first pause; nothing may be written before that.
 */
export class RowsRead {
  readonly #parts: readonly RowsPart[];
  readonly #budget: QueryBudget;
  readonly #count: (pieces: RowSetPieces) => void;
  #sets: readonly RowSet[] = [];
  /** The current part, and whether all its rows are read and are being joined. */
  #at = 0;
  #isJoining = false;
  #failure: { readonly error: unknown } | undefined;

  /** `count` receives each part that was read; it throws if something is wrong with it. */
  constructor(
    parts: readonly RowsPart[],
    budget: QueryBudget,
    count: (pieces: RowSetPieces) => void,
  ) {
    this.#parts = parts;
    this.#budget = budget;
    this.#count = count;
  }

  get isDone(): boolean {
    return this.#at === this.#parts.length;
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  /** Runs one slice; once it is done or has failed, it only reports that again. */
  run(): 'done' | 'paused' {
    if (this.#failure !== undefined) throw this.#failure.error;
    try {
      return this.#slice();
    } catch (error) {
      this.#failure = { error };
      this.dispose();
      throw error;
    }
  }

  /** Pins the rows to this moment, whenever they are read. */
  pin(): void {
    const from = this.#isJoining ? this.#at + 1 : this.#at;
    for (const { execution } of this.#parts.slice(from)) execution.pin();
  }

  /** One set for each fragment, once all are read. */
  rows(): readonly RowSet[] {
    return this.#sets;
  }

  /** The rows handed out now belong to their receiver, with their memory; `rows` become copies. */
  copyRows(): void {
    this.#sets = this.#sets.map((rows) => ({ ...rows, data: rows.data.slice() }));
  }

  /** Releases what it pins; the rows stay. */
  dispose(): void {
    for (const { execution } of this.#parts) execution.dispose();
  }

  #slice(): 'done' | 'paused' {
    if (this.#isJoining) this.#budget.startSlice();
    while (this.#at < this.#parts.length) {
      const part = this.#parts[this.#at] as RowsPart;
      if (!this.#finish(part)) {
        this.pin();
        return 'paused';
      }
      this.#sets = [...this.#sets, part.pieces.rowSet()];
      this.#isJoining = false;
      this.#at += 1;
    }
    return 'done';
  }

  /** Returns false if the slice ends first. */
  #finish({ execution, pieces }: RowsPart): boolean {
    if (!this.#isJoining) {
      if (execution.run() === 'paused') return false;
      this.#count(pieces);
      this.#isJoining = true;
    }
    while (!pieces.join()) if (this.#budget.check()) return false;
    return true;
  }
}
