import { limits } from '../limits.ts';
import { readUtf8 } from '../values/utf8.ts';
import { LongRecordError, type RawRecord, RecordSplitter } from './record-splitter.ts';
import { RowReader } from './row-reader.ts';
import type { PlacedFault, RowFault, RowFormat, RowTable } from './row-table.ts';

export interface BatchOptions {
  readonly table: RowTable;
  readonly format: RowFormat;
  readonly ignoresUnknown: boolean;
  /** Rows that cannot be read are left out and listed; otherwise the first ends everything. */
  readonly skips: boolean;
  /** The line of the file on which the first row is, if the text is not the whole file. */
  readonly firstLine?: number | undefined;
}

/** Rows that are committed together. */
export interface RowBatch {
  /** Encoded rows, one after another. */
  readonly rows: Uint8Array;
  readonly count: number;
  /** The line of each row. */
  readonly lines: Uint32Array;
  /** Rows that were skipped. */
  readonly faults: readonly PlacedFault[];
}

export interface ReadStep {
  readonly batches: readonly RowBatch[];
  /** Why nothing more is read: neither of its own batch, nor of what comes later. */
  readonly fault?: PlacedFault;
  /** Bytes held until the rest of a row comes. */
  readonly heldBytes: number;
}

/**
 * Makes batches of a text that comes in pieces. A batch has the same rows however the text is cut:
 * those of `limits.importBatchRows` records, or fewer that have many bytes.
 */
export class RowBatches {
  readonly #options: BatchOptions;
  readonly #reader: RowReader;
  readonly #splitter: RecordSplitter;
  /** Rows of the unfinished batch. */
  #rows = new Uint8Array(65_536);
  #end = 0;
  #lines: number[] = [];
  #faults: PlacedFault[] = [];
  #faultCount = 0;
  /** How many bytes more blank lines have than rows: each is read for nothing. */
  #blankBytes = 0;
  /** How many lines of the file come before the text. */
  #linesBefore: number;
  #isOver = false;

  constructor(options: BatchOptions) {
    this.#options = options;
    this.#reader = new RowReader(options);
    this.#splitter = new RecordSplitter(options.format);
    this.#linesBefore = (options.firstLine ?? 1) - 1;
  }

  push(piece: Uint8Array): ReadStep {
    return this.#step(this.#splitter.push(piece), false);
  }

  /** The rest, once all pieces were pushed. */
  end(): ReadStep {
    return this.#step(this.#splitter.end(), true);
  }

  #step(records: Iterable<RawRecord>, isLast: boolean): ReadStep {
    const batches: RowBatch[] = [];
    const fault = this.#isOver ? undefined : this.#readAll(records, batches);
    if (fault !== undefined) this.#isOver = true;
    if (isLast && !this.#isOver) {
      if (this.#lines.length + this.#faults.length > 0) batches.push(this.#take());
    }
    const { heldBytes } = this.#splitter;
    return { batches, heldBytes, ...(fault !== undefined && { fault }) };
  }

  #readAll(records: Iterable<RawRecord>, batches: RowBatch[]): PlacedFault | undefined {
    try {
      for (const record of records) {
        const fault = this.#readOne(record, batches);
        if (fault !== undefined) return fault;
      }
      return undefined;
    } catch (error) {
      if (!(error instanceof LongRecordError)) throw error;
      const line = error.line + this.#linesBefore;
      return { line, column: null, message: error.message, row: '' };
    }
  }

  #readOne(record: RawRecord, batches: RowBatch[]): PlacedFault | undefined {
    if (this.#reader.needsHeader) return this.#header(record);
    if (this.#reader.isBlank(record.bytes)) return this.#blank(record);
    this.#blankBytes = Math.max(0, this.#blankBytes - record.bytes.length);
    const row = this.#reader.read(record.bytes);
    if (row instanceof Uint8Array) {
      this.#keep(row);
      this.#lines.push(record.line + this.#linesBefore);
    } else {
      const fault = this.#placed(row, record);
      if (!this.#options.skips) return fault;
      this.#faultCount += 1;
      if (this.#faultCount > limits.importSkippedMax) {
        const message = `${fault.message}. More than ${limits.importSkippedMax} rows were skipped`;
        return { ...fault, message };
      }
      this.#faults.push(fault);
    }
    const { importBatchRows, importBatchBytesMax } = limits;
    const isFull = this.#lines.length + this.#faults.length >= importBatchRows;
    if (isFull || this.#end >= importBatchBytesMax) batches.push(this.#take());
    return undefined;
  }

  #blank({ bytes, line }: RawRecord): PlacedFault | undefined {
    this.#blankBytes += bytes.length + 1;
    const { importBlankBytesMax } = limits;
    if (this.#blankBytes <= importBlankBytesMax) return undefined;
    const message = `more than ${importBlankBytesMax / 2 ** 20} MiB of blank lines`;
    return { line: line + this.#linesBefore, column: null, message, row: '' };
  }

  /** Each part of a file comes with the header of the file. */
  #header(record: RawRecord): PlacedFault | undefined {
    const fault = this.#reader.readHeader(record.bytes);
    const { firstLine } = this.#options;
    if (firstLine !== undefined) this.#linesBefore = firstLine - this.#splitter.line;
    return fault && { ...fault, line: 1, row: shownRow(record.bytes) };
  }

  #placed(fault: RowFault, { bytes, line }: RawRecord): PlacedFault {
    return { ...fault, line: line + this.#linesBefore, row: shownRow(bytes) };
  }

  #keep(row: Uint8Array): void {
    const end = this.#end + row.length;
    if (end > this.#rows.length) {
      const larger = new Uint8Array(Math.max(end, 2 * this.#rows.length));
      larger.set(this.#rows.subarray(0, this.#end));
      this.#rows = larger;
    }
    this.#rows.set(row, this.#end);
    this.#end = end;
  }

  #take(): RowBatch {
    const batch = {
      rows: this.#rows.slice(0, this.#end),
      count: this.#lines.length,
      lines: Uint32Array.from(this.#lines),
      faults: this.#faults,
    };
    if (this.#rows.length > limits.importBatchBytesMax) this.#rows = new Uint8Array(65_536);
    this.#end = 0;
    this.#lines = [];
    this.#faults = [];
    return batch;
  }
}

/** The beginning of a row as text; bytes that are not UTF-8 are shown as `\xNN`. */
export function shownRow(record: Uint8Array): string {
  const { importShownBytes } = limits;
  const isCut = record.length > importShownBytes;
  // A character that is cut takes three more bytes at most.
  for (let cut = 0; cut < (isCut ? 4 : 1); cut += 1) {
    const text = readUtf8(record, 0, Math.min(record.length, importShownBytes) - cut);
    if (text !== undefined) return text;
  }
  let text = '';
  for (const byte of record.subarray(0, importShownBytes / 4)) {
    const isPlain = byte >= 0x20 && byte < 0x7f;
    text += isPlain ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`;
  }
  return text;
}
