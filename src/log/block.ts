import { unreachable } from '../assert.ts';
import { indexId, tableId } from '../schema/ids.ts';
import { type CommitOffset, commitOffset } from '../store/commit-offset.ts';
import type { ImagePart } from '../store/derived-images.ts';
import { readMarks } from './decode-record.ts';
import { marksBytesMax, varintBytesMax, writeMarks } from './encode-record.ts';
import { type Epoch, epoch } from './epoch.ts';
import { PayloadReader, RecordFormatError } from './payload-reader.ts';
import type { RecordBuffer } from './record-buffer.ts';
import type { SnapshotBlock, SnapshotPlace, SnapshotSchema, SnapshotTable } from './snapshot.ts';

/**
 * Blocks of a snapshot: framed, checksummed and chained as records of the log are (`record.ts`). In
 * the place of the offset is the number of the block, from 0, in that of the durable position zero.
 * The kinds are their own; the chain begins with the salt and the checksum of the header. The byte
 * tables are in `docs/format/snapshot.md`.
 */
export const blockKinds = {
  schema: 1,
  program: 2,
  marks: 3,
  rows: 4,
  /** Where the rows of each table are. */
  directory: 5,
  /** The last block: the file is complete. */
  footer: 6,
  /** What follows from rows: images of derived indexes. Readers can skip it. */
  derived: 7,
} as const;

/** Parts of an image; the position is the tag. */
const imageParts: readonly ImagePart[] = ['begin', 'entries', 'missed', 'end'];

/** The order of the kinds in a file, and those of which there can be several blocks. */
const order: readonly number[] = [
  blockKinds.schema,
  blockKinds.program,
  blockKinds.marks,
  blockKinds.rows,
  blockKinds.derived,
  blockKinds.directory,
  blockKinds.footer,
];
const repeated: readonly number[] = [blockKinds.program, blockKinds.rows, blockKinds.derived];

/** Whether a block of `kind` can follow one of kind `before`; 0 stands for the header. */
export function mayFollow(kind: number, before: number): boolean {
  const at = order.indexOf(kind);
  if (kind === before) return repeated.includes(kind);
  if (at === -1 || at <= order.indexOf(before)) return false;
  // Each file has one schema and one block of marks.
  if (before === 0) return kind === blockKinds.schema;
  return order.indexOf(before) >= order.indexOf(blockKinds.marks) || kind <= blockKinds.marks;
}

/** Bytes of a footer with header: it lies that far before the end of the file. */
export const footerBytes = 80;

/** The blocks of a table that has rows. */
export interface DirectoryEntry extends SnapshotTable {
  readonly blocks: readonly RowBlockPlace[];
}

interface RowBlockPlace {
  /** In the file. */
  readonly position: number;
  /** Bytes of the block with header and padding. */
  readonly length: number;
  readonly rowCount: number;
}

export interface SnapshotFooter {
  /** Where the directory is. */
  readonly directoryPosition: number;
  /** Number of blocks before the footer. */
  readonly blockCount: number;
  /** Size of the file. */
  readonly fileBytes: number;
  /** As in the header. */
  readonly epoch: Epoch;
  readonly offset: CommitOffset;
  readonly chainLow: number;
  readonly chainHigh: number;
}

/** Begins a block in `buffer` and writes its payload; the caller ends it. */
export function writeBlock(buffer: RecordBuffer, block: SnapshotBlock): void {
  switch (block.kind) {
    case 'schema':
      writeSchema(buffer, block.schema);
      return;
    case 'program':
      buffer.begin(block.bytes.length);
      buffer.raw(block.bytes);
      return;
    case 'marks':
      buffer.begin(marksBytesMax(block.sequences.length));
      writeMarks(buffer, block.sequences);
      return;
    case 'rows':
      buffer.begin(2 * varintBytesMax + block.rows.bytes.length);
      buffer.varint(block.tableId);
      buffer.varint(block.rows.count);
      buffer.raw(block.rows.bytes);
      return;
    case 'derived': {
      const { indexId: index, part, bytes } = block.piece;
      buffer.begin(1 + 2 * varintBytesMax + bytes.length);
      buffer.varint(block.tableId);
      buffer.varint(index);
      buffer.u8(imageParts.indexOf(part));
      buffer.raw(bytes);
      return;
    }
    default:
      unreachable(block);
  }
}

function writeSchema(buffer: RecordBuffer, schema: SnapshotSchema): void {
  const { catalog, definition } = schema;
  buffer.begin(1 + 8 + 4 * varintBytesMax + catalog.length + definition.length);
  buffer.u8(schema.programKind === 'js' ? 0 : 1);
  buffer.counted(catalog);
  buffer.counted(definition);
  buffer.i64(schema.publishedMicros);
  buffer.varint(schema.offset);
  buffer.varint(schema.programBytes);
}

export function writeDirectory(buffer: RecordBuffer, tables: readonly DirectoryEntry[]): void {
  const blockCount = tables.reduce((sum, { blocks }) => sum + blocks.length, 0);
  buffer.begin(varintBytesMax * (1 + 4 * tables.length + 3 * blockCount));
  buffer.varint(tables.length);
  for (const { tableId: id, rowCount, rowBytes, blocks } of tables) {
    buffer.varint(id);
    buffer.varint(rowCount);
    buffer.varint(rowBytes);
    buffer.varint(blocks.length);
    for (const block of blocks) {
      buffer.varint(block.position);
      buffer.varint(block.length);
      buffer.varint(block.rowCount);
    }
  }
}

export function writeFooter(buffer: RecordBuffer, footer: SnapshotFooter): void {
  buffer.begin(48);
  buffer.i64(BigInt(footer.directoryPosition));
  buffer.i64(BigInt(footer.blockCount));
  buffer.i64(BigInt(footer.fileBytes));
  buffer.i64(BigInt.asIntN(64, footer.epoch));
  buffer.i64(BigInt(footer.offset));
  const chain = (BigInt(footer.chainHigh >>> 0) << 32n) | BigInt(footer.chainLow >>> 0);
  buffer.i64(BigInt.asIntN(64, chain));
}

/**
 * Parses the payload `bytes[start, end)` of a block that is handed to the loader. Byte arrays are
 * views into `bytes`. Throws `RecordFormatError`.
 */
export function readBlock(
  kind: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): SnapshotBlock {
  const reader = new PayloadReader(bytes, start, end);
  switch (kind) {
    case blockKinds.schema:
      return { kind: 'schema', schema: readSchema(reader) };
    case blockKinds.program:
      return { kind: 'program', bytes: reader.rest() };
    case blockKinds.marks: {
      const sequences = readMarks(reader);
      reader.finish();
      return { kind: 'marks', sequences };
    }
    case blockKinds.rows: {
      const id = tableId(reader.varint());
      const count = reader.varint();
      return { kind: 'rows', tableId: id, rows: { count, bytes: reader.rest() } };
    }
    case blockKinds.derived: {
      const id = tableId(reader.varint());
      const index = indexId(reader.varint());
      const part = imageParts[reader.u8()];
      if (part === undefined) throw new RecordFormatError('an unknown part of an image');
      return {
        kind: 'derived',
        tableId: id,
        piece: { indexId: index, part, bytes: reader.rest() },
      };
    }
    default:
      throw new RecordFormatError(`unknown kind of block: ${kind}`);
  }
}

function readSchema(reader: PayloadReader): SnapshotSchema {
  const schema = {
    programKind: reader.flag() ? ('wasm' as const) : ('js' as const),
    catalog: reader.counted(),
    definition: reader.counted(),
    publishedMicros: BigInt.asIntN(64, reader.wide(1)),
    offset: offsetOf(reader.varint()),
    programBytes: reader.varint(),
  };
  reader.finish();
  return schema;
}

export function readDirectory(bytes: Uint8Array, start: number, end: number): DirectoryEntry[] {
  const reader = new PayloadReader(bytes, start, end);
  const tables: DirectoryEntry[] = [];
  for (let count = reader.varint(); count > 0; count--) {
    const id = tableId(reader.varint());
    const rowCount = reader.varint();
    const rowBytes = reader.varint();
    const blocks: RowBlockPlace[] = [];
    for (let left = reader.varint(); left > 0; left--) {
      const position = reader.varint();
      const length = reader.varint();
      blocks.push({ position, length, rowCount: reader.varint() });
    }
    const isSum = rowCount === blocks.reduce((sum, block) => sum + block.rowCount, 0);
    const isTwice = tables.some((one) => one.tableId === id);
    if (!isSum || isTwice) throw new RecordFormatError(`the entry of table ${id}`);
    tables.push({ tableId: id, rowCount, rowBytes, blocks });
  }
  reader.finish();
  return tables;
}

export function readFooter(bytes: Uint8Array, start: number, end: number): SnapshotFooter {
  const reader = new PayloadReader(bytes, start, end);
  const footer = {
    directoryPosition: Number(reader.wide(1)),
    blockCount: Number(reader.wide(1)),
    fileBytes: Number(reader.wide(1)),
    epoch: epoch(reader.wide(1)),
    offset: offsetOf(Number(reader.wide(1))),
    chain: reader.wide(1),
  };
  reader.finish();
  const { chain, ...rest } = footer;
  const chainLow = Number(BigInt.asIntN(32, chain));
  return { ...rest, chainLow, chainHigh: Number(BigInt.asIntN(32, chain >> 32n)) };
}

/** Whether a footer belongs to the header that stands before it. */
export function isOfPlace(footer: SnapshotFooter, place: SnapshotPlace): boolean {
  return (
    footer.epoch === place.epoch &&
    footer.offset === place.offset &&
    footer.chainLow === place.chainLow &&
    footer.chainHigh === place.chainHigh
  );
}

function offsetOf(raw: number): CommitOffset {
  if (!Number.isSafeInteger(raw)) throw new RecordFormatError(`offset ${raw}`);
  return commitOffset(raw);
}
