import { decodeRecord } from './decode-record.ts';
import { type LogRecord, recordBytes, recordHeaderBytes } from './record.ts';

/**
 * The records in `bytes`, which are whole ones that were checked. Byte arrays in them are views.
 */
export function* recordsIn(bytes: Uint8Array): Generator<LogRecord> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at < bytes.length; ) {
    const payloadBytes = view.getUint32(at, true);
    const high = view.getUint32(at + 12, true);
    const offset = view.getUint32(at + 8, true) + (high & 0xff_ffff) * 0x1_0000_0000;
    const start = at + recordHeaderBytes;
    const record = decodeRecord(high >>> 24, offset, bytes, start, start + payloadBytes);
    if (record !== undefined) yield record;
    at += recordBytes(payloadBytes);
  }
}
