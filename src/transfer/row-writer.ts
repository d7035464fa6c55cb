import { limits } from '../limits.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import type { Printer } from '../values/json-printer.ts';
import { cellPrinterOf } from './csv-cells.ts';
import { csvField } from './csv-fields.ts';
import type { RowFormat, RowTable } from './row-table.ts';
import { valuePrinterOf } from './row-values.ts';

/** A row whose text would be longer than one that can be imported. */
export class LongRowError extends Error {
  override readonly name = 'LongRowError';

  constructor(table: string) {
    super(
      `a row of the table \`${table}\` is longer than ${limits.rowTextBytesMax} bytes as text, ` +
        'and cannot be exported',
    );
  }
}

/** Writes encoded rows of one table as text, a line each. */
export class RowWriter {
  readonly #table: RowTable;
  readonly #columns: readonly { readonly before: string; readonly print: Printer }[];
  readonly #format: RowFormat;

  constructor(table: RowTable, format: RowFormat) {
    const { columns, types } = table;
    this.#table = table;
    this.#format = format;
    this.#columns = columns.map(({ name, type }, at) => {
      const separator = at === 0 ? '' : ',';
      return format === 'csv'
        ? { before: separator, print: cellPrinterOf(type, types) }
        : { before: `${separator}${JSON.stringify(name)}:`, print: valuePrinterOf(type, types) };
    });
  }

  /** The line before all rows; empty: there is none. */
  get header(): string {
    if (this.#format === 'ndjson') return '';
    return `${this.#table.columns.map(({ name }) => csvField(name)).join(',')}\n`;
  }

  /** The text of `count` rows, in pieces. Throws `LongRowError`. */
  *pieces(rows: Uint8Array, count: number): Generator<string, void, void> {
    const reader = new BinaryReader(rows);
    let piece = '';
    for (let row = 0; row < count; row += 1) {
      piece += this.#line(reader);
      if (piece.length < pieceCharacters) continue;
      yield piece;
      piece = '';
    }
    if (piece !== '') yield piece;
  }

  #line(reader: BinaryReader): string {
    reader.beginValue();
    let line = this.#format === 'csv' ? '' : '{';
    for (const { before, print } of this.#columns) {
      // A column is at most some times as long as its bytes: names of variants are not repeated.
      line += before + print(reader, 0);
      if (line.length > limits.rowTextBytesMax) throw new LongRowError(this.#table.name);
    }
    return this.#format === 'csv' ? `${line}\n` : `${line}}\n`;
  }
}

const pieceCharacters = 65_536;
