import { assert, present } from '../../assert.ts';
import type { LiveCommit } from '../../database/live/live-commit.ts';
import { noTicket, ticketNumber } from '../../database/ticket.ts';
import type { LiveUpdate, QueryRows, RowChanges } from '../../live/live-update.ts';
import type { RowSet } from '../../live/row-set.ts';
import { type TableId, tableId } from '../../schema/ids.ts';
import { commitOffset } from '../../store/commit-offset.ts';
import type { BinaryReader } from '../../values/binary-reader.ts';
import type { BinaryWriter } from '../../values/binary-writer.ts';

/**
 * Rows of live queries on their way to the gateway, within the buffer of a turn:
 *
 * ```
 * rows:    rowBytes u32, 0 = of several sizes, then the bytes of their starts, each u32, and
 * bytes:   0 u8 · byte count u32 · bytes                         small ones
 *          1 u8                                                  sent beside the buffer
 *          2 u8 · number u32                                     the same as earlier ones beside it
 * table:   number u32 among the turn's tables; a new number is followed by name string · id u32
 * reads:   count u32 · name string …
 * query:   query f64 · table · isEvent bool · reads · count u32 · rows …
 * update:  query f64 · 1 u8                                  the same changes as the one before it
 *          query f64 · 0 u8 · table · count u32, each:
 *          kind u8 · inserts, deletes  or  kind u8 · events
 * commit:  offset f64 · micros i64 · caller f64, 0 = none · resultsBefore u32
 *          count u32 · update … · count u32, each: query f64 · error string
 * ```
 */

/** Rows of at least this size are transferred in a buffer of their own. */
const blobBytesMin = 4_096;

/** Writes rows; large ones are put into `blobs`, whose buffers are then transferred. */
export class RowsEncoder {
  readonly #writer: BinaryWriter;
  readonly #blobs: Uint8Array[];
  readonly #tables = new Map<string, number>();
  /** Rows sent beside the buffer, by their bytes; several queries can have the same. */
  readonly #beside = new Map<Uint8Array, number>();
  readonly #moved = new Set<ArrayBufferLike>();
  #lastChanges: readonly RowChanges[] | undefined;
  /** One view for each list of starts, so that repeated lists are recognized too. */
  readonly #starts = new Map<Uint32Array, Uint8Array>();

  constructor(writer: BinaryWriter, blobs: Uint8Array[]) {
    this.#writer = writer;
    this.#blobs = blobs;
  }

  queries(queries: readonly QueryRows[]): void {
    const writer = this.#writer;
    writer.u32(queries.length);
    for (const { query, table, tableId, isEvent, reads, fragments } of queries) {
      writer.f64(query);
      this.table(table, tableId);
      writer.bool(isEvent);
      this.reads(reads);
      writer.u32(fragments.length);
      for (const rows of fragments) this.rows(rows);
    }
  }

  reads(reads: readonly string[] = []): void {
    this.#writer.u32(reads.length);
    for (const name of reads) this.#writer.string(name);
  }

  commit(commit: LiveCommit): void {
    const writer = this.#writer;
    const { updates, failures } = commit;
    writer.f64(commit.offset);
    writer.i64(commit.timestampMicros);
    writer.f64(commit.caller ?? noTicket);
    writer.u32(commit.resultsBefore);
    writer.u32(updates.length);
    for (const update of updates) this.#update(update);
    writer.u32(failures.length);
    for (const { query, error } of failures) {
      writer.f64(query);
      writer.string(error);
    }
  }

  table(name: string, id: number): void {
    const known = this.#tables.get(name);
    this.#writer.u32(known ?? this.#tables.size);
    if (known !== undefined) return;
    this.#tables.set(name, this.#tables.size);
    this.#writer.string(name);
    this.#writer.u32(id);
  }

  rows(rows: RowSet): void {
    const writer = this.#writer;
    if (rows.kind === 'fixedSize') {
      writer.u32(rows.rowBytes);
    } else {
      writer.u32(0);
      this.#data(this.#bytesOf(rows.starts));
    }
    this.#data(rows.data);
  }

  #bytesOf(starts: Uint32Array): Uint8Array {
    const known = this.#starts.get(starts);
    if (known !== undefined) return known;
    const bytes = new Uint8Array(starts.buffer, starts.byteOffset, starts.byteLength);
    this.#starts.set(starts, bytes);
    return bytes;
  }

  #update({ query, table, tableId, changes }: LiveUpdate): void {
    const writer = this.#writer;
    writer.f64(query);
    writer.bool(changes === this.#lastChanges);
    if (changes === this.#lastChanges) return;
    this.#lastChanges = changes;
    this.table(table, tableId);
    writer.u32(changes.length);
    for (const change of changes) {
      writer.bool(change.kind === 'event');
      if (change.kind === 'event') {
        this.rows(change.events);
      } else {
        this.rows(change.inserts);
        this.rows(change.deletes);
      }
    }
  }

  #data(data: Uint8Array): void {
    const writer = this.#writer;
    if (data.length < blobBytesMin) {
      writer.u8(0);
      writer.bytes(data);
      return;
    }
    const known = this.#beside.get(data);
    if (known !== undefined) {
      writer.u8(2);
      writer.u32(known);
      return;
    }
    writer.u8(1);
    this.#beside.set(data, this.#beside.size);
    this.#blobs.push(this.#ownBuffer(data));
  }

  /** A buffer is transferred whole and once, so a view of part of one is copied. */
  #ownBuffer(data: Uint8Array): Uint8Array {
    const { buffer } = data;
    if (data.byteLength !== buffer.byteLength || this.#moved.has(buffer)) return data.slice();
    this.#moved.add(buffer);
    return data;
  }
}

/** Reads what `RowsEncoder` wrote. Small rows are views of the turn's buffer. */
export class RowsDecoder {
  readonly #reader: BinaryReader;
  readonly #takeBlob: () => Uint8Array;
  readonly #tables: { readonly table: string; readonly tableId: TableId }[] = [];
  readonly #beside: Uint8Array[] = [];
  #last: Omit<LiveUpdate, 'query'> | undefined;

  constructor(reader: BinaryReader, takeBlob: () => Uint8Array) {
    this.#reader = reader;
    this.#takeBlob = takeBlob;
  }

  queries(): QueryRows[] {
    const reader = this.#reader;
    return this.#list(() => {
      const query = reader.f64();
      const table = this.table();
      const isEvent = reader.bool();
      const reads = this.reads();
      return { query, ...table, isEvent, ...reads, fragments: this.#list(() => this.rows()) };
    });
  }

  reads(): { readonly reads?: readonly string[] } {
    const reads = this.#list(() => this.#reader.string());
    return reads.length === 0 ? {} : { reads };
  }

  commit(): LiveCommit {
    const reader = this.#reader;
    const offset = commitOffset(reader.f64());
    const timestampMicros = reader.i64();
    const caller = ticketNumber(reader.f64());
    return {
      kind: 'committed',
      offset,
      timestampMicros,
      caller: caller === noTicket ? undefined : caller,
      resultsBefore: reader.u32(),
      updates: this.#list(() => this.#update()),
      failures: this.#list(() => ({ query: reader.f64(), error: reader.string() })),
    };
  }

  table(): { readonly table: string; readonly tableId: TableId } {
    const number = this.#reader.u32();
    if (number === this.#tables.length) {
      this.#tables.push({ table: this.#reader.string(), tableId: tableId(this.#reader.u32()) });
    }
    const known = this.#tables[number];
    assert(known !== undefined, 'rows name a table of their turn');
    return known;
  }

  rows(): RowSet {
    const reader = this.#reader;
    const rowBytes = reader.u32();
    if (rowBytes > 0) return { kind: 'fixedSize', rowBytes, data: this.#data() };
    return { kind: 'offsets', starts: startsIn(this.#data()), data: this.#data() };
  }

  #update(): LiveUpdate {
    const query = this.#reader.f64();
    if (this.#reader.bool()) {
      const { table, tableId, changes } = present(this.#last, 'an update before');
      return { query, table, tableId, changes };
    }
    const update = { query, ...this.table(), changes: this.#list(() => this.#change()) };
    this.#last = update;
    return update;
  }

  #change(): RowChanges {
    if (this.#reader.bool()) return { kind: 'event', events: this.rows() };
    const inserts = this.rows();
    return { kind: 'persistent', inserts, deletes: this.rows() };
  }

  #data(): Uint8Array {
    const reader = this.#reader;
    const kind = reader.u8();
    if (kind === 1) {
      const data = this.#takeBlob();
      this.#beside.push(data);
      return data;
    }
    if (kind === 2) return present(this.#beside[reader.u32()], 'rows that came before');
    const byteCount = reader.u32();
    const at = reader.claim(byteCount, 'rows');
    const { buffer, byteOffset } = reader.source;
    return new Uint8Array(buffer, byteOffset + at, byteCount);
  }

  #list<Item>(read: () => Item): Item[] {
    const items: Item[] = [];
    for (let left = this.#reader.u32(); left > 0; left -= 1) items.push(read());
    return items;
  }
}

/** Both threads are on one machine, so numbers have its byte order. */
function startsIn(bytes: Uint8Array): Uint32Array {
  const whole = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  return new Uint32Array(whole.buffer, whole.byteOffset, whole.byteLength / 4);
}
