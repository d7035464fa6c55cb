import { MigrationError } from '../../store/migrate.ts';
import { bytesText } from '../../values/bytes-text.ts';
import type { DatabaseCore } from '../core.ts';
import { cancelledRefusal } from '../outcome.ts';
import { type MigrationBounds, migrationBoundsOfLimits } from './migration-sizes.ts';

/** The rows that a stage has made so far. */
export interface MadeRows {
  readonly rowCount: number;
  /** Bytes of rows, and of the tables with their indexes. */
  readonly rowBytes: number;
  readonly totalBytes: number;
  /** Bytes of the tables that they are made from, with their indexes. */
  readonly fromBytes: number;
}

/**
 * What one migration, or one trial, may take while it runs. It looks at that after each batch, and
 * within one that makes many rows:
 *
 * ```
 *  abandoned by those who asked  ──▶ `Refusal` migration.cancelled
 *  too many rows, too much memory, too long while writers are stopped  ──▶ `MigrationError`
 * ```
 */
export class RunBounds {
  readonly #core: DatabaseCore;
  readonly #isAbandoned: () => boolean;
  readonly #bounds: MigrationBounds;
  /** By the monotonic clock; `undefined`: others are served meanwhile. */
  #until: number | undefined;
  #madeBytes = 0;
  /** What it had made when the memory of the machine was looked at. */
  #measuredBytes = 0;

  /** `isAbandoned` asks whether anybody still wants the result; it may be called often. */
  constructor(core: DatabaseCore, isAbandoned: () => boolean = () => false) {
    this.#core = core;
    this.#isAbandoned = isAbandoned;
    this.#bounds = core.migrationSizes.bounds ?? migrationBoundsOfLimits;
  }

  /** Bytes of the tables that are being made, as far as it has looked. */
  get madeBytes(): number {
    return this.#madeBytes;
  }

  /** Bounds the time of work while which nobody else is served. */
  inStandstill<Result>(work: () => Result): Result {
    if (this.#until !== undefined) return work();
    this.#until = this.#core.clock.monotonicMillis() + this.#bounds.standstillMillisMax;
    try {
      return work();
    } finally {
      this.#until = undefined;
    }
  }

  /** Throws if it is to end. */
  look(): void {
    if (this.#isAbandoned()) throw cancelledRefusal();
    const { clock } = this.#core;
    if (this.#until === undefined || clock.monotonicMillis() < this.#until) return;
    const seconds = Math.round(this.#bounds.standstillMillisMax / 1_000);
    throw new MigrationError(
      `It takes more than ${seconds} s while no call is answered. Rows are taken beside calls if ` +
        'functions read nothing but their row and give each row its key, instead of 0 in a ' +
        'column with `.autoInc()`; or divide the migration into several, and have `run` and ' +
        '`assert` do less',
    );
  }

  /** Throws if it is to end, because of what it has made, too. */
  grown({ rowCount, totalBytes, fromBytes }: MadeRows): void {
    this.look();
    this.#madeBytes = totalBytes;
    const { madeRowsMax, madeBytesMin, madeBytesFactor } = this.#bounds;
    if (rowCount > madeRowsMax) {
      throw new MigrationError(
        `It makes more than ${madeRowsMax} rows. Give fewer rows for each row, or divide the ` +
          'migration into several that rewrite fewer tables each',
      );
    }
    const bytesMax = Math.max(madeBytesMin, fromBytes * madeBytesFactor);
    if (totalBytes > bytesMax) {
      throw new MigrationError(
        `The tables that it makes take more than ${bytesText(bytesMax)}, and those that they are ` +
          `made from take ${bytesText(fromBytes)}. Give fewer or smaller rows for each row`,
      );
    }
    this.#requireMemory(totalBytes);
  }

  #requireMemory(totalBytes: number): void {
    const { freeBytes } = this.#core;
    const { measuredBytes, freeBytesMin } = this.#bounds;
    // The next stage, or the way back, begins with nothing.
    if (totalBytes < this.#measuredBytes) this.#measuredBytes = 0;
    if (freeBytes === undefined || totalBytes - this.#measuredBytes < measuredBytes) return;
    this.#measuredBytes = totalBytes;
    const free = freeBytes();
    if (free >= freeBytesMin) return;
    throw new MigrationError(
      `The tables that it makes take ${bytesText(totalBytes)} so far, and only ` +
        `${bytesText(free)} of memory are free. Free memory, or divide the migration into ` +
        'several that rewrite fewer tables each',
    );
  }
}
