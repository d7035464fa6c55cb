import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { DiskError } from '../log/disk.ts';
import { FolderSpace, noSpaceText } from './folder-space.ts';

it('a folder has the space of its disk, and is left as it was', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-space-'));
  const space = new FolderSpace(folder);
  expect(space.freeBytes()).toBeGreaterThan(0);
  expect(space.has(1)).toBe(true);
  expect(space.has(Number.MAX_SAFE_INTEGER)).toBe(false);
  expect(readdirSync(folder)).toEqual([]);
  rmSync(folder, { recursive: true });
  expect(space.freeBytes()).toBe(undefined);
  expect(space.has(1)).toBe(false);
});

it('a lack of space is reported with the file, if the system names one', () => {
  const error = (code: string, more = {}) => Object.assign(new Error(code), { code, ...more });
  expect(noSpaceText(error('EACCES'), '/data')).toBe(undefined);
  const full = error('ENOSPC', { path: '/data/reducerdb.pid' });
  const text = '/data/reducerdb.pid cannot be written: the disk is full (ENOSPC)';
  expect(noSpaceText(full, '/data')).toBe(text);
  const quota = new Error('no', { cause: new DiskError('write', 'a', error('EDQUOT')) });
  const quotaText = '/data cannot be written: the quota of this user is used up (EDQUOT)';
  expect(noSpaceText(quota, '/data')).toBe(quotaText);
});
