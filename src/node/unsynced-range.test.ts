import { describe, expect, it } from 'vitest';
import { UnsyncedRange } from './unsynced-range.ts';

const rewritten = (range: UnsyncedRange) => {
  const pieces: [number, number][] = [];
  const isDone = range.rewrite((position, length) => pieces.push([position, length]));
  return isDone ? pieces : 'refused';
};

describe('the range of a file that is not synced', () => {
  it('is what was written, once', () => {
    const range = new UnsyncedRange();
    range.wrote(100, 20);
    range.wrote(120, 5);
    expect(rewritten(range)).toEqual([[100, 25]]);
    expect(rewritten(range)).toEqual([]);
    range.wrote(125, 1);
    expect(rewritten(range)).toEqual([[125, 1]]);
  });

  it('is in pieces after a write elsewhere or a change of size, until a sync', async () => {
    for (const spoil of [
      (range: UnsyncedRange) => range.wrote(300, 1),
      (range: UnsyncedRange) => range.wrote(100, 20),
      (range: UnsyncedRange) => range.changed(),
    ]) {
      const range = new UnsyncedRange();
      range.wrote(100, 20);
      spoil(range);
      expect(rewritten(range)).toBe('refused');
      await range.during(Promise.resolve());
      expect(rewritten(range)).toEqual([]);
    }
  });

  it('is too long to be written twice', () => {
    const range = new UnsyncedRange();
    range.wrote(0, 64 * 1024);
    expect(rewritten(range)).toEqual([[0, 64 * 1024]]);
    range.wrote(0, 64 * 1024 + 1);
    expect(rewritten(range)).toBe('refused');
  });

  it('waits for a sync that runs, and holds what is written meanwhile', async () => {
    const range = new UnsyncedRange();
    range.wrote(0, 10);
    const { promise, resolve } = withResolvers();
    const sync = range.during(promise);
    range.wrote(10, 5);
    expect(rewritten(range)).toBe('refused');
    resolve();
    await sync;
    expect(rewritten(range)).toEqual([[10, 5]]);
  });

  it('is not known after a sync that failed', async () => {
    const range = new UnsyncedRange();
    range.wrote(0, 10);
    await expect(range.during(Promise.reject(new Error('EIO')))).rejects.toThrow('EIO');
    expect(rewritten(range)).toBe('refused');
  });
});

function withResolvers() {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
