import { expect, it } from 'vitest';
import { closeFrame, FrameEnds } from './frame-ends.ts';

/** A frame of a server with a payload of this many bytes. */
function frame(byteCount: number, opcode = 2): Buffer {
  const payload = Buffer.alloc(byteCount, 0x88);
  if (byteCount < 126) return Buffer.concat([Buffer.from([0x80 | opcode, byteCount]), payload]);
  const head = Buffer.alloc(byteCount < 65_536 ? 4 : 10);
  head[0] = 0x80 | opcode;
  head[1] = byteCount < 65_536 ? 126 : 127;
  if (byteCount < 65_536) head.writeUInt16BE(byteCount, 2);
  else head.writeBigUInt64BE(BigInt(byteCount), 2);
  return Buffer.concat([head, payload]);
}

it('[replication 11.7] the end of each frame is known, however its bytes are cut', () => {
  const sizes = [0, 1, 125, 126, 127, 65_535, 65_536, 70_001];
  const stream = Buffer.concat(sizes.map((size) => frame(size)));
  const ends = new Set<number>([0]);
  let at = 0;
  for (const size of sizes) {
    at += frame(size).length;
    ends.add(at);
  }
  for (const step of [1, 3, 7, 4_096, stream.length]) {
    const seen = new FrameEnds();
    for (let from = 0; from < stream.length; from += step) {
      seen.push(stream.subarray(from, from + step));
      const end = Math.min(from + step, stream.length);
      expect([step, end, seen.isAtEnd]).toEqual([step, end, ends.has(end)]);
    }
    expect(seen.hasClosed).toBe(false);
  }
});

it('[replication 11.7] a close frame that has passed is known', () => {
  const seen = new FrameEnds();
  seen.push(frame(3));
  seen.push(closeFrame(1012, 'go'));
  expect([seen.hasClosed, seen.isAtEnd]).toEqual([true, true]);
  expect([...closeFrame(1012, 'go')]).toEqual([0x88, 4, 3, 0xf4, 0x67, 0x6f]);
});
