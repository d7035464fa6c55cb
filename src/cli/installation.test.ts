import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { packedFile } from './installation.ts';

let folder: string;
let installed: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'installation-')));
  installed = path.join(folder, 'node_modules/reducerdb');
  mkdirSync(installed, { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true }));

function writeSource(resolved: string): void {
  const list = { packages: { 'node_modules/reducerdb': { resolved } } };
  writeFileSync(path.join(folder, 'node_modules/.package-lock.json'), JSON.stringify(list));
}

it('[cli 7.1] a package that was installed from a file is known by that file', () => {
  expect(packedFile(installed)).toBeUndefined();
  writeSource('https://registry.npmjs.org/reducerdb/-/reducerdb-0.1.0.tgz');
  expect(packedFile(installed)).toBeUndefined();
  writeSource('file:packed/reducerdb-0.1.0.tgz');
  expect(packedFile(installed)).toBeUndefined();
  const file = path.join(folder, 'packed/reducerdb-0.1.0.tgz');
  mkdirSync(path.dirname(file));
  writeFileSync(file, '');
  expect(packedFile(installed)).toBe(file);
});
