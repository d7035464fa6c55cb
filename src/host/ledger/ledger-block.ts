import { crc32c } from '../../log/checksum.ts';
import { BinaryReader, DecodeError } from '../../values/binary-reader.ts';
import { callerIdentity } from '../../values/identity-roles.ts';
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
export const blockMagic = 0x324c_4244;
/** Of blocks without durations, which earlier services wrote. */
const oldBlockMagic = 0x4b4c_4244;
export const blockHeadBytes = 12;
/** More than `limits.ledgerBlockEntriesMax` entries with the longest subjects can take. */
const payloadBytesMax = 16 * 1024 * 1024;

/** In place of an index: an entry without a caller. */
export const nobody = 0xffff;
/** In place of a count of rows, an offset, or a duration. */
export const noNumber = -1;

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
  while (start + blockHeadBytes <= bytes.length) {
    const length = view.getUint32(start + 4, true);
    const end = start + blockHeadBytes + length;
    const magic = view.getUint32(start, true);
    if (magic !== blockMagic && magic !== oldBlockMagic) break;
    if (length > payloadBytesMax) break;
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
  const payload = start + blockHeadBytes;
  const hasDurations = view.getUint32(start, true) === blockMagic;
  if (view.getUint32(start + 8, true) !== crc32c(bytes, payload, end) >>> 0) return undefined;
  try {
    const reader = new BinaryReader(bytes, payload, end);
    const writtenMicros = reader.i64();
    const callers = listOf(reader, () => readCaller(reader));
    const subjects = listOf(reader, () => reader.string());
    const results = listOf(reader, () => reader.string());
    const names = { callers, subjects, results };
    const entries = () => listOf(reader, () => readEntry(reader, names, hasDurations));
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

function readEntry(
  reader: BinaryReader,
  { callers, subjects, results }: Names,
  hasDurations: boolean,
): LedgerEntry {
  const micros = reader.i64();
  const caller = callers[reader.u16()];
  const action = ledgerActions[reader.u8()] ?? 'lost';
  const subject = subjects[reader.u16()] ?? '';
  const result = results[reader.u16()] ?? '';
  const rows = reader.f64();
  const count = reader.u32();
  const offset = reader.f64();
  const durationMillis = hasDurations ? reader.f32() : noNumber;
  return {
    ...{ micros, caller, action, subject, result, count },
    rows: rows < 0 ? undefined : rows,
    offset: offset < 0 ? undefined : offset,
    ...(durationMillis >= 0 && { durationMillis }),
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
