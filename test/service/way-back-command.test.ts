import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RunningService, Sandbox } from './harness.ts';
import { MigratedModules } from './migrated-module.ts';

/** The plans of a publish and of a roll back, as the command shows them. */

let sandbox: Sandbox;
let service: RunningService;
let modules: MigratedModules;

beforeAll(async () => {
  sandbox = await Sandbox.make();
  service = await sandbox.start();
  modules = new MigratedModules();
}, 120_000);
afterAll(async () => {
  await service?.stop();
  sandbox?.remove();
  modules?.remove();
});

const moduleOf = (columns: string) => `
  import { schema, t, table } from 'reducerdb/server';
  const db = schema({ item: table({ public: true }, { id: t.u32().primaryKey(), ${columns} }) });
  export default db;
  export const init = db.init((ctx) => {
    ctx.db.item.insert({ id: 1, name: 'cup' } as never);
  });
`;

const fileOf = (name: string, program: Uint8Array) => {
  const file = path.join(sandbox.folder, name);
  writeFileSync(file, program);
  return ['--js-path', file, '-y'];
};

it('[living 5.10] `publish --plan` and `rollback --plan` show the way back', async () => {
  const before = await modules.build(moduleOf('name: t.string()'));
  const sized = moduleOf('name: t.string(), size: t.u32()');
  const steps = "m.addColumn('item', 'size', { fill: () => 7 })";
  const down = "m.dropColumn('item', 'size')";
  const after = await modules.build(sized, [{ steps, down, from: before }]);
  await sandbox.ok(['publish', 'shop', ...fileOf('before.js', before)]);
  const published = ['publish', 'shop', ...fileOf('after.js', after)];
  const plan = await sandbox.ok([...published, '--plan']);
  expect(plan).toContain('Then the `down` steps of 0001-x were tried on that, and thrown away:');
  expect(plan).toMatch(/Going back works\.\s+All rows come back as they are\./);
  await sandbox.ok(published);
  const lacking = ['publish', 'shop', ...fileOf('lacking.js', await modules.build(sized))];
  expect(await sandbox.ok([...lacking, '--plan'])).toContain(
    'Warning: The program lacks migrations that this database has applied: 0001-x. Its rows',
  );
  const shown = await sandbox.ok(['rollback', 'shop', '--plan']);
  expect(shown).toMatch(/^Deploy 1, program [0-9a-f]{12}\n/);
  expect(shown).toMatch(/"size":7\}\s+→ \{"id":1,"name":"cup"\}/);
  const undo = JSON.parse(await sandbox.ok(['rollback', 'shop', '--plan', '--json']));
  expect(undo).toMatchObject({ of: 1, succeeds: true, trial: { failure: null } });
  const { code, stderr } = await sandbox.run(['rollback', 'shop', '--json']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('--json needs --plan')]);
}, 240_000);
