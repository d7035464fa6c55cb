import { tableId } from '../schema/ids.ts';
import type { ChangeSet, RowList, SequenceMark, TableChange } from '../store/change-set.ts';
import { type CommitOffset, commitOffset } from '../store/commit-offset.ts';
import { connectionNumber } from '../values/connection-number.ts';
import { callerIdentity } from '../values/identity-roles.ts';
import { PayloadReader, RecordFormatError } from './payload-reader.ts';
import {
  type ColumnDefault,
  type CommitInputs,
  type LogRecord,
  type MigratedTables,
  recordKinds,
  type StagedRows,
} from './record.ts';

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
      return readSchema(reader, commitOffset(offset), undefined);
    case recordKinds.migration:
      return readSchema(reader, commitOffset(offset), readMigrated(reader));
    case recordKinds.staged: {
      const staged = readStaged(reader);
      reader.finish();
      return { kind: 'staged', staged };
    }
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

function readMigrated(reader: PayloadReader): MigratedTables {
  const run = reader.varint();
  const tables: MigratedTables['tables'][number][] = [];
  for (let count = reader.varint(); count > 0; count--) {
    tables.push({ tableId: tableId(reader.varint()), isStaged: reader.flag() });
  }
  return { run, tables };
}

function readStaged(reader: PayloadReader): StagedRows {
  const run = reader.varint();
  const catalog = reader.flag() ? reader.counted() : undefined;
  return { run, catalog, tables: readTables(reader) };
}

function readSchema(
  reader: PayloadReader,
  offset: CommitOffset,
  migration: MigratedTables | undefined,
): LogRecord {
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
    migration,
    changes,
    inputs: reader.rest(),
  };
}

function readChanges(reader: PayloadReader, offset: CommitOffset): ChangeSet {
  return { offset, tables: readTables(reader), sequences: readMarks(reader) };
}

function readTables(reader: PayloadReader): TableChange[] {
  const tables: TableChange[] = [];
  for (let count = reader.varint(); count > 0; count--) {
    const id = tableId(reader.varint());
    const truncated = reader.flag();
    tables.push({ tableId: id, truncated, inserts: readRows(reader), deletes: readRows(reader) });
  }
  return tables;
}

function readRows(reader: PayloadReader): RowList {
  const count = reader.varint();
  return { count, bytes: reader.counted() };
}

/** Marks of sequences, as `writeMarks` wrote them. */
export function readMarks(reader: PayloadReader): SequenceMark[] {
  const marks: SequenceMark[] = [];
  for (let count = reader.varint(); count > 0; count--) {
    const id = reader.varint();
    const size = reader.u8();
    if (size !== 8 && size !== 40) throw new RecordFormatError(`sequence value of ${size} bytes`);
    marks.push({ id, value: BigInt.asIntN(size * 8, reader.wide(size / 8)) });
  }
  return marks;
}
