import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { isTrustedFolder, readTrusted } from './trusted-file.ts';

const root = fs.mkdtempSync(path.join(os.tmpdir(), 'reducerdb-trusted-'));
afterAll(() => fs.rmSync(root, { recursive: true }));

const hasUsers = process.geteuid !== undefined;

describe.skipIf(!hasUsers)('a file that this process would run', () => {
  let folder = '';
  let file = '';

  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(root, 'folder-'));
    file = path.join(folder, 'code');
    fs.writeFileSync(file, 'code', { mode: 0o644 });
  });

  const read = async (bytesMax = 4) => (await readTrusted(file, bytesMax))?.toString();

  it('is read where nobody else can write to it', async () => {
    expect(await read()).toBe('code');
    expect(await isTrustedFolder(folder)).toBe(true);
  });

  it.each([0o664, 0o646])('is not trusted with the mode %o', async (mode) => {
    fs.chmodSync(file, mode);
    expect(await read()).toBeUndefined();
  });

  it.each([0o770, 0o707, 0o1777])('is not trusted in a folder with the mode %o', async (mode) => {
    fs.chmodSync(folder, mode);
    expect(await read()).toBeUndefined();
    expect(await isTrustedFolder(folder)).toBe(false);
  });

  it('is not trusted as a link, nor behind one', async () => {
    const other = path.join(folder, 'other');
    fs.renameSync(file, other);
    fs.symlinkSync(other, file);
    expect(await read()).toBeUndefined();
    const link = path.join(root, `${path.basename(folder)}-link`);
    fs.symlinkSync(folder, link);
    expect(await readTrusted(path.join(link, 'other'), 4)).toBeUndefined();
  });

  it('is not read when it is missing, too long, or not a file', async () => {
    expect(await read(3)).toBeUndefined();
    fs.rmSync(file);
    expect(await read()).toBeUndefined();
    fs.mkdirSync(file);
    expect(await read()).toBeUndefined();
    expect(await isTrustedFolder(path.join(folder, 'none'))).toBe(false);
  });

  it.skipIf(process.geteuid?.() !== 0)('is not trusted when it is of another user', async () => {
    fs.chownSync(file, 12_345, 0);
    expect(await read()).toBeUndefined();
    fs.chownSync(file, 0, 0);
    fs.chownSync(folder, 12_345, 0);
    expect(await read()).toBeUndefined();
  });
});
