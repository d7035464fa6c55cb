import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import {
  makeDirectoryDurably,
  readFileIfPresent,
  removeFileDurably,
  writeFileAtomically,
} from './atomic-file.ts';

const root = fs.mkdtempSync(path.join(os.tmpdir(), 'reducerdb-files-'));
afterAll(() => fs.rmSync(root, { recursive: true }));

describe('a file written atomically', () => {
  let directory = '';
  let file = '';

  beforeEach(() => {
    directory = fs.mkdtempSync(path.join(root, 'data-'));
    file = path.join(directory, 'metadata.json');
  });

  it('[durability W6] is created, replaced and removed, with nothing left beside it', async () => {
    expect(await readFileIfPresent(file)).toBeUndefined();
    await writeFileAtomically(file, 'first');
    expect(String(await readFileIfPresent(file))).toBe('first');
    await writeFileAtomically(file, Uint8Array.of(1, 2));
    expect([...((await readFileIfPresent(file)) ?? [])]).toEqual([1, 2]);
    expect(fs.readdirSync(directory)).toEqual(['metadata.json']);
    await removeFileDurably(file);
    await removeFileDurably(file);
    expect(fs.readdirSync(directory)).toEqual([]);
  });

  it('has the mode asked for, also when it replaces another', async () => {
    await writeFileAtomically(file, 'open');
    await writeFileAtomically(file, 'secret', 0o600);
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
  });

  it('is one of the contents, whole, when two write it at once', async () => {
    const contents = Array.from({ length: 8 }, (_, index) => String(index).repeat(10_000));
    await Promise.all(contents.map((content) => writeFileAtomically(file, content)));
    expect(contents).toContain(String(await readFileIfPresent(file)));
    expect(fs.readdirSync(directory)).toEqual(['metadata.json']);
  });

  it('leaves the old one and no remains when it cannot be replaced', async () => {
    fs.mkdirSync(file);
    await expect(writeFileAtomically(file, 'x')).rejects.toThrow();
    expect(fs.readdirSync(directory)).toEqual(['metadata.json']);
    await expect(readFileIfPresent(file)).rejects.toThrow('EISDIR');
  });

  it('goes into a directory made with all that lead to it', async () => {
    const deep = path.join(directory, 'a', 'b', 'c');
    await makeDirectoryDurably(deep);
    await makeDirectoryDurably(deep);
    await writeFileAtomically(path.join(deep, 'x'), 'y');
    expect(fs.readdirSync(deep)).toEqual(['x']);
  });
});
