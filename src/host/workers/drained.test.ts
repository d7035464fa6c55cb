import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { drained } from './drained.ts';

it('waits until everything is written, once too much has piled up', async () => {
  const stream = new PassThrough();
  stream.write(Buffer.alloc(900_000));
  expect(drained(stream, 1_000_000)).toBeUndefined();
  stream.write(Buffer.alloc(900_000));
  let hasDrained = false;
  const waiting = drained(stream, 1_000_000)?.then(() => {
    hasDrained = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(hasDrained).toBe(false);
  stream.resume();
  await waiting;
  expect(stream.writableLength).toBe(0);
  expect(drained(stream, 1_000_000)).toBeUndefined();
});
