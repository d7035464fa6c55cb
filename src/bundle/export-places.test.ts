import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildModule } from './build-module.ts';
import { renderExportFaults } from './export-places.ts';

let root = '';
let program = '';

const other = `import { db } from './db.ts';
const tidy = db.cron('0 25 * * *', () => {});
export { tidy as sweep };
`;
const index = `import { db } from './db.ts';
import { sweep } from './other.ts';
export default db;
/** A doc comment, and a text in it: \`export const nightly = \`. */
export const nightly = db.cron('0 3 * *', () => {});
export const jobs = db.exportGroup({
  daily: db.cron('x', () => {}),
  sweep,
});
`;

beforeAll(async () => {
  root = realpathSync(mkdtempSync(path.join(tmpdir(), 'export-places-')));
  writeFileSync(
    path.join(root, 'db.ts'),
    "import { schema } from 'reducerdb/server';\nexport const db = schema({});\n",
  );
  writeFileSync(path.join(root, 'other.ts'), other);
  writeFileSync(path.join(root, 'index.ts'), index);
  program = new TextDecoder().decode((await buildModule(path.join(root, 'index.ts'))).program);
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const text = 'is wrong';

it('[cli 5.1] a fault of an export has its place and its line', () => {
  expect(renderExportFaults(program, [{ name: 'nightly', text }])).toBe(
    [
      'index.ts:5:14: is wrong',
      '',
      "  5 | export const nightly = db.cron('0 3 * *', () => {});",
      '    |              ^^^^^^^',
    ].join('\n'),
  );
});

it('[cli 5.1] members of groups are found where they are written', () => {
  const faults = ['daily', 'sweep'].map((name) => ({ name, text }));
  const lines = renderExportFaults(program, faults).split('\n');
  expect(lines.filter((line) => line.endsWith(text))).toEqual([
    'index.ts:7:3: is wrong',
    'index.ts:8:3: is wrong',
  ]);
});

it('[cli 5.1] a fault without a place is its text alone', () => {
  expect(renderExportFaults(program, [{ name: 'nowhere', text }])).toBe(text);
  expect(renderExportFaults('export {};', [{ name: 'nightly', text }])).toBe(text);
});
