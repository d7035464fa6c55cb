import { encodedBy } from '../protocol/message-parts.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import { BinaryWriter } from '../values/binary-writer.ts';
import { isIntegerKind } from '../values/integer-range.ts';
import {
  closureDecoderOf as decoderOf,
  closureEncoderOf as encoderOf,
} from '../values/native-closures.ts';
import { specialKindOf } from '../values/special-types.ts';
import type { AlgebraicType, ProductType, Typespace } from '../values/type.ts';
import { CallError } from './errors.ts';

/**
 * What a client knows of a database: its tables and functions, under the names that programs use
 * (accessors, dotted inside submodules: `guilds.member`) and those on the wire (canonical ones).
 * Values are encoded without generated code: pages may forbid that.
 */
export interface ClientSchema {
  /** What it was made from. */
  readonly source?: RawSchema;
  /** By accessor. Views are tables here. */
  readonly tables: ReadonlyMap<string, ClientTable>;
  readonly tablesByName: ReadonlyMap<string, ClientTable>;
  readonly reducers: ReadonlyMap<string, ClientFunction>;
  readonly procedures: ReadonlyMap<string, ClientFunction>;
}

export interface ClientColumn {
  /** The property of a row. */
  readonly key: string;
  /** In SQL. */
  readonly name: string;
  readonly type: AlgebraicType;
}

export interface ClientIndex {
  readonly accessor: string;
  /** Keys of columns in index order. */
  readonly columns: readonly string[];
  readonly isUnique: boolean;
}

export interface TableParts {
  readonly accessor: string;
  readonly name: string;
  readonly columns: readonly ClientColumn[];
  readonly typespace: Typespace;
  /** Position of the primary key column. */
  readonly primaryKey: number | undefined;
  readonly indexes: readonly ClientIndex[];
  /** Rows are told and not kept. */
  readonly isEvent: boolean;
}

/** A key of the map of rows; the values of one table's keys are all of one type. */
export type RowKey = string | number | bigint | boolean;
export type Row = Readonly<Record<string, unknown>>;

/** A table and how its rows are read. */
export class ClientTable {
  readonly parts: TableParts;
  readonly #decoders: readonly ((reader: BinaryReader) => unknown)[];
  readonly #keyOf: (value: unknown) => RowKey;
  #encode: ((writer: BinaryWriter, row: unknown) => void) | undefined;
  readonly #reader = new BinaryReader(new Uint8Array(0));

  constructor(parts: TableParts) {
    this.parts = parts;
    const { columns, typespace, primaryKey } = parts;
    this.#decoders = columns.map(({ type }) => decoderOf(type, typespace));
    const keyType = columns[primaryKey ?? -1]?.type;
    this.#keyOf = keyType === undefined ? () => '' : keyReader(keyType, typespace);
  }

  /** The row in `data[start, end)`. */
  decode(data: Uint8Array, start: number, end: number): Row {
    const reader = this.#reader;
    reader.reset(data, start, end);
    const row: Record<string, unknown> = {};
    const { columns } = this.parts;
    for (const [position, decode] of this.#decoders.entries()) {
      row[(columns[position] as ClientColumn).key] = decode(reader);
    }
    return row;
  }

  /** What makes the row itself: its primary key, or else all its bytes. */
  keyOf(data: Uint8Array, start: number, end: number): RowKey {
    const { primaryKey } = this.parts;
    if (primaryKey === undefined) return binaryText(data, start, end);
    const reader = this.#reader;
    reader.reset(data, start, end);
    for (let position = 0; position < primaryKey; position += 1) {
      this.#decoders[position]?.(reader);
    }
    return this.#keyOf(this.#decoders[primaryKey]?.(reader));
  }

  /** The key of a row that the program holds. */
  keyOfRow(row: Row): RowKey {
    const { columns, primaryKey } = this.parts;
    const key = columns[primaryKey ?? -1]?.key;
    if (key !== undefined) return this.#keyOf(row[key]);
    return binaryText(this.encode(row));
  }

  /** As the server would write it; throws `TypeError` with the path to what does not fit. */
  encode(row: Row): Uint8Array {
    const { columns, typespace, accessor } = this.parts;
    const elements = columns.map(({ key: name, type }) => ({ name, type }));
    this.#encode ??= encoderOf({ kind: 'product', elements }, typespace, accessor);
    const encode = this.#encode;
    return encodedBy((writer) => encode(writer, row));
  }

  /** The key of a row with this value of the primary key. */
  keyOfValue(value: unknown): RowKey {
    return this.#keyOf(value);
  }
}

export interface FunctionParts {
  readonly accessor: string;
  readonly name: string;
  readonly params: ProductType;
  /** `undefined`: nothing comes back. */
  readonly returns: AlgebraicType | undefined;
  /** `undefined`: it refuses calls with words. */
  readonly throws?: AlgebraicType | undefined;
  readonly typespace: Typespace;
}

/** A reducer or a procedure and how its arguments and its result are written. */
export class ClientFunction {
  readonly parts: FunctionParts;
  readonly #encode: (writer: BinaryWriter, value: unknown) => void;
  readonly #decode?: (reader: BinaryReader) => unknown;
  readonly #decodeError?: (reader: BinaryReader) => unknown;

  constructor(parts: FunctionParts) {
    this.parts = parts;
    const { params, returns, throws, typespace, accessor } = parts;
    this.#encode = encoderOf(params, typespace, accessor);
    if (returns !== undefined) this.#decode = decoderOf(returns, typespace);
    if (throws !== undefined) this.#decodeError = decoderOf(throws, typespace);
  }

  /** Throws `TypeError` with the path to what does not fit. */
  encode(args: unknown): Uint8Array {
    return encodedBy((writer) => this.#encode(writer, args ?? {}));
  }

  decode(bytes: Uint8Array): unknown {
    return this.#decode && wholeValue(this.#decode, bytes);
  }

  /** The error for the value that a call was refused with; `undefined`: they are words. */
  refusal(bytes: Uint8Array): CallError | undefined {
    const error = this.#decodeError;
    return error && new CallError(this.parts.accessor, wholeValue(error, bytes));
  }
}

/** The value of all the bytes: one of a type that the program does not know seldom is as long. */
function wholeValue(decode: (reader: BinaryReader) => unknown, bytes: Uint8Array): unknown {
  const reader = new BinaryReader(bytes);
  const value = decode(reader);
  if (reader.remaining > 0) throw new TypeError('the value is of another type');
  return value;
}

/**
 * Turns values of a type into keys of a `Map`: equal values give the same key. Values of other
 * types than the plain ones are taken by their encoding.
 */
export function keyReader(type: AlgebraicType, typespace: Typespace): (value: unknown) => RowKey {
  const { kind } = type;
  if (kind === 'string' || kind === 'bool' || isIntegerKind(kind)) {
    return (value) => value as RowKey;
  }
  const special = specialKindOf(type);
  if (kind === 'product' && special !== undefined) {
    const inner = type.elements[0]?.name ?? '';
    return (value) => (value as Record<string, bigint>)[inner] as bigint;
  }
  const encode = encoderOf(type, typespace, 'key');
  const writer = new BinaryWriter();
  return (value) => {
    writer.reset();
    encode(writer, value);
    return binaryText(writer.view());
  };
}

/** The bytes as a text of as many characters. */
function binaryText(data: Uint8Array, start = 0, end = data.length): string {
  const bytesMax = 8192;
  let text = '';
  for (let from = start; from < end; from += bytesMax) {
    text += String.fromCharCode(...data.subarray(from, Math.min(from + bytesMax, end)));
  }
  return text;
}

export function schemaOf(
  tables: readonly ClientTable[],
  reducers: readonly ClientFunction[],
  procedures: readonly ClientFunction[],
): ClientSchema {
  const byAccessor = <Item extends { readonly parts: { readonly accessor: string } }>(
    items: readonly Item[],
  ) => new Map(items.map((item) => [item.parts.accessor, item]));
  return {
    tables: byAccessor(tables),
    tablesByName: new Map(tables.map((table) => [table.parts.name, table])),
    reducers: byAccessor(reducers),
    procedures: byAccessor(procedures),
  };
}

/**
 * What `GET /v1/database/:name/schema?version=10` answers, parsed.
 *
 * @example
 * ```ts
 * const schema: RawSchema = JSON.parse(text);
 * ```
 */
export interface RawSchema {
  readonly sections: readonly Readonly<Record<string, any>>[];
}
