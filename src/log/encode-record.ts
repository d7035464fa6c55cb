import { assert } from '../assert.ts';
import type { ChangeSet, RowList, SequenceMark, TableChange } from '../store/change-set.ts';
import type { ConnectionNumber } from '../values/connection-number.ts';
import type { CallerIdentity } from '../values/identity-roles.ts';
import type { CommitInputs, MigratedTables, SchemaChange, StagedRows } from './record.ts';
import type { RecordBuffer } from './record-buffer.ts';

/**
 * Payloads of the records; the byte tables are in `docs/format/log.md`, the inverse in
 * `decode-record.ts`. Row bytes are copied once, from the change set into the buffer.
 *
 * An encoder keeps the byte forms of recent callers, connections and reducer names: turning a
 * 256-bit number into bytes costs as much as the rest of a small record.
 */
export class RecordEncoder {
  readonly #callers = new BytesCache<CallerIdentity>((caller) => wideBytes(caller, 4));
  readonly #connections = new BytesCache<ConnectionNumber>((connection) =>
    wideBytes(connection, 2),
  );
  readonly #reducers = new BytesCache<string>((name) => new TextEncoder().encode(name));

  /** Begins a record in `buffer` and writes its payload; the caller ends it. */
  commit(buffer: RecordBuffer, changes: ChangeSet, inputs: CommitInputs): void {
    const reducer = this.#reducers.of(inputs.reducer);
    buffer.begin(changesBytesMax(changes) + inputsBytesMax(inputs, reducer));
    writeChanges(buffer, changes);
    this.#writeInputs(buffer, inputs, reducer);
  }

  /** `migration`: of a record of that kind. */
  schema(
    buffer: RecordBuffer,
    schema: SchemaChange,
    { changes, inputs, migration }: SchemaCommit,
  ): void {
    const reducer = this.#reducers.of(inputs.reducer);
    buffer.begin(
      schemaBytesMax(schema) +
        (migration === undefined ? 0 : migratedBytesMax(migration)) +
        (changes === undefined ? 0 : changesBytesMax(changes)) +
        inputsBytesMax(inputs, reducer),
    );
    if (migration !== undefined) writeMigrated(buffer, migration);
    buffer.u8(schema.programKind === 'js' ? 0 : 1);
    buffer.counted(schema.catalog);
    buffer.counted(schema.definition);
    buffer.counted(schema.program);
    buffer.varint(schema.defaults.length);
    for (const { tableId, column, value } of schema.defaults) {
      buffer.varint(tableId);
      buffer.varint(column);
      buffer.counted(value);
    }
    buffer.u8(changes === undefined ? 0 : 1);
    if (changes !== undefined) writeChanges(buffer, changes);
    this.#writeInputs(buffer, inputs, reducer);
  }

  staged(buffer: RecordBuffer, { run, catalog, tables }: StagedRows): void {
    const catalogBytes = catalog === undefined ? 0 : catalog.length + varintBytesMax;
    buffer.begin(varintBytesMax + 1 + catalogBytes + tablesBytesMax(tables));
    buffer.varint(run);
    buffer.u8(catalog === undefined ? 0 : 1);
    if (catalog !== undefined) buffer.counted(catalog);
    writeTables(buffer, tables);
  }

  marks(buffer: RecordBuffer, sequences: readonly SequenceMark[]): void {
    buffer.begin(marksBytesMax(sequences.length));
    writeMarks(buffer, sequences);
  }

  #writeInputs(buffer: RecordBuffer, inputs: CommitInputs, reducer: Uint8Array): void {
    assert(inputs.seed.length <= 255, 'the seed of a call is longer than its length byte');
    buffer.i64(inputs.timestampMicros);
    buffer.raw(this.#callers.of(inputs.caller));
    buffer.raw(this.#connections.of(inputs.connectionId));
    buffer.u8(inputs.seed.length);
    buffer.raw(inputs.seed);
    buffer.counted(reducer);
    buffer.counted(inputs.args);
  }
}

/** What a schema change shares its record with. */
export interface SchemaCommit {
  readonly changes: ChangeSet | undefined;
  readonly inputs: CommitInputs;
  readonly migration?: MigratedTables | undefined;
}

/** Longest varint: 53 bits in groups of seven. */
export const varintBytesMax = 8;
const markBytesMax = varintBytesMax + 1 + 40;

function inputsBytesMax(inputs: CommitInputs, reducer: Uint8Array): number {
  const fixed = 8 + 32 + 16 + 1 + 2 * varintBytesMax;
  return fixed + inputs.seed.length + reducer.length + inputs.args.length;
}

function changesBytesMax(changes: ChangeSet): number {
  return marksBytesMax(changes.sequences.length) + tablesBytesMax(changes.tables);
}

function tablesBytesMax(tables: readonly TableChange[]): number {
  let bytes = varintBytesMax;
  for (const table of tables) {
    bytes += 1 + 5 * varintBytesMax + table.inserts.bytes.length + table.deletes.bytes.length;
  }
  return bytes;
}

function schemaBytesMax(schema: SchemaChange): number {
  let bytes = 2 + 4 * varintBytesMax;
  bytes += schema.catalog.length + schema.definition.length + schema.program.length;
  for (const { value } of schema.defaults) bytes += 3 * varintBytesMax + value.length;
  return bytes;
}

function migratedBytesMax({ tables }: MigratedTables): number {
  return 2 * varintBytesMax + tables.length * (varintBytesMax + 1);
}

export function marksBytesMax(count: number): number {
  return varintBytesMax + count * markBytesMax;
}

function writeMigrated(buffer: RecordBuffer, { run, tables }: MigratedTables): void {
  buffer.varint(run);
  buffer.varint(tables.length);
  for (const { tableId, isStaged } of tables) {
    buffer.varint(tableId);
    buffer.u8(isStaged ? 1 : 0);
  }
}

function writeChanges(buffer: RecordBuffer, changes: ChangeSet): void {
  writeTables(buffer, changes.tables);
  writeMarks(buffer, changes.sequences);
}

function writeTables(buffer: RecordBuffer, tables: readonly TableChange[]): void {
  buffer.varint(tables.length);
  for (let index = 0; index < tables.length; index++) {
    const table = tables[index] as (typeof tables)[number];
    buffer.varint(table.tableId);
    buffer.u8(table.truncated ? 1 : 0);
    writeRows(buffer, table.inserts);
    writeRows(buffer, table.deletes);
  }
}

function writeRows(buffer: RecordBuffer, rows: RowList): void {
  buffer.varint(rows.count);
  buffer.counted(rows.bytes);
}

/** A value takes 8 bytes where a signed 64-bit number holds it, else 40 (two's complement). */
export function writeMarks(buffer: RecordBuffer, sequences: readonly SequenceMark[]): void {
  buffer.varint(sequences.length);
  for (const { id, value } of sequences) {
    buffer.varint(id);
    const isSmall = BigInt.asIntN(64, value) === value;
    buffer.u8(isSmall ? 8 : 40);
    if (isSmall) buffer.i64(value);
    else
      for (let word = 0n; word < 5n; word++) buffer.i64(BigInt.asIntN(64, value >> (word * 64n)));
  }
}

/** Little-endian bytes of an unsigned number of `words` 64-bit words. */
function wideBytes(value: bigint, words: number): Uint8Array {
  const bytes = new Uint8Array(words * 8);
  const view = new DataView(bytes.buffer);
  for (let word = 0; word < words; word++) {
    view.setBigUint64(word * 8, BigInt.asUintN(64, value >> BigInt(word * 64)), true);
  }
  return bytes;
}

/** An entry takes some 250 bytes; those of clients that have left stay until it is full. */
const cachedMax = 1024;

/** Byte forms of recent keys; drops all when full, which is as good as any policy at this size. */
class BytesCache<Key> {
  readonly #make: (key: Key) => Uint8Array;
  readonly #made = new Map<Key, Uint8Array>();

  constructor(make: (key: Key) => Uint8Array) {
    this.#make = make;
  }

  of(key: Key): Uint8Array {
    const known = this.#made.get(key);
    if (known !== undefined) return known;
    if (this.#made.size >= cachedMax) this.#made.clear();
    const bytes = this.#make(key);
    this.#made.set(key, bytes);
    return bytes;
  }
}
