import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Inn, openInn } from './inn.ts';

let inn: Inn;
beforeAll(async () => {
  inn = await openInn();
});
afterAll(() => inn.running.stop());

const plain = { accept: 'application/json; values=plain' };
const sql = async (body: string, query = '', headers: Record<string, string> = plain) => {
  const where = `/v1/database/inn/sql${query}`;
  const answer = await inn.running.ask('POST', where, { as: inn.owner, body, headers });
  const type = answer.headers.get('content-type');
  return { ...answer, body: type === 'application/json' ? JSON.parse(answer.text) : answer.text };
};

describe('[http 18.5] an SQL error in the plain form', () => {
  it('is an object, with the place of the fault and a hint where they are known', async () => {
    const text = 'SELECT id,\n  nam\nFROM person';
    const { status, body, headers } = await sql(text);
    expect(status).toBe(400);
    expect(body).toEqual({
      error: expect.stringContaining('`nam`'),
      hint: 'Did you mean `name`?',
      position: { offset: text.indexOf('nam\n'), line: 2, column: 3 },
    });
    expect(headers.get('reducerdb-error-place')).toBe('2:3');
    const broken = await sql("SELECT '😀' AS face, nam FROM person");
    expect(broken.body.position.offset).toBe("SELECT '😀' AS face, ".length);
    expect((await sql('SELECT 1 FROM nothing')).body.error).toMatch(/no such table/);
  });

  it('stays text for everyone else', async () => {
    const { headers, text } = await sql('SELECT nam FROM person', '', {});
    expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(text).toContain('`nam`');
  });
});

describe('[http 18.5] EXPLAIN as a tree', () => {
  it('has the steps with what they are expected to do, and what they did', async () => {
    const query = 'SELECT name FROM person WHERE id = 1';
    const planned = await sql(`EXPLAIN ${query}`, '?explain=json');
    expect(planned.body.plan).toEqual({
      ...{ operator: 'output', detail: 'person.name', estimated_rows: expect.any(Number) },
      children: [
        {
          ...{ operator: 'look up', detail: 'person by person_id_idx_btree (1)', children: [] },
          estimated_rows: expect.any(Number),
        },
      ],
    });
    const { body } = await sql(`-- how?\nexplain analyze ${query}`, '?explain=json');
    expect(body.plan).toMatchObject({ operator: 'output', rows: 0, loops: 1 });
    expect(body.plan.millis).toBeGreaterThanOrEqual(0);
    const write = await sql('EXPLAIN DELETE FROM person', '?explain=json');
    expect(write.body.plan).toMatchObject({ operator: 'delete from', detail: 'person' });
  });

  it('is for EXPLAIN alone', async () => {
    const { status, text } = await sql('SELECT * FROM person', '?explain=json');
    expect({ status, text }).toEqual({
      status: 400,
      text: '`explain=json` is for statements that begin with EXPLAIN',
    });
    expect((await sql('EXPLAIN SELECT * FROM person', '?explain=yaml')).status).toBe(400);
    expect((await sql('EXPLAIN SELECT nothing FROM person', '?explain=json')).body).toMatchObject({
      error: expect.stringContaining('`nothing`'),
    });
  });
});
