import { assert } from '../assert.ts';
import { tableId } from '../schema/ids.ts';
import type { ChangeSet, RowList, SequenceMark } from '../store/change-set.ts';
import { type CommitOffset, commitOffset } from '../store/commit-offset.ts';
import { connectionNumber } from '../values/connection-number.ts';
import { callerIdentity } from '../values/identity-roles.ts';
import { type ColumnDefault, type CommitInputs, type LogRecord, recordKinds } from './record.ts';

/** The payload of a record with a valid checksum makes no sense: another version wrote it. */
export class RecordFormatError extends Error {
  override readonly name = 'RecordFormatError';
}

/**
 * Parses the payload `bytes[start, end)`; `offset` is the one of its header. Returns `undefined`
 * for a record that only recovery uses. Row bytes and other byte arrays are views into `bytes`.
 * Throws `RecordFormatError`.
 */
export function decodeRecord(
  kind: number,
  offset: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): LogRecord | undefined {
  const reader = new PayloadReader(bytes, start, end);
  switch (kind) {
    case recordKinds.commit: {
      const changes = readChanges(reader, commitOffset(offset));
      return { kind: 'commit', changes, inputs: reader.rest() };
    }
    case recordKinds.schema:
      return readSchema(reader, commitOffset(offset));
    case recordKinds.marks: {
      const sequences = readMarks(reader);
      reader.finish();
      return { kind: 'marks', sequences };
    }
    case recordKinds.stop:
      reader.finish();
      return undefined;
    default:
      throw new RecordFormatError(`unknown kind of record: ${kind}`);
  }
}

/**
 * When the request of a recovered record was accepted, in microseconds since the Unix epoch; a
 * number, since it is read from every record.
 */
export function acceptedMicrosOf(inputs: Uint8Array): number {
  let micros = 0;
  for (let at = 7; at >= 0; at--) micros = micros * 256 + (inputs[at] ?? 0);
  return micros;
}

/** The inputs of a recovered record, as copies. */
export function decodeInputs(bytes: Uint8Array): CommitInputs {
  const reader = new PayloadReader(bytes, 0, bytes.length);
  const inputs = {
    timestampMicros: BigInt.asIntN(64, reader.wide(1)),
    caller: callerIdentity(reader.wide(4)),
    connectionId: connectionNumber(reader.wide(2)),
    seed: reader.raw(reader.u8()).slice(),
    reducer: new TextDecoder('utf-8', { ignoreBOM: true }).decode(reader.counted()),
    args: reader.counted().slice(),
  };
  reader.finish();
  return inputs;
}

function readSchema(reader: PayloadReader, offset: CommitOffset): LogRecord {
  const programKind = reader.flag() ? 'wasm' : 'js';
  const catalog = reader.counted();
  const definition = reader.counted();
  const program = reader.counted();
  const defaults: ColumnDefault[] = [];
  for (let count = reader.varint(); count > 0; count--) {
    defaults.push({
      tableId: tableId(reader.varint()),
      column: reader.varint(),
      value: reader.counted(),
    });
  }
  const changes = reader.flag() ? readChanges(reader, offset) : undefined;
  return {
    kind: 'schema',
    offset,
    schema: { catalog, definition, programKind, program, defaults },
    changes,
    inputs: reader.rest(),
  };
}

function readChanges(reader: PayloadReader, offset: CommitOffset): ChangeSet {
  const tables: ChangeSet['tables'][number][] = [];
  for (let count = reader.varint(); count > 0; count--) {
    const id = tableId(reader.varint());
    const truncated = reader.flag();
    tables.push({ tableId: id, truncated, inserts: readRows(reader), deletes: readRows(reader) });
  }
  return { offset, tables, sequences: readMarks(reader) };
}

function readRows(reader: PayloadReader): RowList {
  const count = reader.varint();
  return { count, bytes: reader.counted() };
}

function readMarks(reader: PayloadReader): SequenceMark[] {
  const marks: SequenceMark[] = [];
  for (let count = reader.varint(); count > 0; count--) {
    const id = reader.varint();
    const size = reader.u8();
    if (size !== 8 && size !== 40) throw new RecordFormatError(`sequence value of ${size} bytes`);
    marks.push({ id, value: BigInt.asIntN(size * 8, reader.wide(size / 8)) });
  }
  return marks;
}

class PayloadReader {
  readonly #bytes: Uint8Array;
  readonly #end: number;
  #at: number;

  constructor(bytes: Uint8Array, start: number, end: number) {
    assert(start <= end && end <= bytes.length, 'a payload lies inside the bytes it is read from');
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  u8(): number {
    return this.raw(1)[0] ?? 0;
  }

  flag(): boolean {
    const value = this.u8();
    if (value > 1) throw new RecordFormatError(`flag with the value ${value}`);
    return value === 1;
  }

  varint(): number {
    let value = 0;
    let weight = 1;
    for (let count = 0; count < 8; count++) {
      if (this.#at >= this.#end) throw new RecordFormatError('the payload ends inside a number');
      const byte = this.#bytes[this.#at++] as number;
      value += (byte & 127) * weight;
      if (byte < 128) return value;
      weight *= 128;
    }
    throw new RecordFormatError('a number of more than 53 bits');
  }

  /** An unsigned number of `words` 64-bit words. */
  wide(words: number): bigint {
    const bytes = this.raw(words * 8);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    let value = 0n;
    for (let word = words - 1; word >= 0; word--) {
      value = (value << 64n) | view.getBigUint64(word * 8, true);
    }
    return value;
  }

  raw(length: number): Uint8Array {
    const end = this.#at + length;
    if (end > this.#end) throw new RecordFormatError('the payload ends too early');
    const bytes = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return bytes;
  }

  counted(): Uint8Array {
    return this.raw(this.varint());
  }

  rest(): Uint8Array {
    return this.raw(this.#end - this.#at);
  }

  finish(): void {
    if (this.#at !== this.#end) throw new RecordFormatError('bytes after the end of the payload');
  }
}
