import { crc32c } from '../../log/checksum.ts';
import { BinaryReader, DecodeError } from '../../values/binary-reader.ts';
import { BinaryWriter } from '../../values/binary-writer.ts';
import { type CallerIdentity, callerIdentity } from '../../values/identity-roles.ts';
import { type LedgerCaller, type LedgerEntry, ledgerActions } from './ledger-entry.ts';

/**
 * Blocks of the files of a ledger (docs/format/ledger.md). A block stands alone: it holds the
 * callers, subjects and results that its entries refer to, each once.
 *
 * ```
 * magic u32 · byte length of the payload u32 · CRC-32C of the payload u32 · payload
 * payload: when it was written i64 · callers · subjects · results · entries
 * ```
 */
const magic = 0x4b4c_4244;
const headBytes = 12;
/** More than `limits.ledgerBlockEntriesMax` entries with the longest subjects can take. */
const payloadBytesMax = 16 * 1024 * 1024;

/** In place of an index: an entry without a caller. */
const nobody = 0xffff;
/** In place of a count of rows, or an offset. */
const none = -1;

/** At most `limits.ledgerBlockEntriesMax` entries. */
export function encodeBlock(entries: readonly LedgerEntry[], writtenMicros: bigint): Uint8Array {
  const callers = new Callers();
  const subjects = new Texts();
  const results = new Texts();
  const body = new BinaryWriter(entries.length * 40);
  for (const { micros, caller, action, subject, result, rows, count, offset } of entries) {
    body.i64(micros);
    body.u16(caller === undefined ? nobody : callers.indexOf(caller));
    body.u8(ledgerActions.indexOf(action));
    body.u16(subjects.indexOf(subject));
    body.u16(results.indexOf(result));
    body.f64(rows ?? none);
    body.u32(count);
    body.f64(offset ?? none);
  }
  const writer = new BinaryWriter(body.view().length + 4096);
  for (const number of [magic, 0, 0]) writer.u32(number);
  writer.i64(writtenMicros);
  callers.write(writer);
  subjects.write(writer);
  results.write(writer);
  writer.u16(entries.length);
  writer.raw(body.view());
  const bytes = writer.finish();
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  view.setUint32(4, bytes.length - headBytes, true);
  view.setUint32(8, crc32c(bytes, headBytes) >>> 0, true);
  return bytes;
}

/** Where a block is in the bytes of a file. */
export interface BlockPlace {
  readonly start: number;
  readonly end: number;
}

/** The blocks of a file that are whole; `isDamaged`: something else follows them. */
export function blocksIn(bytes: Uint8Array): {
  readonly places: readonly BlockPlace[];
  readonly isDamaged: boolean;
} {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const places: BlockPlace[] = [];
  let start = 0;
  while (start + headBytes <= bytes.length) {
    const length = view.getUint32(start + 4, true);
    const end = start + headBytes + length;
    if (view.getUint32(start, true) !== magic || length > payloadBytesMax) break;
    if (end > bytes.length) break;
    places.push({ start, end });
    start = end;
  }
  return { places, isDamaged: start < bytes.length };
}

/** What is in front of the entries of a block; they are decoded when they are wanted. */
export interface ReadBlock {
  readonly writtenMicros: bigint;
  readonly callers: readonly LedgerCaller[];
  entries(): readonly LedgerEntry[];
}

/** `undefined`: the block is damaged. */
export function readBlock(bytes: Uint8Array, { start, end }: BlockPlace): ReadBlock | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const payload = start + headBytes;
  if (view.getUint32(start + 8, true) !== crc32c(bytes, payload, end) >>> 0) return undefined;
  try {
    const reader = new BinaryReader(bytes, payload, end);
    const writtenMicros = reader.i64();
    const callers = listOf(reader, () => readCaller(reader));
    const subjects = listOf(reader, () => reader.string());
    const results = listOf(reader, () => reader.string());
    const entries = () => listOf(reader, () => readEntry(reader, { callers, subjects, results }));
    return { writtenMicros, callers, entries };
  } catch (error) {
    if (error instanceof DecodeError) return undefined;
    throw error;
  }
}

interface Names {
  readonly callers: readonly LedgerCaller[];
  readonly subjects: readonly string[];
  readonly results: readonly string[];
}

function readEntry(reader: BinaryReader, { callers, subjects, results }: Names): LedgerEntry {
  const micros = reader.i64();
  const caller = callers[reader.u16()];
  const action = ledgerActions[reader.u8()] ?? 'lost';
  const subject = subjects[reader.u16()] ?? '';
  const result = results[reader.u16()] ?? '';
  const rows = reader.f64();
  const count = reader.u32();
  const offset = reader.f64();
  return {
    ...{ micros, caller, action, subject, result, count },
    rows: rows < 0 ? undefined : rows,
    offset: offset < 0 ? undefined : offset,
  };
}

function listOf<Item>(reader: BinaryReader, read: () => Item): Item[] {
  return Array.from({ length: reader.u16() }, read);
}

function readCaller(reader: BinaryReader): LedgerCaller {
  const identity = callerIdentity(reader.u256());
  const token = reader.string();
  const maker = reader.u256();
  if (token === '' && maker === 0n) return { identity };
  return {
    identity,
    ...(token !== '' && { token }),
    ...(maker !== 0n && { maker: callerIdentity(maker) }),
  };
}

/** Texts that entries refer to by number. */
class Texts {
  readonly #numbers = new Map<string, number>();

  indexOf(text: string): number {
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    this.#numbers.set(text, this.#numbers.size);
    return this.#numbers.size - 1;
  }

  write(writer: BinaryWriter): void {
    writer.u16(this.#numbers.size);
    for (const text of this.#numbers.keys()) writer.string(text);
  }
}

/** A limited token has an identity of its own, so that an identity is one caller. */
class Callers {
  readonly #numbers = new Map<CallerIdentity, number>();
  readonly #callers: LedgerCaller[] = [];

  indexOf(caller: LedgerCaller): number {
    const known = this.#numbers.get(caller.identity);
    if (known !== undefined) return known;
    this.#numbers.set(caller.identity, this.#callers.length);
    return this.#callers.push(caller) - 1;
  }

  write(writer: BinaryWriter): void {
    writer.u16(this.#callers.length);
    for (const { identity, token = '', maker = 0n } of this.#callers) {
      writer.u256(identity);
      writer.string(token);
      writer.u256(maker);
    }
  }
}
