import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { lowSignedSince } from './low-signed.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-low-signed-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const now = () => Math.floor(Date.now() / 1000);

it('[auth 2.3] a new key pair has signed low from the beginning', async () => {
  expect(await lowSignedSince(folder, true)).toBe(0);
  // The second start finds the existing pair.
  expect(await lowSignedSince(folder, false)).toBe(0);
});

it('[auth 2.3] an older pair signs low from the first start on, for good', async () => {
  const before = now();
  const since = await lowSignedSince(folder, false);
  expect(since).toBeGreaterThanOrEqual(before);
  writeFileSync(path.join(folder, 'low-signed-since'), `${since - 100}\n`);
  expect(await lowSignedSince(folder, false)).toBe(since - 100);
});

it('[auth 2.3] without a data folder nothing is written', async () => {
  expect(await lowSignedSince(undefined, true)).toBe(0);
  expect(await lowSignedSince(undefined, false)).toBeGreaterThan(0);
  expect(readdirSync(folder)).toEqual([]);
});
