import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../src/testing/index.ts';

const source = (index: string) => `
import { schema, t, table } from 'reducerdb/server';
const note = table({ public: true }, { id: t.u64().primaryKey().autoInc(), body: t.string()${index} });
const db = schema({ note });
export default db;
export const add = db.reducer({ body: t.string() }, (ctx, { body }) => {
  ctx.db.note.insert({ id: 0n, body });
});
export const change = db.reducer({ id: t.u64(), body: t.string() }, (ctx, { id, body }) => {
  ctx.db.note.id.update({ id, body });
  if (body === 'refused foxes') throw new Error('refused');
});
`;

let folder: string;
let db: TestDatabase;

const publish = (index: string) => writeFileSync(path.join(folder, 'index.ts'), source(index));
const ids = async (query: string) =>
  (await db.query(`SELECT id FROM note WHERE search(body, '${query}') ORDER BY id`)).map(({ id }) =>
    Number(id),
  );
const planOf = async (query: string) =>
  JSON.stringify(await db.query(`EXPLAIN SELECT id FROM note WHERE search(body, '${query}')`));

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-text-'));
  writeFileSync(path.join(folder, 'package.json'), '{"type":"module","main":"index.ts"}');
  publish(`.index('text', { language: 'english' })`);
  db = await openTestDatabase({ module: folder });
  for (let at = 1; at <= 30; at++) await db.call('add', { body: `note ${at}` });
  await db.call('add', { body: 'Two foxes were running' });
});

afterAll(async () => {
  await db.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('[ease 3.11] a column with a text index', () => {
  it('is searched in its language, by the index, and follows calls', async () => {
    expect(await planOf('fox')).toContain('search note by note_body_idx_text');
    expect(await ids('fox run')).toEqual([31]);
    await db.call('change', { id: 5n, body: 'A fox' });
    expect(await ids('foxes')).toEqual([5, 31]);
    await expect(db.call('change', { id: 6n, body: 'refused foxes' })).rejects.toThrow();
    expect(await ids('foxes')).toEqual([5, 31]);
    expect(await ids('note 6')).toEqual([6]);
  });

  it('is watched by changed rows; a rank is computed again', async () => {
    const watch = async (select: string) =>
      JSON.stringify(await db.query(`EXPLAIN LIVE ${select}`));
    expect(await watch("SELECT * FROM note WHERE search(body, 'fox')")).toContain(
      'incremental: each commit is followed by its changed rows',
    );
    const ranked = "SELECT id, rank(body, 'fox') AS r FROM note WHERE search(body, 'fox')";
    expect(await watch(ranked)).toContain('run again at each commit that changes note');
  });

  it('is shown, and gets and loses its index with a new program', async () => {
    publish('');
    await db.publish(folder);
    expect(await planOf('fox')).not.toContain('search note by');
    expect(await ids('fox')).toEqual([5]);
    publish(`.index('text', { language: 'german' })`);
    await db.publish(folder);
    expect(await planOf('fox')).toContain('search note by note_body_idx_text');
    expect(await ids('NOTES 7')).toEqual([7]);
  });

  it('is refused for a language that does not exist', async () => {
    publish(`.index('text', { language: 'klingon' as 'german' })`);
    await expect(db.publish(folder)).rejects.toThrow(
      '`klingon` is not a language of a text index; use one of `simple`, `english`',
    );
  });
});
