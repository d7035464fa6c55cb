import v8 from 'node:v8';
import { expect, it } from 'vitest';
import { HeapCare } from './heap-care.ts';

const mebibyte = 2 ** 20;

it('[living 5.8] does not take buffers that a migration has let go for those of a module', () => {
  // What others have left is collected first.
  const none = { heldBytes: () => 0, statementBytes: () => 0 };
  new HeapCare({ heapBytesMax: 0, bufferBytesMax: 0 }, none).over();
  const { external_memory: before } = v8.getHeapStatistics();
  const limits = { heapBytesMax: Number.POSITIVE_INFINITY, bufferBytesMax: 64 * mebibyte };
  const others = { heldBytes: () => before, statementBytes: () => 0 };
  const made = (): Uint8Array[] => {
    return Array.from({ length: 16 * 128 }, () => new Uint8Array(mebibyte / 16).fill(1));
  };
  let buffers: Uint8Array[] | undefined = made();
  expect(new HeapCare(limits, others).over()).toBe('buffers');
  expect(buffers).toHaveLength(16 * 128);
  buffers = undefined;
  expect(new HeapCare(limits, others).over()).toBeUndefined();
});
