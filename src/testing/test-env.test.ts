import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { openTestDatabase } from './test-database.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-env-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
writeFileSync(path.join(folder, 'package.json'), '{"type":"module","main":"index.ts"}');
writeFileSync(
  path.join(folder, 'index.ts'),
  `import { schema, t, table } from 'reducerdb/server';
  const note = table({ public: true }, { text: t.string() });
  const db = schema({ note });
  export default db;
  export const env = db.env({ URL: t.string(), RATE: t.f64(), KEY: t.secret() });
  export const keep = db.reducer({ name: t.string() }, (ctx, { name }) => {
    ctx.db.note.insert({ text: String(env.of(ctx)[name]) });
  });
  export const key = db.procedure(t.string(), (ctx) => env.of(ctx).KEY);`,
);
writeFileSync(
  path.join(folder, '.env.reducerdb'),
  `# for tests alone
URL=https://test.example # a comment
export RATE="0.5"
KEY='line
two'
`,
);

it('[living 4.4] values come from the option, and from the file of the project', async () => {
  const db = await openTestDatabase({ module: folder, env: { RATE: 2 } });
  for (const name of ['URL', 'RATE']) await db.call('keep', { name });
  expect(await db.query('SELECT text FROM note')).toEqual([
    { text: 'https://test.example' },
    { text: '2' },
  ]);
  expect(await db.call('key')).toBe('line\ntwo');
  await db.setEnv('KEY', 'another');
  expect(await db.call('key')).toBe('another');
  await expect(db.setEnv('RATE', 'fast')).rejects.toThrow('must be a decimal number');
  await db.publish(folder);
  expect(await db.call('key')).toBe('line\ntwo');
  await db.close();
});

it('[living 4.4] a module without its values is refused, with their names', async () => {
  rmSync(path.join(folder, '.env.reducerdb'));
  const open = openTestDatabase({ module: folder, env: { URL: 'x' } });
  await expect(open).rejects.toThrow('not set for its database: `KEY` (secret), `RATE` (f64)');
  await expect(open).rejects.toThrow(/--set-env RATE=VALUE\. In a test: `env` of /);
});
