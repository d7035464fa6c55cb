import { LaterVersionError } from '../schema/later-version.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import {
  blockKinds,
  type DirectoryEntry,
  footerBytes,
  isOfPlace,
  mayFollow,
  readBlock,
  readDirectory,
  readFooter,
  type SnapshotFooter,
} from './block.ts';
import { SnapshotDamageError } from './log-error.ts';
import type { SegmentReader } from './segment-reader.ts';
import {
  readSnapshotHeader,
  type SnapshotBlock,
  type SnapshotHeader,
  type SnapshotPlace,
  snapshotHeaderBytes,
  snapshotName,
} from './snapshot.ts';

/** What the two ends of a file say about the rest, which is not read yet. */
export interface SnapshotOutline {
  readonly place: SnapshotPlace;
  /** Tables with rows, in the order of their rows. */
  readonly tables: readonly DirectoryEntry[];
  readonly header: SnapshotHeader;
  readonly footer: SnapshotFooter;
}

/**
 * Reads header, footer and directory of a snapshot; they lie at the ends of the file, so this takes
 * no time. Throws `SnapshotDamageError` if they are not those of a snapshot of one of these
 * databases.
 */
export function readOutline(
  reader: SegmentReader,
  ...identities: readonly DatabaseIdentity[]
): SnapshotOutline {
  const header = headerOf(reader, identities);
  const footer = footerOf(reader, header);
  const { directoryPosition: position } = footer;
  const end = reader.size - footerBytes;
  const isInside = position % 8 === 0 && position >= snapshotHeaderBytes && position < end;
  if (!isInside || reader.read(position, header.salt) !== 'record') {
    throw fault(reader, 'there is no directory where the footer says', end);
  }
  if (reader.kind !== blockKinds.directory || position + reader.length !== end) {
    throw fault(reader, 'the block before the footer is not the directory', position);
  }
  const { bytes, payloadStart, payloadEnd } = reader;
  const tables = sensible(reader, position, () => readDirectory(bytes, payloadStart, payloadEnd));
  return { place: header.place, tables, header, footer };
}

function headerOf(reader: SegmentReader, identities: readonly DatabaseIdentity[]): SnapshotHeader {
  const reading = readSnapshotHeader(reader.header());
  if (reading.kind === 'version') {
    const reason = `its format has version ${reading.version}, this program reads version 1`;
    throw new SnapshotDamageError(reason, reader.name, 8, { isLater: true });
  }
  if (reading.kind === 'invalid') throw fault(reader, 'its header is not valid', 0);
  const { place } = reading.header;
  if (!identities.includes(place.databaseIdentity)) {
    const found = place.databaseIdentity.toString(16).padStart(64, '0');
    throw fault(reader, `it belongs to another database, ${found}`, 16);
  }
  if (snapshotName(place.offset) !== reader.name) {
    throw fault(reader, `it is of offset ${place.offset}, not of that in its name`, 56);
  }
  return reading.header;
}

function footerOf(reader: SegmentReader, { place, salt }: SnapshotHeader): SnapshotFooter {
  const position = reader.size - footerBytes;
  if (position <= snapshotHeaderBytes || position % 8 !== 0) {
    throw fault(reader, 'the file ends before its footer', Math.max(position, 0));
  }
  const isFooter =
    reader.read(position, salt) === 'record' &&
    reader.kind === blockKinds.footer &&
    reader.length === footerBytes;
  if (!isFooter) throw fault(reader, 'the file does not end with a footer', position);
  const { bytes, payloadStart, payloadEnd } = reader;
  const footer = sensible(reader, position, () => readFooter(bytes, payloadStart, payloadEnd));
  if (footer.fileBytes !== reader.size || !isOfPlace(footer, place)) {
    throw fault(reader, 'its footer does not belong to its header', position);
  }
  return footer;
}

/**
 * Reads a snapshot from front to back, in pieces of a MiB, and checks everything. Passes on each
 * block once its own checksum is right; all of them are valid when this returns. Throws
 * `SnapshotDamageError`; an error of `take` counts as one. With `skipDerived`, damaged blocks of
 * derived data are no error: this and all behind it are passed over.
 */
export function readSnapshot(
  reader: SegmentReader,
  outline: SnapshotOutline,
  take: (block: SnapshotBlock) => void,
  skipDerived?: (reason: string) => void,
): void {
  for (const { block, position } of snapshotBlocks(reader, outline, skipDerived)) {
    sensible(reader, position, () => take(block));
  }
}

/** As `readSnapshot`, one block after another; the file is valid when there is none left. */
export function* snapshotBlocks(
  reader: SegmentReader,
  outline: SnapshotOutline,
  skipDerived?: (reason: string) => void,
): Generator<PlacedBlock> {
  const { footer } = outline;
  const pass = new Pass(outline);
  let position = snapshotHeaderBytes;
  while (position < reader.size) {
    let block: SnapshotBlock | undefined;
    try {
      block = blockAt(reader, position, outline, pass);
    } catch (error) {
      const isDerived = pass.hasAllRows && position < footer.directoryPosition;
      if (!(error instanceof SnapshotDamageError && isDerived) || !skipDerived) throw error;
      skipDerived(`${error.reason}, at position ${error.position}`);
      position = footer.directoryPosition;
      pass.skip();
      continue;
    }
    const { length } = reader;
    if (block !== undefined) yield { block, position };
    position += length;
  }
  const reason = pass.endFault(footer);
  if (reason !== undefined) throw fault(reader, reason, position);
}

interface PlacedBlock {
  readonly block: SnapshotBlock;
  readonly position: number;
}

/** The checked block at a position; `undefined` for those that `readOutline` has read. */
function blockAt(
  reader: SegmentReader,
  position: number,
  { header }: SnapshotOutline,
  pass: Pass,
): SnapshotBlock | undefined {
  if (reader.read(position, header.salt) !== 'record') {
    throw fault(reader, `a block is not whole: ${reader.reason || 'zeros'}`, position);
  }
  const { kind, length, bytes, payloadStart, payloadEnd } = reader;
  const reason = pass.faultOf(reader);
  if (reason !== undefined) throw fault(reader, reason, position);
  if (kind === blockKinds.directory || kind === blockKinds.footer) return undefined;
  return sensible(reader, position, () => {
    const found = readBlock(kind, bytes, payloadStart, payloadEnd);
    pass.note(found, position, length);
    return found;
  });
}

/** The checks of one block after another. */
class Pass {
  readonly #places: { readonly table: DirectoryEntry; readonly at: number }[];
  #chainLow: number;
  #chainHigh: number;
  #kind = 0;
  #count = 0;
  #programBytes = 0;
  #rowsSeen = 0;
  #tableBytes = 0;
  #isBehindGap = false;

  constructor({ header, tables }: SnapshotOutline) {
    this.#chainLow = header.salt;
    this.#chainHigh = header.crc;
    this.#places = tables.flatMap((table) => table.blocks.map((_, at) => ({ table, at })));
  }

  /** True behind the last block of rows. */
  get hasAllRows(): boolean {
    return this.#kind >= blockKinds.marks && this.#rowsSeen === this.#places.length;
  }

  /** Blocks are passed over: nothing says what the next one follows, or how many there were. */
  skip(): void {
    this.#isBehindGap = true;
    this.#kind = blockKinds.derived;
  }

  /** Why the block that was read does not follow those before it. */
  faultOf(reader: SegmentReader): string | undefined {
    const { kind, offset, previousLow, previousHigh, hash } = reader;
    if (this.#isBehindGap) {
      this.#isBehindGap = false;
      this.#count = offset;
    } else if (previousLow !== this.#chainLow || previousHigh !== this.#chainHigh) {
      return 'a block follows another one';
    }
    if (offset !== this.#count || reader.durablePosition !== 0) {
      return `a block has the number ${offset} instead of ${this.#count}`;
    }
    if (!mayFollow(kind, this.#kind)) {
      return `a block of kind ${kind} follows one of kind ${this.#kind}`;
    }
    this.#chainLow = hash.chainLow;
    this.#chainHigh = hash.chainHigh;
    this.#kind = kind;
    this.#count++;
    return undefined;
  }

  /** Compares a block with what was announced; throws if it differs. */
  note(block: SnapshotBlock, position: number, length: number): void {
    switch (block.kind) {
      case 'schema':
        this.#programBytes = block.schema.programBytes;
        return;
      case 'program':
        this.#programBytes -= block.bytes.length;
        return;
      case 'marks':
        if (this.#programBytes !== 0) throw new Error('the program is not whole');
        return;
      case 'derived':
        return;
      case 'rows':
        this.#noteRows(block, position, length);
    }
  }

  #noteRows(block: Extract<SnapshotBlock, { kind: 'rows' }>, position: number, length: number) {
    const { tableId, rows } = block;
    const place = this.#places[this.#rowsSeen++];
    const entry = place?.table.blocks[place.at];
    if (place === undefined || entry === undefined) throw new Error(notAnnounced);
    const isSame =
      place.table.tableId === tableId &&
      entry.position === position &&
      entry.length === length &&
      entry.rowCount === rows.count;
    if (!isSame) throw new Error(notAnnounced);
    this.#tableBytes = (place.at === 0 ? 0 : this.#tableBytes) + rows.bytes.length;
    const isLast = place.at === place.table.blocks.length - 1;
    if (isLast && this.#tableBytes !== place.table.rowBytes) throw new Error(notAnnounced);
  }

  endFault(footer: SnapshotFooter): string | undefined {
    if (this.#kind !== blockKinds.footer || this.#count !== footer.blockCount + 1) {
      return 'the number of its blocks is not that in its footer';
    }
    return this.#rowsSeen === this.#places.length ? undefined : notAnnounced;
  }
}

const notAnnounced = 'the rows are not those in the directory';

function fault(reader: SegmentReader, reason: string, position: number): SnapshotDamageError {
  return new SnapshotDamageError(reason, reader.name, position);
}

/** The result of `read`; an error in it says that the content makes no sense. */
function sensible<T>(reader: SegmentReader, position: number, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof SnapshotDamageError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    const isLater = cause instanceof LaterVersionError;
    const text = isLater
      ? `a later version wrote it: ${reason}`
      : `a block makes no sense: ${reason}`;
    throw new SnapshotDamageError(text, reader.name, position, {
      isLater,
      cause,
    });
  }
}
