import { RecordHash } from '../log/checksum.ts';
import { chainOf, type LogPoint } from '../log/log-point.ts';
import { isCommitKind, recordBytes, recordHeaderBytes } from '../log/record.ts';

export type RecordsCheck =
  | { readonly kind: 'valid'; readonly end: LogPoint; readonly recordCount: number }
  | { readonly kind: 'invalid'; readonly reason: string };

/**
 * Checks that `bytes` are whole records which continue a log at `from`: the checksum of each, which
 * starts from the log's `salt`, the chain, and the offsets.
 */
export function checkRecords(bytes: Uint8Array, salt: number, from: LogPoint): RecordsCheck {
  if (bytes.length % 8 !== 0) return invalid('its records are not whole', from);
  // Words need a buffer that begins at a multiple of four.
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  const words = new Int32Array(aligned.buffer, aligned.byteOffset, bytes.length / 4);
  const hash = new RecordHash();
  let { position, chain, offset } = from;
  let recordCount = 0;
  for (let at = 0; at < bytes.length; ) {
    const place = { position, chain, offset };
    if (at + recordHeaderBytes > bytes.length) return invalid('a record is cut off', place);
    const word = at >>> 2;
    const length = recordBytes((words[word] as number) >>> 0);
    if (length <= 0 || at + length > bytes.length) return invalid('a record is cut off', place);
    hash.overRecord(words, word, (at + length) >>> 2, salt);
    if (hash.crc !== words[word + 1]) return invalid('the checksum of a record is wrong', place);
    if (chainOf(words[word + 6] as number, words[word + 7] as number) !== chain) {
      return invalid('a record follows another one than it says', place);
    }
    const kind = (words[word + 3] as number) >>> 24;
    const high = (words[word + 3] as number) & 0xff_ffff;
    const found = ((words[word + 2] as number) >>> 0) + high * 0x1_0000_0000;
    const expected = isCommitKind(kind) ? offset + 1 : offset;
    if (found !== expected) return invalid(`an offset is ${found}, not ${expected}`, place);
    offset = found;
    chain = chainOf(hash.chainLow, hash.chainHigh);
    position += length;
    at += length;
    recordCount++;
  }
  return { kind: 'valid', end: { position, chain, offset }, recordCount };
}

/** The bytes of each record in `bytes`, which are whole records. */
export function recordLengths(bytes: Uint8Array): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const lengths: number[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = recordBytes(view.getUint32(at, true));
    lengths.push(length);
    at += length;
  }
  return lengths;
}

function invalid(reason: string, { position, offset }: LogPoint): RecordsCheck {
  const place = `at log position ${position}, after commit ${offset}`;
  return { kind: 'invalid', reason: `${reason}, ${place}` };
}
