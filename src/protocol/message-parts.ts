/** Parts shared by the codecs of all message versions. */
import { querySetQueriesMax } from '../shared-limits.ts';
import { type BinaryReader, DecodeError, tooManyElements } from '../values/binary-reader.ts';
import { BinaryWriter } from '../values/binary-writer.ts';

/**
 * Rows that are already encoded: bytes that are copied into each message whose receiver gets the
 * same rows. Decoding never returns this.
 */
export interface EncodedRows {
  readonly kind: 'encoded';
  readonly bytes: Uint8Array;
}

/** One variant of a sum of messages: its name in the interface and the reader of its fields. */
export interface MessageArm<Message> {
  readonly name: string;
  readonly read: (reader: BinaryReader) => Message;
}

/** A well-formed message that is rejected; its text is sent to the peer unchanged. */
export class RefusedMessageError extends DecodeError {}

/**
 * Reads one message of the sum `sumName`, whose tags are indexes into `arms`; anything after it is
 * left unread. Throws `DecodeError`, whose text names the message and the byte.
 */
export function readTagged<Message>(
  reader: BinaryReader,
  sumName: string,
  arms: readonly MessageArm<Message>[],
): Message {
  const tag = reader.u8();
  const arm = arms[tag];
  if (arm === undefined) throw unknownTagOf(sumName, tag);
  try {
    return arm.read(reader);
  } catch (error) {
    if (!(error instanceof DecodeError) || error instanceof RefusedMessageError) throw error;
    const place = `in ${arm.name} at byte ${reader.offset}`;
    throw new DecodeError(`${error.message}, ${place}`, { cause: error });
  }
}

export function unknownTagOf(sumName: string, tag: number): DecodeError {
  return new DecodeError(`unknown tag 0x${tag.toString(16)} for sum type ${sumName}`);
}

/**
 * Returns the bytes that `write` writes, in a separate buffer. All messages share one writer, so
 * `write` must not call this function; after a large message the writer is released.
 */
export function encodedBy(write: (writer: BinaryWriter) => void): Uint8Array {
  scratch.reset();
  write(scratch);
  const bytes = scratch.finish();
  if (scratch.source.length > scratchBytesKept) scratch = new BinaryWriter();
  return bytes;
}

let scratch = new BinaryWriter();
const scratchBytesKept = 65_536;

/**
 * Reads a count and that many items, each of at least `itemBytesMin` bytes. A count that the
 * remaining bytes cannot hold fails at once.
 */
export function readList<Item>(
  reader: BinaryReader,
  itemBytesMin: number,
  read: (reader: BinaryReader) => Item,
): Item[] {
  return readItems(reader, readCount(reader, itemBytesMin), read);
}

/** Reads the queries of one subscription, at most `querySetQueriesMax`. */
export function readQueries(reader: BinaryReader): string[] {
  const count = readCount(reader, 4);
  checkQueryCount(count);
  return readItems(reader, count, readString);
}

export function checkQueryCount(count: number): void {
  if (count <= querySetQueriesMax) return;
  throw new DecodeError(`${count} queries exceed the ${querySetQueriesMax} of one set`);
}

/** Reads the count of a list, as `readList` does. */
export function readCount(reader: BinaryReader, itemBytesMin: number): number {
  const count = reader.u32();
  if (count * itemBytesMin > reader.remaining) throw tooManyElements(count);
  return count;
}

/** Reads the items of a list whose count was read. */
export function readItems<Item>(
  reader: BinaryReader,
  count: number,
  read: (reader: BinaryReader) => Item,
): Item[] {
  const items: Item[] = [];
  for (let index = 0; index < count; index += 1) items.push(read(reader));
  return items;
}

export function writeList<Item>(
  writer: BinaryWriter,
  items: readonly Item[],
  write: (writer: BinaryWriter, item: Item) => void,
): void {
  writer.u32(items.length);
  for (const item of items) write(writer, item);
}

export function readOption<Item>(
  reader: BinaryReader,
  read: (reader: BinaryReader) => Item,
): Item | undefined {
  const tag = reader.u8();
  if (tag > 1) throw unknownTagOf('option', tag);
  return tag === 0 ? read(reader) : undefined;
}

export function writeOption<Item>(
  writer: BinaryWriter,
  item: Item | undefined,
  write: (writer: BinaryWriter, item: Item) => void,
): void {
  writer.u8(item === undefined ? 1 : 0);
  if (item !== undefined) write(writer, item);
}

/** Reads a count and that many bytes without copying: the result is a view of the input. */
export function readView(reader: BinaryReader): Uint8Array {
  const byteCount = reader.u32();
  const at = reader.claim(byteCount, '[u8]');
  const { buffer, byteOffset } = reader.source;
  return new Uint8Array(buffer, byteOffset + at, byteCount);
}

export function readU32(reader: BinaryReader): number {
  return reader.u32();
}

export function writeU32(writer: BinaryWriter, value: number): void {
  writer.u32(value);
}

export function readString(reader: BinaryReader): string {
  return reader.string();
}

export function writeString(writer: BinaryWriter, text: string): void {
  writer.string(text);
}
