import type { Writable } from 'node:stream';

/**
 * Resolves when a stream with more than `bytesMax` queued bytes has nothing left to write;
 * `undefined`: no more than that is queued. Checked before each piece of work, it keeps answers
 * from piling up.
 */
export function drained(stream: Writable, bytesMax: number): Promise<void> | undefined {
  if (stream.writableLength <= bytesMax) return undefined;
  return new Promise((resolve) => stream.once('drain', resolve));
}
