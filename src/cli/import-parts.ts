import { createReadStream, statSync } from 'node:fs';
import { createGunzip } from 'node:zlib';
import { limits } from '../limits.ts';
import { LongRecordError, type RawRecord, RecordSplitter } from '../transfer/record-splitter.ts';
import type { RowFormat } from '../transfer/row-table.ts';
import { CliError } from './io.ts';

/** A file of rows. */
export interface RowFile {
  readonly path: string;
  readonly format: RowFormat;
  readonly isPacked: boolean;
  readonly bytes: number;
}

/** Some rows of a file, to be sent in one request. */
export interface FilePart {
  /** With the header of the file, if it has one. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The line of its first row. */
  readonly line: number;
  /** Bytes of the file that were read so far. */
  readonly readBytes: number;
}

/** What a file is, by its name; `given` wins. Throws `CliError`. */
export function rowFile(path: string, given: RowFormat | undefined): RowFile {
  const [, extension, packed] = /\.(ndjson|jsonl|csv)(\.gz)?$/i.exec(path) ?? [];
  const isPacked = packed !== undefined || /\.gz$/i.test(path);
  const found = extension?.toLowerCase() === 'csv' ? 'csv' : 'ndjson';
  const format = given ?? (extension === undefined ? undefined : found);
  if (format === undefined) {
    throw new CliError(
      `${path}: is this NDJSON or CSV? Its name does not say so; add --format ndjson or csv`,
    );
  }
  return { path, format, isPacked, bytes: sizeOf(path) };
}

function sizeOf(path: string): number {
  try {
    const found = statSync(path);
    if (found.isFile()) return found.size;
  } catch (cause) {
    throw new CliError(`${path} cannot be read: ${reasonOf(cause)}`, 1, { cause });
  }
  throw new CliError(`${path} is not a file`);
}

/** True of a word that names a file by its extension. */
export function isRowFile(word: string): boolean {
  return /\.(?:ndjson|jsonl|csv)(?:\.gz)?$/i.test(word);
}

/**
 * Cuts a file into parts, between rows, holding one of them in memory. The same file always gives
 * the same parts, which the numbers of batches rest on. Throws `CliError` that names the line.
 */
export async function* partsOf(file: RowFile): AsyncGenerator<FilePart, void> {
  const source = createReadStream(file.path);
  const content = file.isPacked ? source.pipe(createGunzip()) : source;
  // The error of the source is that of what is read.
  if (content !== source) source.on('error', (error) => content.destroy(error));
  const splitter = new RecordSplitter(file.format);
  const parts = new Parts(file.format === 'csv');
  try {
    for await (const piece of content) {
      for (const record of splitter.push(piece as Buffer)) {
        const part = parts.add(record);
        if (part !== undefined) yield { ...part, readBytes: source.bytesRead };
      }
    }
    for (const record of splitter.end()) {
      const part = parts.add(record);
      if (part !== undefined) yield { ...part, readBytes: source.bytesRead };
    }
    const last = parts.take();
    if (last !== undefined) yield { ...last, readBytes: source.bytesRead };
  } catch (cause) {
    const line = cause instanceof LongRecordError ? cause.line : splitter.line;
    throw new CliError(`${file.path}, line ${line}: ${reasonOf(cause)}`, 1, { cause });
  } finally {
    source.destroy();
    content.destroy();
  }
}

class Parts {
  readonly #hasHeader: boolean;
  #header: Uint8Array | undefined;
  #records: Uint8Array[] = [];
  #bytes = 0;
  #line = 1;

  constructor(hasHeader: boolean) {
    this.#hasHeader = hasHeader;
  }

  /** Returns a part that is full. */
  add({ bytes, line }: RawRecord): Omit<FilePart, 'readBytes'> | undefined {
    if (this.#hasHeader && this.#header === undefined) {
      this.#header = bytes.slice();
      return undefined;
    }
    if (this.#records.length === 0) this.#line = line;
    this.#records.push(bytes);
    this.#bytes += bytes.length + 1;
    const { importPartBytes, importPartBytesMax, importBatchRows } = limits;
    const isBetween = this.#records.length % importBatchRows === 0;
    const isFull = isBetween && this.#bytes >= importPartBytes;
    return isFull || this.#bytes >= importPartBytesMax ? this.take() : undefined;
  }

  take(): Omit<FilePart, 'readBytes'> | undefined {
    if (this.#records.length === 0) return undefined;
    const records = this.#header === undefined ? this.#records : [this.#header, ...this.#records];
    const bytes = new Uint8Array(records.reduce((sum, { length }) => sum + length + 1, 0));
    let at = 0;
    for (const record of records) {
      bytes.set(record, at);
      at += record.length;
      bytes[at] = lineFeed;
      at += 1;
    }
    this.#records = [];
    this.#bytes = 0;
    return { bytes, line: this.#line };
  }
}

const lineFeed = 0x0a;

function reasonOf(error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  return reason === 'unexpected end of file' ? 'the gzip file is cut off' : reason;
}
