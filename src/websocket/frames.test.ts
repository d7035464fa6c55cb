import { describe, expect, it } from 'vitest';
import { frameChunks } from './frames.ts';
import { closeReason } from './socket.ts';

describe('a frame', () => {
  it.each([
    [0, '8201'],
    [124, '827d'],
    [125, '827e007e'],
    [65_534, '827effff'],
    [65_535, '827f0000000000010000'],
    [70_000, '827f0000000000011171'],
  ])('of %i bytes and a tag begins with its length', (length, head) => {
    const body = new Uint8Array(length).fill(7);
    const bytes = Buffer.concat(frameChunks('binary', 2, [body.subarray(0, 1), body.subarray(1)]));
    expect(bytes.subarray(0, head.length / 2).toString('hex')).toBe(head);
    expect(bytes[head.length / 2]).toBe(2);
    expect(bytes.subarray(head.length / 2 + 1).equals(body)).toBe(true);
  });

  it('of text has no tag', () => {
    const [bytes] = frameChunks('text', undefined, [Buffer.from('hi')]);
    expect(Buffer.from(bytes ?? []).toString('hex')).toBe('81026869');
  });

  it('does not copy a large body', () => {
    const body = new Uint8Array(20_000);
    expect(frameChunks('binary', 0, [body])[1]).toBe(body);
  });
});

describe('the reason of a close', () => {
  it('[websocket 11] is cut to 123 bytes, between characters', () => {
    expect(closeReason('x'.repeat(200))).toBe('x'.repeat(123));
    expect(closeReason('ä'.repeat(100))).toBe('ä'.repeat(61));
    expect(closeReason('no')).toBe('no');
  });
});
