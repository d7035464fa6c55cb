import type { Caller } from '../../database/outcome.ts';
import type {
  ImportError,
  ImportFault,
  ImportMode,
  ImportRequest,
} from '../../database/transfer/import-request.ts';
import { limits } from '../../limits.ts';
import type { ReadStep, RowBatch } from '../../transfer/row-batches.ts';
import type { PlacedFault } from '../../transfer/row-table.ts';
import type { DatabaseHandle } from '../supervision/database-handle.ts';
import type { TextReader } from './row-texts.ts';
import { RowTextError } from './row-thread.ts';

export interface ImportOrder {
  readonly table: string;
  readonly mode: ImportMode;
  readonly importId: string;
  /** Number of the first batch. */
  readonly batch: number;
  /** All rows are one batch. */
  readonly isAtomic: boolean;
  readonly skips: boolean;
}

export interface ImportTarget {
  readonly handle: DatabaseHandle;
  readonly caller: Caller;
  readonly schemaVersion: number;
  readonly reader: TextReader;
  /** Why it cannot go on, if that is so by now. */
  readonly ending: () => ImportRunError | undefined;
  /** Called with the bytes of an unfinished row; false: there are too many of all imports. */
  readonly holds: (bytes: number) => boolean;
}

/** What came of an import, however far it got. Everything that is counted is durable. */
export interface ImportReport {
  readonly importId: string;
  /** Rows that were taken, those of batches that were there already not included. */
  readonly imported: number;
  readonly skipped: readonly PlacedFault[];
  /** Batches that were there already. */
  readonly thereBatches: number;
  /** Number of the next batch of the import. */
  readonly nextBatch: number;
  /** The row at which it ended; nothing of its batch was taken. */
  readonly stopped: PlacedFault | undefined;
  /** Why it ended otherwise. */
  readonly error: ImportRunError | undefined;
}

export interface ImportRunError {
  readonly code:
    | ImportError['code']
    | 'import.tooLarge'
    | 'import.busy'
    | 'import.unreadable'
    /** The caller has lost its rights, or left. */
    | 'import.revoked';
  readonly message: string;
}

/**
 * One import: batches of a text go to the database one after another, each as soon as the next one
 * is there; so the last one is known, and is waited for until it is durable.
 */
export class ImportRun {
  readonly #order: ImportOrder;
  readonly #target: ImportTarget;
  #next: number;
  #waiting: RowBatch | undefined;
  /** With `isAtomic`. */
  #whole: RowBatch[] = [];
  #wholeBytes = 0;
  #sent: Promise<void> = Promise.resolve();
  #imported = 0;
  #there = 0;
  #skipped: PlacedFault[] = [];
  #stopped: PlacedFault | undefined;
  #error: ImportRunError | undefined;
  /** A batch that is there, but perhaps not yet durable. */
  #unconfirmed: number | undefined;

  constructor(order: ImportOrder, target: ImportTarget) {
    this.#order = order;
    this.#target = target;
    this.#next = order.batch;
  }

  /** Takes pieces until there are none, or something ends it. Rejects as `pieces` does. */
  async run(pieces: AsyncIterable<Uint8Array>): Promise<ImportReport> {
    const { reader } = this.#target;
    try {
      for await (const piece of pieces) {
        // Also where no batch comes of it: a text can consist of blank lines.
        this.#lookAround();
        if (!this.#isOver) await this.#take(await reader.push(piece));
        if (this.#isOver) break;
      }
      this.#lookAround();
      if (!this.#isOver) await this.#take(await reader.end());
      if (!this.#isOver) await this.#finish();
      await this.#sent;
    } catch (error) {
      await this.#sent.catch(() => undefined);
      this.#failed(error);
    }
    await this.#confirm();
    return this.#report();
  }

  #lookAround(): void {
    if (!this.#isOver) this.#error = this.#target.ending();
  }

  get #isOver(): boolean {
    return this.#stopped !== undefined || this.#error !== undefined;
  }

  async #take({ batches, fault, heldBytes }: ReadStep): Promise<void> {
    if (!this.#target.holds(heldBytes)) {
      const message = 'Too many imports have long rows at the moment; try again';
      this.#error ??= { code: 'import.busy', message };
    }
    for (const batch of batches) {
      if (this.#order.isAtomic) this.#gather(batch);
      else await this.#follow(batch);
      if (this.#isOver) return;
    }
    if (fault === undefined) return;
    await this.#sent;
    if (this.#order.isAtomic || this.#isOver) {
      this.#stopped ??= fault;
      return;
    }
    // The batches before are taken.
    const last = this.#waiting;
    this.#waiting = undefined;
    if (last !== undefined) await this.#send(last, true);
    if (!this.#isOver) this.#stopped = fault;
  }

  #gather(batch: RowBatch): void {
    this.#whole.push(batch);
    this.#wholeBytes += batch.rows.length;
    const { importAtomicBytesMax } = limits;
    if (this.#wholeBytes <= importAtomicBytesMax) return;
    const message =
      `The rows take more than ${importAtomicBytesMax / 2 ** 20} MiB, the most of one commit; ` +
      'import them in batches';
    this.#error = { code: 'import.tooLarge', message };
  }

  /** Sends the batch before, once the one before that is answered. */
  async #follow(batch: RowBatch): Promise<void> {
    await this.#sent;
    if (this.#isOver) return;
    const before = this.#waiting;
    this.#waiting = batch;
    if (before === undefined) return;
    this.#sent = this.#send(before, false);
    // It is awaited later.
    this.#sent.catch(() => undefined);
  }

  async #finish(): Promise<void> {
    await this.#sent;
    if (this.#isOver) return;
    const last = this.#order.isAtomic ? joined(this.#whole) : this.#waiting;
    this.#waiting = undefined;
    if (last !== undefined) await this.#send(last, true);
  }

  async #send(batch: RowBatch, isConfirmed: boolean): Promise<void> {
    this.#lookAround();
    if (this.#isOver) return;
    const outcome = await this.#target.handle.import(this.#request(batch), isConfirmed);
    switch (outcome.kind) {
      case 'there':
        this.#there += 1;
        break;
      case 'imported':
        this.#imported += batch.count - outcome.faults.length;
        this.#skipped.push(...byLine(batch.faults, await this.#placed(batch, outcome.faults)));
        break;
      case 'stopped':
        [this.#stopped] = await this.#placed(batch, [outcome.fault]);
        return;
      case 'failed':
        this.#error = outcome.error;
        return;
    }
    this.#unconfirmed = isConfirmed ? undefined : this.#next;
    this.#next += 1;
  }

  #request(batch: RowBatch): ImportRequest {
    const { table, mode, importId, skips } = this.#order;
    const { caller, schemaVersion } = this.#target;
    const { rows, count } = batch;
    const skippedBefore = this.#skipped.length + batch.faults.length;
    const skippedMax = skips ? Math.max(0, limits.importSkippedMax - skippedBefore) : 0;
    return {
      ...{ caller, table, schemaVersion, mode, importId },
      batch: this.#next,
      ...{ rows, count, skippedMax },
    };
  }

  async #placed(batch: RowBatch, faults: readonly ImportFault[]): Promise<PlacedFault[]> {
    const at = faults.map(({ row }) => row);
    const shown = await this.#target.reader.show(batch.rows, at);
    return faults.map(({ row, column, message }, position) => {
      const line = batch.lines[row] ?? null;
      return { line, column, message, row: shown[position] ?? '' };
    });
  }

  /** What was taken before a fault is durable when it is reported. */
  async #confirm(): Promise<void> {
    const batch = this.#unconfirmed;
    if (batch === undefined) return;
    try {
      const request = { ...this.#request(emptyBatch), batch };
      await this.#target.handle.import(request, true);
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    if (!(error instanceof RowTextError)) throw error;
    this.#error ??= { code: 'import.unreadable', message: error.message };
  }

  #report(): ImportReport {
    return {
      importId: this.#order.importId,
      imported: this.#imported,
      skipped: this.#skipped,
      thereBatches: this.#there,
      nextBatch: this.#next,
      stopped: this.#stopped,
      error: this.#error,
    };
  }
}

const emptyBatch: RowBatch = {
  rows: new Uint8Array(0),
  count: 0,
  lines: new Uint32Array(0),
  faults: [],
};

/** Rows that could not be read, and rows that were refused. */
function byLine(unread: readonly PlacedFault[], refused: readonly PlacedFault[]): PlacedFault[] {
  return [...unread, ...refused].sort((one, other) => (one.line ?? 0) - (other.line ?? 0));
}

function joined(batches: readonly RowBatch[]): RowBatch {
  const count = batches.reduce((sum, batch) => sum + batch.count, 0);
  const lines = new Uint32Array(count);
  let at = 0;
  for (const batch of batches) {
    lines.set(batch.lines, at);
    at += batch.count;
  }
  const faults = batches.flatMap((batch) => batch.faults);
  return { rows: Buffer.concat(batches.map(({ rows }) => rows)), count, lines, faults };
}
