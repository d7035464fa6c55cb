import { createHash } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LinkedProgram } from '../../module/runner.ts';
import { toHex } from '../../values/hex.ts';
import { findKept, KeptPrograms, readKept } from './kept-programs.ts';
import { encodeLinked, linkedFileName } from './linked-file.ts';
import { linkerVersion } from './linker-version.ts';

const program: LinkedProgram = {
  script: 'module.exports = "é";',
  sourceMap: '{}',
  seed: new Uint8Array(32).fill(7),
  imports: ['a', 'b'],
};
const hashOf = (byte: number) => new Uint8Array(32).fill(byte);
const originOf = (byte: number) => ({
  programHash: hashOf(byte),
  linkerVersion: linkerVersion(),
});
const linked = (byte: number) => encodeLinked(program, originOf(byte));

describe('the linked programs of a database', () => {
  let root: string;
  let kept: KeptPrograms;
  let warnings: string[];

  const read = (byte: number, version = toHex(linkerVersion())) =>
    readKept({ folder: kept.folder, linkerVersion: version }, hashOf(byte), (text) =>
      warnings.push(text),
    );
  const file = (byte: number) => path.join(kept.folder, linkedFileName(originOf(byte)));

  beforeEach(() => {
    root = mkdtempSync(path.join(tmpdir(), 'reducerdb-kept-'));
    kept = new KeptPrograms(path.join(root, 'programs'));
    warnings = [];
  });
  afterEach(() => rmSync(root, { recursive: true }));

  it('are read as they were written, by nobody else on the machine', async () => {
    expect(read(1)).toBe(undefined);
    await kept.keep(linked(1));
    expect(read(1)).toEqual(program);
    expect(statSync(file(1)).mode & 0o777).toBe(0o600);
    expect(statSync(kept.folder).mode & 0o777).toBe(0o700);
    expect(warnings).toEqual([]);
  });

  it('are found by the program, without its hash', async () => {
    const bytes = new Uint8Array([1, 2, 3]);
    const seed = createHash('sha256').update(bytes).digest();
    const place = { folder: kept.folder, linkerVersion: toHex(linkerVersion()) };
    expect(findKept(place, bytes)).toBe('none');
    const own = { ...program, seed: new Uint8Array(seed) };
    await kept.keep(linked(1));
    await kept.keep(encodeLinked(own, originOf(2)));
    expect(findKept(place, bytes)).toEqual({ linked: own, programHash: hashOf(2) });
    expect(findKept({ ...place, linkerVersion: '00'.repeat(16) }, bytes)).toBe('none');
    expect(findKept(place, new Uint8Array([3, 2, 1]))).toBe('none');
    const good = readFileSync(file(2));
    for (let at = 0; at < good.length; at += 1) {
      const bad = Buffer.from(good);
      bad[at] = (bad[at] ?? 0) ^ 1;
      writeFileSync(file(2), bad);
      expect(findKept(place, bytes), `byte ${at}`).toBe('unclear');
    }
    renameSync(file(2), file(3));
    expect(findKept(place, bytes)).toBe('unclear');
  });

  it('count as none when any byte is damaged, cut off, or of another program', async () => {
    await kept.keep(linked(1));
    const good = readFileSync(file(1));
    for (let at = 0; at < good.length; at += 1) {
      const bad = Buffer.from(good);
      bad[at] = (bad[at] ?? 0) ^ 1;
      writeFileSync(file(1), bad);
      expect(read(1), `byte ${at}`).toBe(undefined);
    }
    for (const length of [0, 50, 104, good.length - 1]) {
      writeFileSync(file(1), good.subarray(0, length));
      expect(read(1), `${length} bytes`).toBe(undefined);
    }
    writeFileSync(file(1), linked(2));
    expect(read(1)).toBe(undefined);
    expect(warnings).toHaveLength(good.length + 5);
    expect(warnings[0]).toMatch(/^links its program again: .*\.linked cannot be used: /);
    await kept.keep(linked(1));
    expect(read(1)).toEqual(program);
  });

  it('of another version of the linker are not taken', async () => {
    await kept.keep(linked(1));
    expect(read(1, '00'.repeat(16))).toBe(undefined);
    const origin = { programHash: hashOf(1), linkerVersion: new Uint8Array(16) };
    renameSync(file(1), path.join(kept.folder, linkedFileName(origin)));
    expect(read(1, '00'.repeat(16))).toBe(undefined);
    expect(warnings).toEqual([expect.stringContaining('by another linker')]);
  });

  it('are not read through a link', async () => {
    await kept.keep(linked(1));
    renameSync(file(1), path.join(root, 'elsewhere'));
    symlinkSync(path.join(root, 'elsewhere'), file(1));
    expect(read(1)).toBe(undefined);
  });

  it('go when they do not run any more, but for the last', async () => {
    const names = () => readdirSync(kept.folder).sort();
    const name = (byte: number) => path.basename(file(byte));
    await kept.keep(linked(1));
    await kept.runs(toHex(hashOf(1)));
    writeFileSync(path.join(kept.folder, '.left.tmp'), '');
    writeFileSync(path.join(kept.folder, `${'0'.repeat(64)}-${'0'.repeat(32)}.linked`), '');
    for (let byte = 2; byte < 6; byte += 1) {
      await kept.keep(linked(byte));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(names()).toEqual([name(1), name(5)]);
    await kept.runs(toHex(hashOf(5)));
    expect(names()).toEqual([name(1), name(5)]);
    await kept.keep(linked(6));
    expect(names()).toEqual([name(5), name(6)]);
  });

  it('do not bring back the folder of a database that was deleted', async () => {
    const gone = new KeptPrograms(path.join(root, 'gone/programs'));
    await expect(gone.keep(linked(1))).rejects.toThrow('ENOENT');
    await gone.runs(toHex(hashOf(1)));
    expect(readdirSync(root)).toEqual([]);
    mkdirSync(path.join(root, 'gone'));
    await gone.keep(linked(1));
  });
});
