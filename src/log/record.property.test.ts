import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { randomRecord, textOf } from '../../test/simulation/log-records.ts';
import { Random } from '../testing/random.ts';
import { RecordHash } from './checksum.ts';
import { decodeRecord } from './decode-record.ts';
import { RecordEncoder } from './encode-record.ts';
import { RecordFormatError } from './payload-reader.ts';
import { type LogRecord, recordHeaderBytes, recordKinds } from './record.ts';
import { RecordBuffer } from './record-buffer.ts';

describe('a record', () => {
  it('[durability 3, P3, abi 10.5] reads back as it was written, several after another', () => {
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 1, max: 5 }), (seed, count) => {
        const random = new Random(seed);
        const buffer = new RecordBuffer(1, 2);
        const written = Array.from({ length: count }, (_, index) => {
          const record = randomRecord(random, index + 1, true);
          encode(buffer, record, index + 1);
          return textOf(record);
        });
        expect(decodeAll(buffer.bytes()).map(textOf)).toEqual(written);
      }),
    );
  });

  it('holds each sequence value exactly', () => {
    const values = [0n, 1n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 63n, 2n ** 64n - 1n];
    values.push(2n ** 127n, -(2n ** 127n), 2n ** 128n - 1n, 2n ** 256n - 1n, -(2n ** 255n));
    const sequences = values.map((value, index) => ({ id: index * 1000, value }));
    const buffer = new RecordBuffer(0, 0);
    new RecordEncoder().marks(buffer, sequences);
    end(buffer, recordKinds.marks, 0);
    expect(decodeAll(buffer.bytes())).toEqual([{ kind: 'marks', sequences }]);
  });

  it('larger than the buffer makes it grow, and is the same', () => {
    const random = new Random(5);
    const program = random.bytes(3_000_000);
    const record = { ...randomRecord(random, 1), kind: 'schema' as const };
    const schema = {
      catalog: program.slice(0, 9),
      definition: program.slice(9, 12),
      programKind: 'wasm' as const,
      program,
      defaults: [],
    };
    const buffer = new RecordBuffer(0, 0);
    const encoder = new RecordEncoder();
    encoder.marks(buffer, [{ id: 1, value: 1n }]);
    end(buffer, recordKinds.marks, 0);
    encoder.schema(buffer, schema, { changes: undefined, inputs: record.inputs });
    end(buffer, recordKinds.schema, 1);
    const [first, second] = decodeAll(buffer.bytes());
    expect(first?.kind).toBe('marks');
    if (second?.kind !== 'schema') throw new Error('not a schema record');
    expect({ ...second.schema, program: undefined }).toEqual({ ...schema, program: undefined });
    expect(Buffer.compare(second.schema.program, program)).toBe(0);
  });

  it('cut short or of an unknown kind is refused, and reads nothing behind its end', () => {
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const random = new Random(seed);
        const buffer = new RecordBuffer(0, 0);
        const record = randomRecord(random, 1);
        encode(buffer, record, 1);
        const bytes = buffer.bytes().slice();
        const end = recordHeaderBytes + new DataView(bytes.buffer).getUint32(0, true);
        const cut = random.between(recordHeaderBytes, end - 1);
        const kind = recordKinds[record.kind];
        const decode = (last: number) => {
          const found = decodeRecord(kind, 1, bytes, recordHeaderBytes, last);
          if (found !== undefined) textOf(found);
        };
        expect(() => decode(cut)).toThrow(RecordFormatError);
        expect(() => decodeRecord(9, 1, bytes, recordHeaderBytes, end)).toThrow('unknown kind');
      }),
    );
  });
});

function encode(buffer: RecordBuffer, record: ReturnType<typeof randomRecord>, offset: number) {
  const encoder = new RecordEncoder();
  if (record.kind === 'marks') encoder.marks(buffer, record.sequences);
  else if (record.kind === 'commit') encoder.commit(buffer, record.changes, record.inputs);
  else if (record.kind === 'staged') encoder.staged(buffer, record.staged);
  else encoder.schema(buffer, record.schema, record);
  const isMigration = record.kind === 'schema' && record.migration !== undefined;
  end(buffer, recordKinds[isMigration ? 'migration' : record.kind], offset);
}

function end(buffer: RecordBuffer, kind: number, offset: number): void {
  buffer.end({ kind, offset, durablePosition: 2 ** 40 + 1, salt: 77 });
}

/** Parses records by the table in `record.ts`, without the reader of segments. */
function decodeAll(bytes: Uint8Array): LogRecord[] {
  const copy = bytes.slice();
  const view = new DataView(copy.buffer);
  const records: LogRecord[] = [];
  for (let at = 0; at < copy.length; ) {
    const payloadBytes = view.getUint32(at, true);
    const length = Math.ceil((recordHeaderBytes + payloadBytes) / 8) * 8;
    const hash = new RecordHash();
    hash.overRecord(new Int32Array(copy.buffer), at / 4, (at + length) / 4, 77);
    expect(view.getInt32(at + 4, true)).toBe(hash.crc);
    const word = view.getBigUint64(at + 8, true);
    const offset = Number(word & 0xff_ffff_ffff_ffffn);
    expect(view.getBigUint64(at + 16, true)).toBe(2n ** 40n + 1n);
    const start = at + recordHeaderBytes;
    const record = decodeRecord(Number(word >> 56n), offset, copy, start, start + payloadBytes);
    if (record !== undefined) records.push(record);
    at += length;
  }
  return records;
}
