import { decodeRecord } from '../log/decode-record.ts';
import { type Disk, DiskError, tryToRemove } from '../log/disk.ts';
import { readDurableMark } from '../log/durable-mark.ts';
import { LogDamageError } from '../log/log-error.ts';
import { PackedFile } from '../log/packed-segment.ts';
import { isPacked, type SegmentHeader } from '../log/segment.ts';
import { withReader } from '../log/segment-reader.ts';
import type { Catalog } from '../schema/catalog.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import { buildIndex, catalogIn, memberPositions } from './build-index.ts';
import { type FoundFiles, type FoundSegment, findFiles, headerOf } from './files.ts';
import type { Pause } from './pause.ts';
import { encodeIndex, fitsForm, indexName, keyBytesMax, readIndex } from './segment-index.ts';
import { snapshotCatalog } from './snapshot-catalog.ts';

export interface IndexOptions {
  readonly identity: DatabaseIdentity;
  readonly log: (message: string, level: 'warn' | 'error') => void;
}

/** Builds the indexes of sealed segments that are missing or damaged, and keeps their form. */
export class IndexKeeper {
  readonly #disk: Disk;
  readonly #options: IndexOptions;
  readonly #pause: Pause;
  readonly #files: FoundFiles;
  /** The tables before the first record of a segment, if they are known from the one before. */
  #known: { readonly sequence: number; readonly catalog: Catalog | undefined } | undefined;

  constructor(disk: Disk, options: IndexOptions, pause: Pause) {
    this.#disk = disk;
    this.#options = options;
    this.#pause = pause;
    this.#files = findFiles(disk, options.identity);
  }

  async run(): Promise<void> {
    const { segments } = this.#files;
    for (const [index, segment] of segments.entries()) {
      const next = segments[index + 1];
      if (next?.sequence !== segment.sequence + 1) continue;
      await this.#pause(0);
      try {
        await this.#index(segment, next);
      } catch (error) {
        const isFull = error instanceof DiskError && error.isForSpace;
        if (!isFull && !(error instanceof LogDamageError)) throw error;
        const why = isFull ? 'the disk is full' : error.message;
        this.#options.log(`${segment.name} has no index: ${why}.`, 'warn');
      }
    }
  }

  async #index(segment: FoundSegment, next: FoundSegment): Promise<void> {
    const header = headerOf(this.#disk, segment.name);
    const end = headerOf(this.#disk, next.name);
    if (header === undefined || end === undefined || !this.#isSealed(end)) return;
    const reading = readIndex(this.#disk, segment.name, header, end);
    if (reading.kind === 'valid') {
      if (fitsForm(reading.index, segment.name)) return;
      // It has the same records, packed or unpacked since: they need not be read again.
      const other = { ...reading.index, members: this.#membersOf(segment.name) };
      if (other.keys.length <= keyBytesMax(other)) {
        await this.#write(indexName(segment.name), encodeIndex(other, header));
        return;
      }
    }
    const catalog = this.#catalogBefore(segment, header);
    const source = { disk: this.#disk, segment: segment.name, next: end, catalog };
    const built = await buildIndex({ ...source, pause: this.#pause });
    if (built === undefined) {
      this.#options.log(`${segment.name} has no index: its records are damaged.`, 'error');
      return;
    }
    this.#known = { sequence: next.sequence, catalog: built.catalog };
    const bytes = encodeIndex(built.index, header);
    await this.#write(indexName(segment.name), bytes);
  }

  /** Positions of the pieces of a packed segment. */
  #membersOf(segment: string): number[] {
    if (!isPacked(segment)) return [];
    const file = this.#disk.open(segment, 'read');
    try {
      return memberPositions(new PackedFile(file, this.#disk.codec));
    } finally {
      file.close();
    }
  }

  /**
   * Whether a record behind it is durable. Until then a crash can take the next segment, and this
   * one is written to again.
   */
  #isSealed(next: SegmentHeader): boolean {
    const mark = readDurableMark(this.#disk);
    const marked = mark.kind === 'valid' && mark.salt === next.salt ? mark.end.position : 0;
    const { snapshots, lineage } = this.#files;
    const known = [marked, snapshots.at(-1)?.position ?? 0, lineage.last?.position ?? 0];
    return next.position < Math.max(...known);
  }

  async #write(name: string, bytes: Uint8Array): Promise<void> {
    const part = `${name}.part`;
    this.#disk.checkWriter?.(true);
    if (this.#disk.list().includes(part)) this.#disk.remove(part);
    try {
      const file = this.#disk.open(part, 'create');
      try {
        file.write(bytes, 0);
        await file.sync();
      } finally {
        file.close();
      }
      this.#disk.checkWriter?.(true);
      this.#disk.rename(part, name);
    } catch (error) {
      tryToRemove(this.#disk, part);
      throw error;
    }
    await this.#disk.syncDirectory();
    await this.#pause(bytes.length);
  }

  /** The tables that are there before a segment; `undefined` if that cannot be found. */
  #catalogBefore(segment: FoundSegment, header: SegmentHeader): Catalog | undefined {
    if (this.#known?.sequence === segment.sequence) return this.#known.catalog;
    const { segments, snapshots } = this.#files;
    const before = snapshots.findLast(({ offset }) => offset < header.firstOffset);
    const later = snapshots.filter(({ offset }) => offset >= header.firstOffset);
    for (const { name } of later) {
      const schema = snapshotCatalog(this.#disk, name, this.#files.lineage);
      if (schema !== undefined && schema.offset < header.firstOffset) return schema.catalog;
    }
    const base = before && snapshotCatalog(this.#disk, before.name, this.#files.lineage);
    if (before === undefined && segments[0]?.sequence !== 1) return undefined;
    const between = segments.filter(({ sequence }) => {
      return sequence >= (before?.segment ?? 1) && sequence < segment.sequence;
    });
    let catalog = base?.catalog;
    for (const { name } of between) {
      const found = this.#lastCatalogIn(name);
      if (found === 'unknown') return undefined;
      catalog = found ?? catalog;
    }
    return catalog;
  }

  /** The tables after the last change of the program in a segment, by its index. */
  #lastCatalogIn(name: string): Catalog | undefined | 'unknown' {
    const { segments } = this.#files;
    const after = segments[segments.findIndex((segment) => segment.name === name) + 1];
    const header = headerOf(this.#disk, name);
    const next = after && headerOf(this.#disk, after.name);
    if (header === undefined || next === undefined) return 'unknown';
    const reading = readIndex(this.#disk, name, header, next);
    if (reading.kind !== 'valid') return 'unknown';
    const last = reading.index.schemas.at(-1);
    if (last === undefined) return undefined;
    return withReader(this.#disk, name, (reader) => {
      if (reader.read(last.filePosition, header.salt) !== 'record') return 'unknown';
      const { kind, offset, bytes, payloadStart, payloadEnd } = reader;
      const record = decodeRecord(kind, offset, bytes, payloadStart, payloadEnd);
      return record?.kind === 'schema'
        ? (catalogIn(record.schema.catalog) ?? 'unknown')
        : 'unknown';
    });
  }
}
