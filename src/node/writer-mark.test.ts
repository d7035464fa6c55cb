import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../limits.ts';
import { DiskError } from '../log/disk.ts';
import { WriterError } from '../log/log-error.ts';
import { type DirectoryLock, DirectoryLockedError } from './directory-lock.ts';
import { claimWriter, WriterCheck } from './writer-mark.ts';

const root = fs.mkdtempSync(path.join(os.tmpdir(), 'reducerdb-writer-'));
/** Longer than any test: a wait that should not happen would not end. */
const longMillis = 3_600_000;
let directory = '';
let file = '';

afterAll(() => fs.rmSync(root, { recursive: true }));
beforeEach(() => {
  directory = fs.mkdtempSync(path.join(root, 'data-'));
  file = path.join(directory, 'reducerdb.writer');
});

const lock = (more: Partial<DirectoryLock> = {}): DirectoryLock => ({
  directory,
  kind: 'flock',
  isFormerOwnerGone: false,
  release: () => undefined,
  ...more,
});

describe('the mark of who writes', () => {
  it('is there until it is released, for its own user alone', async () => {
    const claim = await claimWriter(lock({ kind: 'file' }), longMillis);
    expect(fs.readFileSync(file, 'utf8')).toBe(claim.place.content);
    if (process.platform !== 'win32') expect(fs.statSync(file).mode & 0o077).toBe(0);
    claim.release();
    expect(fs.readdirSync(directory)).toEqual([]);
  });

  it('is left alone by a service that has lost it', async () => {
    const first = await claimWriter(lock());
    const second = await claimWriter(lock());
    first.release();
    expect(fs.readFileSync(file, 'utf8')).toBe(second.place.content);
    second.release();
    expect(fs.readdirSync(directory)).toEqual([]);
  });

  it.each<[string, Partial<DirectoryLock>, Partial<DirectoryLock>]>([
    ['both use the lock of the kernel', { kind: 'flock' }, { kind: 'flock' }],
    ['the process before is gone', { kind: 'file' }, { kind: 'file', isFormerOwnerGone: true }],
  ])('is replaced at once where %s', async (_where, before, now) => {
    await claimWriter(lock(before));
    const { place } = await claimWriter(lock(now), longMillis);
    expect(fs.readFileSync(file, 'utf8')).toBe(place.content);
  });

  it.each<[Partial<DirectoryLock>, Partial<DirectoryLock>]>([
    [{ kind: 'flock' }, { kind: 'file' }],
    [{ kind: 'file' }, { kind: 'flock' }],
  ])('is replaced, then waited for, where %j may still write and %j comes', async (one, other) => {
    await claimWriter(lock(one));
    const waiting = claimWriter(lock(other), 200);
    const { place } = await claimWriter(lock({ isFormerOwnerGone: true }));
    await expect(waiting).rejects.toThrow(DirectoryLockedError);
    expect(fs.readFileSync(file, 'utf8')).toBe(place.content);
    const alone = await claimWriter(lock({ kind: 'file' }), 1);
    expect(fs.readFileSync(file, 'utf8')).toBe(alone.place.content);
  });
});

describe('looking at the mark', () => {
  it('finds that of another service, at most one interval late, or at once', async () => {
    const { place } = await claimWriter(lock());
    let now = 0;
    const checks = [0, 1].map(() => new WriterCheck(place, () => now));
    for (const check of checks) check.check(false);
    await claimWriter(lock());
    now += limits.writerCheckMillis - 1;
    checks[0]?.check(false);
    expect(() => checks[1]?.check(true)).toThrow('another service has taken over the data folder');
    now += 1;
    for (const check of checks) expect(() => check.check(false)).toThrow(WriterError);
  });

  it('does not go on without it', async () => {
    const claim = await claimWriter(lock());
    const check = new WriterCheck(claim.place);
    check.check(true);
    claim.release();
    expect(() => check.check(true)).toThrow(/`reducerdb.writer`.* is gone/);
  });

  it('knows its own after it was copied back', async () => {
    const { place } = await claimWriter(lock());
    const check = new WriterCheck(place);
    check.check(true);
    fs.renameSync(file, `${file}.old`);
    fs.copyFileSync(`${file}.old`, file);
    check.check(true);
  });

  it('reports a mark that cannot be read as a fault of the disk', async () => {
    const { place } = await claimWriter(lock());
    fs.rmSync(file);
    fs.mkdirSync(file);
    expect(() => new WriterCheck(place).check(true)).toThrow(DiskError);
  });
});
