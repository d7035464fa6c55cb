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
 * A client's knowledge of a database: its tables and functions, under their names in programs
 * (accessors, dotted inside submodules: `guilds.member`) and on the wire (canonical names). Values
 * are encoded without code generation, which a page's security policy may forbid.
 */
export interface ClientSchema {
  /** The JSON that it was built from. */
  readonly source?: RawSchema;
  /** Tables by accessor, views included. */
  readonly tables: ReadonlyMap<string, ClientTable>;
  readonly tablesByName: ReadonlyMap<string, ClientTable>;
  readonly reducers: ReadonlyMap<string, ClientFunction>;
  readonly procedures: ReadonlyMap<string, ClientFunction>;
}

export interface ClientColumn {
  /** The property name in rows. */
  readonly key: string;
  /** The name in SQL. */
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
  /** True for an event table: rows are passed to callbacks and not kept. */
  readonly isEvent: boolean;
}

/** A key of the map of rows; the values of one table's keys are all of one type. */
export type RowKey = string | number | bigint | boolean;
export type Row = Readonly<Record<string, unknown>>;

/** A table and the codec of its rows. */
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

  /** The identity of a row: its primary key, or else all its bytes. */
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

  /** The key of a row that the program has. */
  keyOfRow(row: Row): RowKey {
    const { columns, primaryKey } = this.parts;
    const key = columns[primaryKey ?? -1]?.key;
    if (key !== undefined) return this.#keyOf(row[key]);
    return binaryText(this.encode(row));
  }

  /** Encodes a row as the server would; throws `TypeError` with the path of the invalid value. */
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
  /** `undefined`: nothing is returned. */
  readonly returns: AlgebraicType | undefined;
  /** `undefined`: it rejects calls with a message. */
  readonly throws?: AlgebraicType | undefined;
  readonly typespace: Typespace;
}

/** A reducer or a procedure, with the codecs of its arguments and its result. */
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

  /** Encodes the arguments; throws `TypeError` with the path of the invalid value. */
  encode(args: unknown): Uint8Array {
    return encodedBy((writer) => this.#encode(writer, args ?? {}));
  }

  decode(bytes: Uint8Array): unknown {
    return this.#decode && wholeValue(this.#decode, bytes);
  }

  /** The error for the value that a call was rejected with; `undefined` if it is a message. */
  refusal(bytes: Uint8Array): CallError | undefined {
    const error = this.#decodeError;
    return error && new CallError(this.parts.accessor, wholeValue(error, bytes));
  }
}

/**
 * Decodes a value and checks that no bytes are left: a value of another type rarely has the same
 * length.
 */
function wholeValue(decode: (reader: BinaryReader) => unknown, bytes: Uint8Array): unknown {
  const reader = new BinaryReader(bytes);
  const value = decode(reader);
  if (reader.remaining > 0) throw new TypeError('the value is of another type');
  return value;
}

/**
 * Turns values of a type into keys of a `Map`: equal values give the same key. Values that are not
 * of a plain type are keyed by their encoding.
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

/** The bytes as a string of the same length. */
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
 * The parsed response of `GET /v1/database/:name/schema?version=10`.
 *
 * @example
 * ```ts
 * const schema: RawSchema = JSON.parse(text);
 * ```
 */
export interface RawSchema {
  readonly sections: readonly Readonly<Record<string, any>>[];
}
