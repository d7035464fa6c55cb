import { limits } from '../limits.ts';
import { laterMicros } from '../log/commit-time.ts';
import { acceptedMicrosOf, decodeRecord } from '../log/decode-record.ts';
import type { Disk } from '../log/disk.ts';
import { chainToHex, isSameChain } from '../log/history-point.ts';
import { PackedFile } from '../log/packed-segment.ts';
import { type CommitRecord, isCommitRecord, recordKinds } from '../log/record.ts';
import {
  isPacked,
  readSegmentHeader,
  type SegmentHeader,
  segmentHeaderBytes,
} from '../log/segment.ts';
import { SegmentReader } from '../log/segment-reader.ts';
import type { Catalog } from '../schema/catalog.ts';
import { decodeCatalog } from '../schema/catalog-codec.ts';
import type { TableId } from '../schema/ids.ts';
import type { RowList } from '../store/change-set.ts';
import { RowShape } from '../store/row-shape.ts';
import { DecodeError } from '../values/binary-reader.ts';
import { KeyCollector } from './key-filter.ts';
import type { Pause } from './pause.ts';
import {
  type IndexEntry,
  type IndexedTable,
  keyBytesMax,
  type SegmentIndex,
} from './segment-index.ts';

export interface IndexSource {
  readonly disk: Disk;
  /** Name of the segment. */
  readonly segment: string;
  /** The header of the next segment: what lies behind its place is not of this log. */
  readonly next: SegmentHeader;
  /** The tables before its first record; `undefined`: not known, so that no keys are collected. */
  readonly catalog: Catalog | undefined;
  readonly pause: Pause;
}

/** What reading a segment gives. */
export interface BuiltIndex {
  readonly index: SegmentIndex;
  /** The tables behind its last record. */
  readonly catalog: Catalog | undefined;
}

/**
 * Reads a sealed segment and builds its index. Returns `undefined` if its records do not lead from
 * its header to the end: it is damaged, which is for `verify` to say.
 */
export async function buildIndex(source: IndexSource): Promise<BuiltIndex | undefined> {
  const { disk, segment, next, pause } = source;
  const file = disk.open(segment, 'read');
  try {
    const packed = isPacked(segment) ? new PackedFile(file, disk.codec) : undefined;
    const reader = new SegmentReader(packed ?? file);
    const reading = readSegmentHeader(reader.header());
    if (reading.kind !== 'valid') return undefined;
    const { header } = reading;
    const builder = new Builder(reader.size, header.firstOffset, header.lastMicros, source.catalog);
    const end = segmentHeaderBytes + next.position - header.position;
    let { chainLow, chainHigh } = header;
    let sinceBytes = 0;
    for (let position = segmentHeaderBytes; position < end; ) {
      if (reader.read(position, header.salt) !== 'record') return undefined;
      const before = { chainLow: reader.previousLow, chainHigh: reader.previousHigh };
      if (!isSameChain(before, { chainLow, chainHigh })) return undefined;
      chainLow = reader.hash.chainLow;
      chainHigh = reader.hash.chainHigh;
      builder.add(reader, position);
      position += reader.length;
      sinceBytes += reader.length;
      if (sinceBytes < pauseBytes) continue;
      sinceBytes = 0;
      await pause(0);
    }
    if (!isSameChain({ chainLow, chainHigh }, next)) return undefined;
    const { sequence, position } = header;
    const { position: endPosition } = next;
    const members = packed === undefined ? [] : memberPositions(packed);
    const endChain = chainToHex(next);
    return builder.finish({ sequence, position, endPosition, endChain, members });
  } finally {
    file.close();
  }
}

/** Positions of the members of a packed segment, as its index has them. */
export function memberPositions({ members }: PackedFile): number[] {
  return members.map(({ position }) => position);
}

/** `undefined`: a later version has written it. */
export function catalogIn(bytes: Uint8Array): Catalog | undefined {
  try {
    return decodeCatalog(bytes);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return undefined;
  }
}

/** Work between two pauses: a few milliseconds. */
const pauseBytes = 1024 * 1024;

class Builder {
  readonly #firstOffset: number;
  readonly #stepBytes: number;
  readonly #keys = new KeyCollector();
  readonly #entries: IndexEntry[] = [];
  readonly #schemas: IndexEntry[] = [];
  readonly #tables = new Map<TableId, { inserted: number; deleted: number }>();
  #shapes = new Map<TableId, KeyShape>();
  #catalog: Catalog | undefined;
  /** True if rows came whose keys could not be found. */
  #lacksKeys = false;
  #offset: number;
  #micros: number;
  #firstMicros: number | undefined;
  #nextStep = 0;

  constructor(
    fileBytes: number,
    firstOffset: number,
    lastMicros: bigint,
    catalog: Catalog | undefined,
  ) {
    this.#firstOffset = firstOffset;
    this.#offset = firstOffset - 1;
    this.#micros = Number(lastMicros);
    this.#stepBytes = limits.segmentIndexStepBytes;
    while (fileBytes / this.#stepBytes > limits.segmentIndexEntriesMax) this.#stepBytes *= 2;
    this.#serve(catalog);
  }

  add(reader: SegmentReader, filePosition: number): void {
    const { kind, offset, bytes, payloadStart, payloadEnd } = reader;
    const record = decodeRecord(kind, offset, bytes, payloadStart, payloadEnd);
    if (record !== undefined && isCommitRecord(record)) this.#note(record, offset);
    const entry = { offset, micros: BigInt(this.#micros), filePosition };
    if (filePosition >= this.#nextStep) {
      this.#entries.push(entry);
      this.#nextStep = (Math.floor(filePosition / this.#stepBytes) + 1) * this.#stepBytes;
    }
    const isSchema = kind === recordKinds.schema || kind === recordKinds.migration;
    if (isSchema) this.#schemas.push(entry);
  }

  finish(
    place: Pick<SegmentIndex, 'sequence' | 'position' | 'endPosition' | 'endChain' | 'members'>,
  ): BuiltIndex {
    const tables: IndexedTable[] = [...this.#tables].map(([tableId, counts]) => {
      return { tableId, ...counts };
    });
    const rest = {
      ...place,
      firstOffset: this.#firstOffset,
      lastOffset: this.#offset,
      firstMicros: BigInt(this.#firstMicros ?? this.#micros),
      lastMicros: BigInt(this.#micros),
      entries: this.#entries,
      schemas: this.#schemas,
      tables: tables.sort((one, other) => one.tableId - other.tableId),
    };
    const keys = this.#lacksKeys ? new Uint8Array(0) : this.#keys.finish(keyBytesMax(rest));
    return { index: { ...rest, keys }, catalog: this.#catalog };
  }

  #note(record: CommitRecord, offset: number): void {
    this.#micros = laterMicros(this.#micros, acceptedMicrosOf(record.inputs));
    this.#firstMicros ??= this.#micros;
    this.#offset = offset;
    if (record.kind === 'schema') this.#serve(catalogIn(record.schema.catalog));
    for (const { tableId, inserts, deletes } of record.changes?.tables ?? []) {
      const counts = this.#tables.get(tableId) ?? { inserted: 0, deleted: 0 };
      counts.inserted += inserts.count;
      counts.deleted += deletes.count;
      this.#tables.set(tableId, counts);
      this.#collect(tableId, inserts);
      this.#collect(tableId, deletes);
    }
  }

  #collect(tableId: TableId, { bytes, count }: RowList): void {
    const shape = this.#shapes.get(tableId);
    if (shape === undefined) {
      this.#lacksKeys ||= count > 0;
      return;
    }
    let at = 0;
    for (let left = count; left > 0; left--) {
      const end = shape.row.endOfRow(bytes, at, bytes.length);
      if (end < 0) {
        this.#lacksKeys = true;
        return;
      }
      const { key } = shape;
      const start = key === undefined ? at : shape.row.startOf(bytes, at, key);
      const stop = key === undefined ? end : shape.row.skip(bytes, start, key);
      this.#keys.add(tableId, bytes, start, stop);
      at = end;
    }
  }

  #serve(catalog: Catalog | undefined): void {
    this.#catalog = catalog;
    const shapes = (catalog?.tables ?? []).map((table): [TableId, KeyShape] => {
      const row = new RowShape(table.columns, { types: catalog?.types ?? [] });
      return [table.id, { row, key: table.primaryKey }];
    });
    this.#shapes = new Map(shapes);
  }
}

interface KeyShape {
  readonly row: RowShape;
  /** The column of the primary key. */
  readonly key: number | undefined;
}
