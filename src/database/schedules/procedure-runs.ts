import type { Delivery } from '../../schema/definition.ts';
import type { WriteNumber } from '../write-number.ts';
import type { DueRow } from './due-work.ts';
import type { RowKey } from './schedule-tables.ts';

/** A procedure that runs for a row, from the claim of the row until the procedure has ended. */
export interface ProcedureRun {
  /** The row as it was claimed. */
  readonly work: DueRow;
  readonly delivery: Delivery;
  /** The program that served when it was claimed, for comparison. */
  readonly program: object;
  /** The write with the claim; `undefined`: it is not written yet. */
  write: WriteNumber | undefined;
  /** When it was handed over to a lane, in microseconds since the Unix epoch. */
  startMicros: number | undefined;
}

/**
 * The scheduled procedures of one database that are under way. There are few places: whatever is
 * due beyond them waits as a row, and callers always find a lane that no schedule can take.
 */
export class ProcedureRuns {
  /** 0: there are no lanes. */
  placesMax = 0;
  readonly #byRow = new Map<string, ProcedureRun>();

  get count(): number {
    return this.#byRow.size;
  }

  get hasPlace(): boolean {
    return this.count < this.placesMax;
  }

  get all(): Iterable<ProcedureRun> {
    return this.#byRow.values();
  }

  /** True while a procedure runs for this row, or for one that had its key. */
  has(row: RowKey): boolean {
    return this.count > 0 && this.#byRow.has(nameOf(row));
  }

  add(run: ProcedureRun): void {
    this.#byRow.set(nameOf(run.work.row), run);
  }

  remove(run: ProcedureRun): void {
    this.#byRow.delete(nameOf(run.work.row));
  }
}

function nameOf({ schedule, high, low }: RowKey): string {
  return `${schedule} ${high} ${low}`;
}
