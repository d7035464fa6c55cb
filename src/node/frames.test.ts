import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chunksOf } from '../../test/support/chunks-of.ts';
import { FrameReader, framed } from './frames.ts';

const bytesMax = 200_000;
const lengthEnd = 2 ** 32;

describe('frames', () => {
  it('arrive whole and in order, however the stream is cut', () => {
    const body = fc.oneof(
      fc.uint8Array({ maxLength: 20 }),
      fc.integer({ min: 60_000, max: 80_000 }).map((length) => new Uint8Array(length).fill(7)),
    );
    const frame = fc.record({ kind: fc.integer({ min: 0, max: 255 }), body });
    const lengths = fc.array(fc.integer({ min: 1, max: 90_000 }), { minLength: 1 });
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 6 }), lengths, (frames, cut) => {
        const pieces = frames.flatMap(({ kind, body }) => framed(kind, [body], bytesMax));
        const reader = new FrameReader(bytesMax);
        const received: { kind: number; body: string }[] = [];
        for (const chunk of chunksOf(Buffer.concat(pieces), cut)) {
          reader.push(chunk, (kind, bytes) => {
            received.push({ kind, body: bytes.toString('latin1') });
          });
        }
        const sent = frames.map(({ kind, body }) => ({
          kind,
          body: Buffer.from(body).toString('latin1'),
        }));
        expect(received).toEqual(sent);
      }),
      { numRuns: 100 },
    );
  });

  it('may be as long as the bound, and are refused before they come when longer, or empty', () => {
    const head = (byteCount: number) => {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32LE(byteCount, 0);
      return bytes;
    };
    const lengths: number[] = [];
    const push = (...chunks: readonly Uint8Array[]) => {
      const reader = new FrameReader(10);
      for (const chunk of chunks) {
        reader.push(Buffer.from(chunk), (_, body) => lengths.push(body.length));
      }
    };
    push(...framed(1, [new Uint8Array(9)], 10));
    expect(lengths).toEqual([9]);
    expect(() => push(head(11))).toThrow('a frame of 11 bytes');
    expect(() => push(head(lengthEnd - 1))).toThrow('a frame of 4294967295 bytes');
    expect(() => push(head(0))).toThrow('a frame of 0 bytes');
    expect(lengths).toEqual([9]);
    expect(() => framed(1, [new Uint8Array(10)], 10)).toThrow('not longer than its reader takes');
  });
});
