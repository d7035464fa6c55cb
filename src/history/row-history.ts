import { limits } from '../limits.ts';
import { laterMicros } from '../log/commit-time.ts';
import { acceptedMicrosOf, decodeInputs } from '../log/decode-record.ts';
import type { Disk } from '../log/disk.ts';
import { type CommitRecord, isCommitRecord } from '../log/record.ts';
import { emptyCatalog } from '../schema/build-catalog.ts';
import type { Catalog, TableSpec } from '../schema/catalog.ts';
import type { RowList } from '../store/change-set.ts';
import { RowShape } from '../store/row-shape.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import type { ConnectionNumber } from '../values/connection-number.ts';
import type { CallerIdentity, DatabaseIdentity } from '../values/identity-roles.ts';
import { encodedToShortJson } from '../values/json-write.ts';
import type { ProductType } from '../values/type.ts';
import { catalogIn } from './build-index.ts';
import { type FoundFiles, type FoundSegment, findFiles, headerOf } from './files.ts';
import { readRecords } from './read-records.ts';
import { mayHaveRow, readIndex, type SegmentIndex } from './segment-index.ts';
import { snapshotCatalog } from './snapshot-catalog.ts';

export interface RowAsk {
  /** The canonical name of a table of the module. */
  readonly table: string;
  /** The primary key of the row, encoded by the definition of now; throws if it cannot be one. */
  readonly key: (table: TableSpec, catalog: Catalog) => Uint8Array;
  /** Commits behind it do not count. */
  readonly durableOffset: number;
  readonly changesMax: number;
}

/** What a commit did to a row. Rows are JSON in the plain form, by the definition of then. */
export interface RowChange {
  readonly offset: number;
  /** T of the commit. */
  readonly micros: number;
  /** Empty: a statement, or the service. */
  readonly reducer: string;
  readonly caller: CallerIdentity;
  readonly connectionId: ConnectionNumber;
  readonly op: 'insert' | 'update' | 'delete';
  /** `undefined`: it was not there, or is too long to be shown. */
  readonly before: string | undefined;
  readonly after: string | undefined;
}

export interface RowHistory {
  /** The newest first. */
  readonly changes: readonly RowChange[];
  /** True: there are older ones. */
  readonly hasMore: boolean;
  /** The first commit that the log still has. */
  readonly firstOffset: number;
}

/** What was asked for is not there; the message says why. */
export class RowAskError extends Error {
  override readonly name = 'RowAskError';
}

/**
 * Reads what became of one row, from the files of a log that does not change meanwhile. Segments
 * that surely do not have the row, by their indexes, are left out; the others are read from the
 * newest on, until there are as many changes as were asked for. Throws `RowAskError`.
 */
export function rowHistory(disk: Disk, identity: DatabaseIdentity, ask: RowAsk): RowHistory {
  const files = findFiles(disk, identity);
  const known = new KnownSegments(disk, files);
  const { catalog } = known;
  const table = catalog.tables.find(({ name, kind }) => name === ask.table && kind === 'user');
  if (table === undefined) throw new RowAskError(`table \`${ask.table}\` does not exist`);
  if (table.primaryKey === undefined) {
    throw new RowAskError(`table \`${ask.table}\` has no primary key, so its rows have no history`);
  }
  const row = { table, key: ask.key(table, catalog) };
  const changes: RowChange[] = [];
  let characters = 0;
  let hasMore = false;
  for (const segment of [...known.segments].reverse()) {
    const { index } = segment;
    if (index !== undefined && !mayHaveRow(index, table.id, row.key)) continue;
    const found = changesIn(disk, files, segment, row, ask.durableOffset);
    for (const change of found.reverse()) {
      characters += (change.before?.length ?? 0) + (change.after?.length ?? 0);
      const isOver = characters > limits.rowHistoryCharactersMax && changes.length > 0;
      hasMore = changes.length === ask.changesMax || isOver;
      if (hasMore) break;
      changes.push(change);
    }
    if (hasMore) break;
  }
  return { changes, hasMore, firstOffset: files.segments[0]?.firstOffset ?? 1 };
}

interface KnownSegment {
  readonly file: FoundSegment;
  /** Absent: it has none that is of use, so that it has to be read. */
  readonly index: SegmentIndex | undefined;
  /** The tables before its first record; `undefined`: not known. */
  readonly before: Catalog | undefined;
}

/** Segments with their indexes, and the tables that were there when each of them began. */
class KnownSegments {
  readonly segments: readonly KnownSegment[];
  /** The tables of now. */
  readonly catalog: Catalog;
  readonly #disk: Disk;
  readonly #files: FoundFiles;

  constructor(disk: Disk, files: FoundFiles) {
    this.#disk = disk;
    this.#files = files;
    let catalog = this.#first();
    const segments: KnownSegment[] = [];
    for (const [at, file] of files.segments.entries()) {
      const index = this.#indexOf(file, files.segments[at + 1]);
      segments.push({ file, index, before: catalog });
      if (index === undefined || index.schemas.length > 0) catalog = this.#behind(file) ?? catalog;
    }
    this.segments = segments;
    this.catalog = catalog ?? emptyCatalog;
  }

  /** The tables before the first segment: none, or those of a snapshot that it does not change. */
  #first(): Catalog | undefined {
    const { segments, snapshots, lineage } = this.#files;
    const [first] = segments;
    if (first === undefined || first.sequence === 1) return undefined;
    for (const { name } of snapshots) {
      const found = snapshotCatalog(this.#disk, name, lineage);
      if (found !== undefined && found.offset < first.firstOffset) return found.catalog;
    }
    return undefined;
  }

  #indexOf(file: FoundSegment, next: FoundSegment | undefined): SegmentIndex | undefined {
    if (next?.sequence !== file.sequence + 1) return undefined;
    const header = headerOf(this.#disk, file.name);
    const after = headerOf(this.#disk, next.name);
    if (header === undefined || after === undefined) return undefined;
    const reading = readIndex(this.#disk, file.name, header, after);
    return reading.kind === 'valid' ? reading.index : undefined;
  }

  /** The tables behind its last record, if it changes them. */
  #behind({ name, sequence }: FoundSegment): Catalog | undefined {
    let catalog: Catalog | undefined;
    readRecords(
      this.#disk,
      this.#files.lineage,
      { segment: sequence, position: 0 },
      (record, _, file) => {
        if (file !== name) return false;
        if (record?.kind === 'schema') catalog = catalogIn(record.schema.catalog) ?? catalog;
        return true;
      },
    );
    return catalog;
  }
}

interface SoughtRow {
  readonly table: TableSpec;
  readonly key: Uint8Array;
}

/** The changes of a row in one segment, the oldest first. */
function changesIn(
  disk: Disk,
  { lineage }: FoundFiles,
  { file, before }: KnownSegment,
  row: SoughtRow,
  durableOffset: number,
): RowChange[] {
  const changes: RowChange[] = [];
  let reader = before && RowFinder.of(before, row);
  let micros = Number(headerOf(disk, file.name)?.lastMicros ?? 0n);
  const start = { segment: file.sequence, position: 0 };
  readRecords(disk, lineage, start, (record, _, name) => {
    if (name !== file.name) return false;
    if (record === undefined || !isCommitRecord(record)) return true;
    if (record.kind === 'schema') {
      const catalog = catalogIn(record.schema.catalog);
      reader = catalog && RowFinder.of(catalog, row);
    }
    micros = laterMicros(micros, acceptedMicrosOf(record.inputs));
    const change = reader?.find(record);
    if (change === undefined) return true;
    if (change.offset > durableOffset) return false;
    changes.push({ ...change, micros });
    return true;
  });
  return changes;
}

/** Finds a row in commits, by one definition of its table. */
class RowFinder {
  readonly #row: SoughtRow;
  readonly #shape: RowShape;
  readonly #keyColumn: number;
  readonly #type: ProductType;
  readonly #catalog: Catalog;

  /** `undefined`: the table is not there, or has no primary key. */
  static of(catalog: Catalog, row: SoughtRow): RowFinder | undefined {
    const table = catalog.tables.find(({ id }) => id === row.table.id);
    if (table?.primaryKey === undefined) return undefined;
    return new RowFinder(row, catalog, table, table.primaryKey);
  }

  private constructor(row: SoughtRow, catalog: Catalog, table: TableSpec, keyColumn: number) {
    this.#row = row;
    this.#catalog = catalog;
    this.#keyColumn = keyColumn;
    this.#shape = new RowShape(table.columns, catalog);
    const elements = table.columns.map(({ name, type }) => ({ name, type }));
    this.#type = { kind: 'product', elements };
  }

  find(record: CommitRecord): Omit<RowChange, 'micros'> | undefined {
    const { changes } = record;
    const change = changes?.tables.find(({ tableId }) => tableId === this.#row.table.id);
    if (changes === undefined || change === undefined) return undefined;
    const before = this.#rowIn(change.deletes);
    const after = this.#rowIn(change.inserts);
    if (before === undefined && after === undefined) return undefined;
    const { reducer, caller, connectionId } = decodeInputs(record.inputs);
    return {
      ...{ offset: changes.offset, reducer, caller, connectionId },
      op: before === undefined ? 'insert' : after === undefined ? 'delete' : 'update',
      before: before && this.#textOf(before),
      after: after && this.#textOf(after),
    };
  }

  #textOf(row: Uint8Array): string | undefined {
    const { rowHistoryRowCharactersMax: charactersMax } = limits;
    const reader = new BinaryReader(row);
    const text = encodedToShortJson(this.#type, reader, 'plain', charactersMax, this.#catalog);
    return text !== undefined && text.length <= charactersMax ? text : undefined;
  }

  #rowIn({ bytes, count }: RowList): Uint8Array | undefined {
    let at = 0;
    for (let left = count; left > 0; left--) {
      const end = this.#shape.endOfRow(bytes, at, bytes.length);
      if (end < 0) return undefined;
      const start = this.#shape.startOf(bytes, at, this.#keyColumn);
      const stop = this.#shape.skip(bytes, start, this.#keyColumn);
      if (isSame(bytes, start, stop, this.#row.key)) return bytes.subarray(at, end);
      at = end;
    }
    return undefined;
  }
}

function isSame(bytes: Uint8Array, start: number, stop: number, key: Uint8Array): boolean {
  if (stop - start !== key.length) return false;
  for (let at = 0; at < key.length; at++) if (bytes[start + at] !== key[at]) return false;
  return true;
}
