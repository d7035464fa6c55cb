import { assert } from '../assert.ts';
import { limits } from '../limits.ts';
import type { Disk, DiskFile } from './disk.ts';
import { chainOf, type LogPoint } from './log-point.ts';
import { PackedFile } from './packed-segment.ts';
import { isCommitKind, recordHeaderBytes } from './record.ts';
import type { LogWrite } from './replicated-write.ts';
import { isPacked, readSegmentHeader, type SegmentHeader, segmentHeaderBytes } from './segment.ts';
import { SegmentReader, segmentNames, withReader } from './segment-reader.ts';

/** A segment, and where it begins. */
export interface PlacedSegment {
  readonly name: string;
  readonly header: SegmentHeader;
}

/**
 * Places in the files of a log that is open: which records begin where, and all that follow. What
 * was written is found; a file that is written to meanwhile is read again where it ended.
 */
export class LogPlaces {
  readonly #disk: Disk;
  readonly #salt: number;
  readonly #headers = new Map<string, SegmentHeader | undefined>();
  #open: { readonly name: string; readonly file: DiskFile; reader: SegmentReader } | undefined;

  constructor(disk: Disk, salt: number) {
    this.#disk = disk;
    this.#salt = salt;
  }

  /** Segments in order, packed or not. */
  segments(): PlacedSegment[] {
    return segmentNames(this.#disk).flatMap((name) => {
      if (!this.#headers.has(name)) this.#headers.set(name, this.#headerOf(name));
      const header = this.#headers.get(name);
      return header === undefined ? [] : [{ name, header }];
    });
  }

  /** The segment that has the place `position`; `undefined`: it is before all of them. */
  segmentOf(position: number): PlacedSegment | undefined {
    return this.segments().findLast(({ header }) => header.position <= position);
  }

  /** The point in front of the record at a log position; `undefined` if none begins there. */
  pointAt(position: number): LogPoint | undefined {
    const segment = this.segmentOf(position);
    if (segment === undefined) return undefined;
    const { header, name } = segment;
    const reader = this.#readerAt(name, filePosition(header, position));
    if (reader !== undefined) {
      const { kind, offset, previousLow, previousHigh } = reader;
      const chain = chainOf(previousLow, previousHigh);
      return { position, chain, offset: isCommitKind(kind) ? offset - 1 : offset };
    }
    return position === header.position ? beginningOf(header) : undefined;
  }

  /** Everything from `from` on up to `end`, both borders of records, in pieces. */
  *writes(from: LogPoint, end: LogPoint): Generator<LogWrite> {
    let at = from;
    for (const { name, header } of this.segments()) {
      const isBegun = header.position >= from.position && header.sequence > 1;
      let segment = isBegun ? this.#headerBytes(name) : undefined;
      if (header.position > at.position) throw new Error(`${name} does not continue the log`);
      for (let pieces = this.#records(name, header, at, end); ; ) {
        const piece = pieces.next();
        if (piece.done === true) break;
        yield { ...piece.value, segment };
        segment = undefined;
        at = piece.value.end;
      }
      if (segment !== undefined) yield { records: new Uint8Array(0), end: at, segment };
    }
    assert(at.position === end.position, 'the files of a log have all that was written');
  }

  close(): void {
    this.#open?.file.close();
    this.#open = undefined;
  }

  /** Records of one segment from `from` on. */
  *#records(
    name: string,
    header: SegmentHeader,
    from: LogPoint,
    end: LogPoint,
  ): Generator<{ readonly records: Uint8Array; readonly end: LogPoint }> {
    let pieces: Uint8Array[] = [];
    let bytes = 0;
    let { position } = from;
    let point = from;
    while (position < end.position) {
      const reader = this.#readerAt(name, filePosition(header, position));
      if (reader === undefined) break;
      const { hash, offset, length } = reader;
      const start = reader.payloadStart - recordHeaderBytes;
      pieces.push(reader.bytes.slice(start, start + length));
      bytes += length;
      position += length;
      point = { position, chain: chainOf(hash.chainLow, hash.chainHigh), offset };
      if (bytes < limits.entryBytesMin) continue;
      yield { records: joined(pieces, bytes), end: point };
      pieces = [];
      bytes = 0;
    }
    if (bytes > 0) yield { records: joined(pieces, bytes), end: point };
  }

  /** A reader that has read the record at a place of a file; `undefined`: none is there. */
  #readerAt(name: string, position: number): SegmentReader | undefined {
    if (this.#open?.name !== name) {
      this.close();
      const file = this.#disk.open(name, 'read');
      this.#open = { name, file, reader: this.#readerOf(name, file) };
    }
    const open = this.#open;
    if (isRecord(open.reader, position, this.#salt)) return open.reader;
    // The file may have grown, and its space was read before it was written to.
    open.reader = this.#readerOf(name, open.file);
    return isRecord(open.reader, position, this.#salt) ? open.reader : undefined;
  }

  #readerOf(name: string, file: DiskFile): SegmentReader {
    return new SegmentReader(isPacked(name) ? new PackedFile(file, this.#disk.codec) : file);
  }

  #headerBytes(name: string): Uint8Array {
    return withReader(this.#disk, name, (reader) => reader.header().slice());
  }

  #headerOf(name: string): SegmentHeader | undefined {
    const reading = readSegmentHeader(this.#headerBytes(name));
    return reading.kind === 'valid' ? reading.header : undefined;
  }
}

export function filePosition(header: SegmentHeader, position: number): number {
  return position - header.position + segmentHeaderBytes;
}

function beginningOf({ position, chainLow, chainHigh, firstOffset }: SegmentHeader): LogPoint {
  return { position, chain: chainOf(chainLow, chainHigh), offset: firstOffset - 1 };
}

function isRecord(reader: SegmentReader, position: number, salt: number): boolean {
  return position % 8 === 0 && reader.read(position, salt) === 'record';
}

function joined(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}
