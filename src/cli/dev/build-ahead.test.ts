import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { BuildError } from '../../bundle/build-error.ts';
import { BuildAhead } from './build-ahead.ts';

let folder: string;
let file: string;
let builds: number;
/** What the next build rejects with. */
let fault: Error | undefined;
let ahead: BuildAhead;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'build-ahead-'));
  file = path.join(folder, 'index.ts');
  writeFileSync(file, 'one');
  builds = 0;
  fault = undefined;
  ahead = new BuildAhead({
    build: async () => {
      builds += 1;
      if (fault !== undefined) throw fault;
      return { program: Uint8Array.of(builds), warnings: [], sources: [file] };
    },
  });
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The number of the build that counts. */
async function taken(): Promise<number | undefined> {
  const result = await ahead.take();
  return result.kind === 'built' ? result.built.program[0] : undefined;
}

it('[console 3.2] a save of one file is built once, before it has settled', async () => {
  ahead.begin(file);
  expect(builds).toBe(1);
  expect(await taken()).toBe(1);
  expect(await taken()).toBe(2);
  expect(builds).toBe(2);
});

it('[console 3.2] what changes after the build began is built again', async () => {
  ahead.begin(file);
  // A second write that no event tells of.
  writeFileSync(file, 'two');
  expect(await taken()).toBe(2);
  ahead.begin(file);
  ahead.begin(path.join(folder, 'other.ts'));
  expect(await taken()).toBe(4);
  ahead.begin(file);
  ahead.doubt();
  expect(await taken()).toBe(6);
  ahead.begin(file);
  rmSync(file);
  expect(await taken()).toBe(8);
});

it('[console 3.2] a half-written file is no fault of what is on the disk in the end', async () => {
  fault = new BuildError('unexpected end of file');
  ahead.begin(file);
  fault = undefined;
  writeFileSync(file, 'whole');
  expect(await taken()).toBe(2);
  fault = new BuildError('unexpected end of file');
  ahead.begin(file);
  expect(await ahead.take()).toEqual({ kind: 'thrown', error: fault });
});
