import { limits } from '../limits.ts';
import { BinaryWriter } from '../values/binary-writer.ts';
import { type Encoder, encoderOf } from '../values/encode.ts';
import type { Reader } from '../values/json-read.ts';
import { describe } from '../values/json-read.ts';
import { JsonObject, type JsonValue, parseJson } from '../values/json-text.ts';
import { readUtf8 } from '../values/utf8.ts';
import type { Value } from '../values/value.ts';
import { type CellReader, cellReaderOf, isAbsent, misfitText } from './csv-cells.ts';
import { type CsvField, csvFields } from './csv-fields.ts';
import type { RowColumn, RowFault, RowFormat, RowTable } from './row-table.ts';
import { valueReaderOf } from './row-values.ts';

export interface RowReaderOptions {
  readonly table: RowTable;
  readonly format: RowFormat;
  /** Columns that the table does not have are left out; otherwise they are a fault. */
  readonly ignoresUnknown: boolean;
}

/**
 * Reads rows of one table from records: JSON objects by the names of columns, or CSV whose first
 * record has the names. Columns with a filler may be missing.
 */
export class RowReader {
  readonly #options: RowReaderOptions;
  readonly #columns: readonly ReadColumn[];
  readonly #byName: ReadonlyMap<string, number>;
  readonly #writer = new BinaryWriter(4_096);
  /** Of CSV: the columns of the fields, `undefined` for those that are left out. */
  #header: readonly (number | undefined)[] | undefined;

  constructor(options: RowReaderOptions) {
    const { columns, types } = options.table;
    this.#options = options;
    this.#columns = columns.map((column) => ({
      column,
      read: valueReaderOf(column.type, types),
      readCell: cellReaderOf(column.type, types),
      encode: encoderOf(column.type, types),
    }));
    const names = (nameOf: (column: RowColumn) => string) =>
      columns.map((column, at) => [nameOf(column), at] as const);
    // A canonical name wins over the spelling of another column.
    this.#byName = new Map([...names((one) => one.sourceName), ...names((one) => one.name)]);
  }

  /** True until the names of columns were read, which come first in CSV. */
  get needsHeader(): boolean {
    return this.#options.format === 'csv' && this.#header === undefined;
  }

  /** Reads the names of columns. A fault is one of the whole text. */
  readHeader(record: Uint8Array): RowFault | undefined {
    const fields = fieldsOf(record);
    if ('fault' in fields) return { column: null, message: fields.fault };
    const header: (number | undefined)[] = [];
    for (const { text } of fields) {
      const at = this.#byName.get(text);
      if (at === undefined && !this.#options.ignoresUnknown) return this.#unknown(text);
      if (at !== undefined && header.includes(at)) {
        return { column: text, message: `the column \`${text}\` comes twice` };
      }
      header.push(at);
    }
    const missing = this.#columns.find(
      ({ column }, at) => column.filler === undefined && !header.includes(at),
    );
    if (missing !== undefined) return missingColumn(missing.column);
    this.#header = header;
    return undefined;
  }

  /** True of a record that is no row: an empty line. */
  isBlank(record: Uint8Array): boolean {
    // An empty line is the only way to write a row with a single absent value.
    if (this.#header?.length === 1) return false;
    return record.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
  }

  /** The encoded row, valid until the next call, or what is wrong with it. */
  read(record: Uint8Array): Uint8Array | RowFault {
    this.#writer.reset();
    const fault = this.#options.format === 'csv' ? this.#csv(record) : this.#json(record);
    if (fault !== undefined) return fault;
    const row = this.#writer.view();
    if (row.length <= limits.rowBytesMax) return row;
    const message = `the row takes ${row.length} bytes, and ${limits.rowBytesMax} is the most`;
    return { column: null, message };
  }

  #json(record: Uint8Array): RowFault | undefined {
    const text = readUtf8(record, 0, record.length);
    if (text === undefined) return notUtf8;
    if (hasManyParts(text)) return tooManyParts;
    let json: JsonValue;
    try {
      json = parseJson(text);
    } catch (error) {
      return { column: null, message: misfitText(error) };
    }
    if (!(json instanceof JsonObject)) {
      const message = `a row is an object by the names of columns, not ${describe(json)}`;
      return { column: null, message };
    }
    const values: (JsonValue | undefined)[] = [];
    for (let position = 0; position < json.size; position += 1) {
      const [name, value] = json.entryAt(position);
      const at = this.#byName.get(name);
      if (at === undefined && this.#options.ignoresUnknown) continue;
      if (at === undefined) return this.#unknown(name);
      if (values[at] !== undefined) {
        return { column: name, message: `the column \`${name}\` comes twice` };
      }
      values[at] = value;
    }
    return this.#encode(values, ({ read }, value) => read(value, 0));
  }

  #csv(record: Uint8Array): RowFault | undefined {
    const fields = fieldsOf(record);
    if ('fault' in fields) return { column: null, message: fields.fault };
    const header = this.#header ?? [];
    if (fields.length !== header.length) {
      const message = `the row has ${fields.length} fields, and the header has ${header.length}`;
      return { column: null, message };
    }
    const values: (CsvField | undefined)[] = [];
    for (const [position, at] of header.entries()) {
      if (at === undefined) continue;
      const field = fields[position] as CsvField;
      const isLeftOut = isAbsent(field) && this.#columns[at]?.column.filler !== undefined;
      if (!isLeftOut) values[at] = field;
    }
    return this.#encode(values, ({ readCell }, field) => readCell(field));
  }

  #encode<Item>(
    items: readonly (Item | undefined)[],
    read: (column: ReadColumn, item: Item) => Value,
  ): RowFault | undefined {
    const writer = this.#writer;
    for (const [at, column] of this.#columns.entries()) {
      const item = items[at];
      const { name, filler } = column.column;
      if (item === undefined) {
        if (filler === undefined) return missingColumn(column.column);
        const start = writer.claim(filler.length);
        writer.source.set(filler, start);
        continue;
      }
      try {
        column.encode(writer, read(column, item));
      } catch (error) {
        return { column: name, message: misfitText(error) };
      }
    }
    return undefined;
  }

  #unknown(name: string): RowFault {
    const { table } = this.#options;
    const known = table.columns.map((column) => `\`${column.name}\``).join(', ');
    const message = `the table \`${table.name}\` has no column \`${name}\`; it has ${known}`;
    return { column: name, message };
  }
}

interface ReadColumn {
  readonly column: RowColumn;
  readonly read: Reader;
  readonly readCell: CellReader;
  readonly encode: Encoder;
}

const notUtf8: RowFault = { column: null, message: 'the row is not valid UTF-8' };

function fieldsOf(record: Uint8Array): readonly CsvField[] | { readonly fault: string } {
  const text = readUtf8(record, 0, record.length);
  return text === undefined ? { fault: notUtf8.message } : csvFields(text);
}

function missingColumn({ name }: RowColumn): RowFault {
  return { column: name, message: `the column \`${name}\` is missing, and it has no default` };
}

const tooManyParts: RowFault = {
  column: null,
  message: `the row has more than ${limits.rowTextPartsMax} commas and brackets`,
};

/** Parsed, a part takes many times the memory of its text. */
function hasManyParts(text: string): boolean {
  if (text.length <= limits.rowTextPartsMax) return false;
  let parts = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === 0x2c || unit === 0x5b || unit === 0x7b) parts += 1;
  }
  return parts > limits.rowTextPartsMax;
}
