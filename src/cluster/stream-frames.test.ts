import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clusterId, logName } from '../shared-log/log-name.ts';
import { databaseIdentity } from '../values/identity-roles.ts';
import { encodeStreamFrame, type StreamFrame, StreamFrames } from './stream-frames.ts';

const log = logName(clusterId(3n), databaseIdentity(9n), 2);

const bytes = (maxLength: number) => fc.uint8Array({ maxLength });
const frame: fc.Arbitrary<StreamFrame> = fc.oneof(
  fc.constant({ kind: 'alive' as const }),
  fc.constantFrom('want' as const, 'leave' as const, 'begun' as const).map((kind) => ({
    kind,
    log,
  })),
  fc
    .record({ seq: fc.maxSafeNat(), after: bytes(200), bytes: bytes(3_000) })
    .map((entry) => ({ kind: 'entry' as const, log, entry })),
);

describe('frames of a stream of entries', () => {
  it('[replication 6.3] come as they were sent, however the stream is cut', () => {
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 8 }), fc.array(fc.nat(400)), (sent, cuts) => {
        const stream = Buffer.concat(sent.map(encodeStreamFrame));
        const reader = new StreamFrames();
        const got: StreamFrame[] = [];
        let at = 0;
        for (const cut of [...cuts, stream.length]) {
          got.push(...reader.take(stream.subarray(at, at + cut)));
          at = Math.min(stream.length, at + cut);
        }
        expect(got).toEqual(sent);
      }),
    );
  });

  it('[replication 6.3] are refused when they are none, and never kept without a bound', () => {
    const words = (...numbers: number[]) => Buffer.from(Uint32Array.from(numbers).buffer);
    expect(() => new StreamFrames().take(words(0, 0))).toThrow('a frame of 0 bytes');
    expect(() => new StreamFrames().take(words(0xffff_ffff, 4))).toThrow('a frame of 4294967295');
    // A kind that is none, a name that is cut off, an entry whose parts are longer than it is.
    expect(() => new StreamFrames().take(Buffer.from([1, 0, 0, 0, 9]))).toThrow('no frame');
    expect(() => new StreamFrames().take(Buffer.from([2, 0, 0, 0, 1, 7]))).toThrow('no frame');
    const entry = { seq: 1, after: new Uint8Array(0), bytes: new Uint8Array(4) };
    const wrong = encodeStreamFrame({ kind: 'entry', log, entry });
    wrong.writeUInt16LE(500, 5 + 56 + 8);
    expect(() => new StreamFrames().take(wrong)).toThrow('no entry');
  });

  it('[replication 6.3] survive any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (noise) => {
        try {
          new StreamFrames().take(Buffer.from(noise));
        } catch (error) {
          expect(String(error)).toMatch(/no (?:frame|entry) of a stream|a frame of \d+ bytes/);
        }
      }),
    );
  });
});
