import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { someOf } from '../support/share.ts';
import { Running } from './running.ts';
import { written } from './written-module.ts';

const thing = '{ public: true }, { id: t.u64().primaryKey(), name: t.string() }';
const label = '{}, { key: t.string().primaryKey(), on: t.bool() }';
const loose = '{ public: true }, { text: t.string() }';
const exports = `
  export const put = db.reducer({ id: t.u64(), name: t.string() }, (ctx, { id, name }) => {
    const row = ctx.db.thing.id.find(id);
    if (row === null) ctx.db.thing.insert({ id, name });
    else ctx.db.thing.id.update({ ...row, name });
  });
  export const tag = db.reducer({ key: t.string() }, (ctx, { key }) => {
    ctx.db.label.insert({ key, on: true });
  });
`;

let running: Running;

beforeAll(async () => {
  running = await Running.start({
    isolation: { everywhere: 'thread', exceptions: new Map([['apart', 'process']]) },
  });
}, 180_000);
afterAll(async () => {
  await running?.stop();
});

const kinds = someOf(['threaded', 'apart'], 2);

describe.each(kinds)('the history of a row, of the database %s', (database) => {
  const program = (says: string) => {
    return written({ tables: { thing, label, loose }, exports, says });
  };
  const ask = async (query: string) => {
    const answer = await running.ask('GET', `/v1/database/${database}/history?${query}`, {
      as: await owner(),
    });
    return { ...answer, body: answer.status === 200 ? JSON.parse(answer.text) : undefined };
  };
  let known: Promise<Awaited<ReturnType<Running['person']>>> | undefined;
  const owner = () => {
    known ??= running.person();
    return known;
  };

  beforeAll(async () => {
    expect((await running.upload(database, await program('one'), await owner())).status).toBe(200);
  }, 120_000);

  it('[history 7.1, 7.2] says who changed it, when and how, the newest first', async () => {
    const me = await owner();
    const other = await running.person();
    await running.call(database, 'put', [7, 'first'], me);
    await running.call(database, 'put', [8, 'another'], me);
    await running.call(database, 'put', [7, 'wrong'], other);
    expect((await running.upload(database, await program('two'), me)).status).toBe(200);
    const sql = "UPDATE thing SET name = 'right' WHERE id = 7";
    expect((await running.sql(database, sql, me)).status).toBe(200);
    expect((await running.sql(database, 'DELETE FROM thing WHERE id = 7', me)).status).toBe(200);
    const { body } = await ask('table=thing&key=7');
    expect(body).toMatchObject({ from: 1, more: false });
    const row = (name: string) => ({ id: 7, name });
    expect(body.changes).toMatchObject([
      { op: 'delete', reducer: null, caller: me.identity, before: row('right'), after: null },
      { op: 'update', reducer: null, before: row('wrong'), after: row('right') },
      { op: 'update', reducer: 'put', caller: other.identity, before: row('first') },
      { op: 'insert', reducer: 'put', caller: me.identity, before: null, after: row('first') },
    ]);
    const offsets = body.changes.map(({ offset }: { offset: number }) => offset);
    expect([...offsets].sort((one, two) => two - one)).toEqual(offsets);
    expect(Date.parse(body.changes[0].time)).toBeGreaterThan(Date.now() - 600_000);
    const newest = await ask('table=thing&key=7&limit=1');
    expect(newest.body).toMatchObject({ more: true, changes: [{ op: 'delete' }] });
  });

  it('[history 7.2] takes keys as people write them', async () => {
    await running.call(database, 'tag', ['7'], await owner());
    await running.call(database, 'tag', ['"quoted", & more'], await owner());
    const count = async (key: string) => {
      const { body } = await ask(`table=label&key=${encodeURIComponent(key)}`);
      return body.changes.length;
    };
    expect([await count('7'), await count('"quoted", & more'), await count('none')]).toEqual([
      1, 1, 0,
    ]);
  });

  it('[history 7.4] says what cannot be asked for', async () => {
    const said = async (query: string) => {
      const { status, text } = await ask(query);
      return `${status} ${text}`;
    };
    expect(await said('table=thing')).toContain('400 name a row, by `table` and `key`');
    expect(await said('table=nothing&key=1')).toContain('400 table `nothing` does not exist');
    expect(await said('table=st_table&key=1')).toContain('400 table `st_table` does not exist');
    expect(await said('table=loose&key=1')).toContain('400 table `loose` has no primary key');
    expect(await said('table=thing&key=many')).toContain('400 `key` is not a value of `id`');
    expect(await said('table=thing&key=1,2')).toContain('400 `key` is not a value of `id`');
    expect(await said('table=thing&key=1&limit=1001')).toContain('400 `limit` must be between');
  });
});
