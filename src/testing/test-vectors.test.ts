import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestDatabase, type TestDatabase } from './test-database.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-vectors-'));
writeFileSync(path.join(folder, 'package.json'), '{"type":"module","main":"index.ts"}');
writeFileSync(
  path.join(folder, 'index.ts'),
  `import { SenderError, schema, t, table } from 'reducerdb/server';
  const text = table({ name: 'text', public: true }, {
    id: t.u32().primaryKey(),
    meaning: t.vector(3).index('vector', { metric: 'cosine' }),
    spare: t.vector(2).optional(),
  });
  const db = schema({ text });
  export default db;
  const told = (write) => {
    try {
      write();
    } catch (error) {
      throw new SenderError(error.message);
    }
  };
  export const add = db.reducer({ id: t.u32(), meaning: t.array(t.f32()) }, (ctx, row) => {
    const meaning = Float32Array.from(row.meaning);
    told(() => ctx.db.text.insert({ id: row.id, meaning, spare: undefined }));
  });
  export const change = db.reducer({ id: t.u32(), spare: t.array(t.f32()) }, (ctx, row) => {
    const { id, spare } = row;
    const old = ctx.db.text.id.find(id);
    if (old) told(() => ctx.db.text.id.update({ ...old, spare }));
  });`,
);
let db: TestDatabase;
beforeAll(async () => {
  db = await openTestDatabase({ module: folder });
});
afterAll(async () => {
  await db.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('[ease 3.12] vectors of a module', () => {
  it('have the length that their column says, whoever writes', async () => {
    await db.call('add', [1, [1, 0, 0]]);
    await db.call('add', [2, [0, 1, 0]]);
    await expect(db.call('add', [3, [1, 2]])).rejects.toThrow(
      'text.meaning holds vectors of 3 elements, not 2',
    );
    await db.call('change', [1, [5, 6]]);
    await expect(db.call('change', [1, [5]])).rejects.toThrow(
      'text.spare holds vectors of 2 elements, not 1',
    );
    const text = 'The column `meaning` of table `text` holds vectors of 3 elements, not 1';
    await expect(db.query('UPDATE text SET meaning = ARRAY[1] WHERE id = 1')).rejects.toThrow(text);
    await expect(
      db.query('INSERT INTO text (id, meaning, spare) VALUES (9, ARRAY[1], NULL)'),
    ).rejects.toThrow(text);
    await db.query('INSERT INTO text (id, meaning, spare) VALUES (3, ARRAY[0, 0.5, 1], NULL)');
    const rows = await db.query(
      'SELECT id FROM text ORDER BY distance(meaning, ARRAY[0,0,1]), id LIMIT 2',
    );
    expect(rows.map((row) => (row as { id: number }).id)).toEqual([3, 1]);
  });

  it('are watched from changed rows, without the index', async () => {
    const text = 'SELECT * FROM text ORDER BY cosine_distance(meaning, ARRAY[0, 0, 1]) LIMIT 2';
    const lines = await db.query(`EXPLAIN LIVE ${text}`);
    expect(JSON.stringify(lines)).toContain('the first rows of the order are kept');
  });
});
