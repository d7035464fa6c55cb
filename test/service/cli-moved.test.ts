import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { writeFiles } from './cli-support.ts';
import { Sandbox } from './harness.ts';

let sandbox: Sandbox;
let folder: string;

beforeAll(async () => {
  sandbox = await Sandbox.make();
  folder = path.join(sandbox.folder, 'moving');
  writeFiles(folder, {
    'package.json': '{ "dependencies": { "spacetimedb": "2.*" } }\n',
    'spacetime.json': '{ "module-path": "." }',
    'src/index.ts': `import { schema, table, t } from 'spacetimedb/server';
      const person = table({ public: true }, { name: t.string() });
      const spacetimedb = schema({ person });
      export default spacetimedb;
      export const add = spacetimedb.reducer({ name: t.string() }, (ctx, { name }) => {
        ctx.db.person.insert({ name });
      });\n`,
  });
});
afterAll(() => sandbox.remove());

it('[cli 7.11] a project moves here, and builds', async () => {
  const build = () => sandbox.run(['build', '-p', folder]);
  const before = await build();
  expect(before).toMatchObject({ code: 1, stdout: '' });
  expect(before.stderr).toContain('src/index.ts:1:34: "spacetimedb/server" is the library of');
  expect(before.stderr).toContain('change it to "reducerdb/server"');

  const dry = await sandbox.ok(['migrate-from-spacetimedb', folder, '--dry-run']);
  expect(dry).toContain('src/index.ts:1: spacetimedb/server is now reducerdb/server\n');
  expect(dry).toContain('Nothing was changed.');
  expect(existsSync(path.join(folder, 'spacetime.json'))).toBe(true);

  const moved = await sandbox.ok(['migrate-from-spacetimedb'], { cwd: folder });
  expect(moved).toContain('package.json: depends on reducerdb instead of spacetimedb\n');
  expect(moved).toContain('spacetime.json: renamed to service.json\n');
  expect(moved).toContain('Next:\n');
  expect(readFileSync(path.join(folder, 'package.json'), 'utf8')).toContain('"reducerdb": ');
  expect(await build()).toMatchObject({ code: 0 });
  expect(await sandbox.ok(['migrate-from-spacetimedb', folder])).toBe(
    'There is nothing to change.\n',
  );
});
