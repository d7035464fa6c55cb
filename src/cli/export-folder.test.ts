import { existsSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ExportFolder, readExport } from './export-folder.ts';

let base: string;
beforeEach(() => {
  base = mkdtempSync(path.join(tmpdir(), 'export-folder-'));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const head = { database: 'db', position: '0.1.00', program: '00' };
const row = Buffer.from('{}\n');

it('[history 11.1] has a file for each table, however long their names are', async () => {
  const folder = new ExportFolder(path.join(base, 'out'), 'ndjson');
  const long = 'x'.repeat(251);
  const names = [`${long}a`, `${long}b`, 'x'.repeat(245), 'é'.repeat(100)];
  for (const name of names) await folder.add(name, 1, row);
  await folder.finish(head, '{}');
  const { tables } = await readExport(path.join(base, 'out'));
  expect(tables.map(({ name }) => name)).toEqual(names);
  expect(new Set(tables.map(({ file }) => file)).size).toBe(names.length);
});

it('[history 11.1] reports a file that cannot be written, and leaves nothing', async () => {
  const folder = new ExportFolder(path.join(base, 'out'), 'ndjson');
  rmSync(path.join(base, 'out.part'), { recursive: true });
  const add = async (): Promise<void> => {
    for (;;) await folder.add('t', 1, row);
  };
  await expect(add()).rejects.toThrow('ENOENT');
  folder.discard();
  expect(existsSync(path.join(base, 'out.part'))).toBe(false);
});

it('[history 11.1] goes where a link leads', async () => {
  mkdirSync(path.join(base, 'real'));
  symlinkSync(path.join(base, 'real'), path.join(base, 'link'));
  const folder = new ExportFolder(path.join(base, 'link'), 'csv');
  await folder.add('t', 1, row);
  await folder.finish(head, '{}');
  expect(lstatSync(path.join(base, 'link')).isSymbolicLink()).toBe(true);
  expect((await readExport(path.join(base, 'real'))).tables).toHaveLength(1);
  symlinkSync(path.join(base, 'nowhere'), path.join(base, 'broken'));
  expect(() => new ExportFolder(path.join(base, 'broken'), 'csv')).toThrow('leads nowhere');
});
