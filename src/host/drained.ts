import type { Writable } from 'node:stream';

/**
 * When a stream on which more than `bytesMax` wait has nothing left to write; `undefined`: it is no
 * more than that already. Asked before each piece of work, it keeps answers from piling up.
 */
export function drained(stream: Writable, bytesMax: number): Promise<void> | undefined {
  if (stream.writableLength <= bytesMax) return undefined;
  return new Promise((resolve) => stream.once('drain', resolve));
}
