import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Inn, openInn } from './inn.ts';
import type { Person } from './running.ts';

let inn: Inn;
beforeAll(async () => {
  inn = await openInn();
  for (const name of ['Ada', 'Bob']) await inn.running.call('inn', 'add_person', [name], inn.owner);
});
afterAll(() => inn.running.stop());

const where = '/v1/database/inn/previews';
const json = { 'content-type': 'application/json' };

async function post(path: string, body: object | undefined, as: Person | undefined = inn.owner) {
  const content = body === undefined ? {} : { body: JSON.stringify(body), headers: json };
  const { status, text } = await inn.running.ask('POST', path, { as, ...content });
  const isJson = text.startsWith('{');
  return { status, text, shown: isJson ? JSON.parse(text) : undefined };
}

const look = (body: object, as?: Person) => post(where, body, as);
const apply = (id: string, as?: Person) => post(`${where}/${id}/apply`, undefined, as);
const people = () => inn.running.rows('inn', 'SELECT id, name FROM person ORDER BY id');
const offset = () => Number(inn.running.service.host.database('inn').handle.statistics().offset);

describe('[http 18.1] a preview over HTTP', () => {
  it('of a reducer shows rows, log and value, and does nothing', async () => {
    const before = await people();
    const at = offset();
    const { status, shown } = await look({ reducer: 'add_person', args: ['Cleo'] });
    expect(status).toBe(200);
    expect(shown).toEqual({
      id: expect.stringMatching(/^[\w-]{22}$/),
      expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      outcome: 'commit',
      log: [{ level: 'info', message: expect.stringMatching(/^person \d+ added$/) }],
      dropped_lines: 0,
      tables: [
        {
          ...{ table: 'person', event: false, columns: ['id', 'name', 'guest'] },
          ...{ deleted: [], updated: [], more: false },
          inserted: [[expect.any(Number), 'Cleo', inn.owner.identity]],
          counts: { inserted: 1, deleted: 0, updated: 0 },
        },
      ],
      complete: true,
      offset: at,
    });
    expect(Date.parse(shown.expires_at)).toBeGreaterThan(Date.now());
    expect(offset()).toBe(at);
    expect(await people()).toEqual(before);
  });

  it('is applied exactly, and once', async () => {
    const { shown } = await look({ reducer: 'add_person', args: { name: 'Dora' } });
    const [id] = shown.tables[0].inserted[0];
    const applied = await apply(shown.id);
    expect(applied).toMatchObject({ status: 200, shown: { offset: expect.any(Number) } });
    expect((await people()).at(-1)).toEqual([id, 'Dora']);
    expect(await apply(shown.id)).toMatchObject({
      status: 404,
      text: 'unknown preview: it was applied, is too old, or is of another database or caller',
    });
  });

  it('that would differ by now is not applied, and the answer says how it would be', async () => {
    const { shown } = await look({ sql: "UPDATE person SET name = 'Eve' WHERE id = 1" });
    expect(shown.tables[0]).toMatchObject({
      updated: [{ before: [1, 'Ada', expect.anything()], after: [1, 'Eve', expect.anything()] }],
      counts: { inserted: 0, deleted: 0, updated: 1 },
    });
    await inn.running.rows('inn', "UPDATE person SET name = 'Ann' WHERE id = 1", inn.owner);
    const before = await people();
    const late = await apply(shown.id);
    expect(late).toMatchObject({
      status: 409,
      shown: {
        error: expect.stringMatching(
          /^Not applied, because by now it would come to something else/,
        ),
        preview: { tables: [{ updated: [{ before: [1, 'Ann', expect.anything()] }] }] },
      },
    });
    expect(await people()).toEqual(before);
    expect((await apply(late.shown.preview.id)).status).toBe(200);
    expect((await people())[0]).toEqual([1, 'Eve']);
  });

  it('of several statements is one transaction', async () => {
    const sql = `INSERT INTO secret (id, words) VALUES (:id, ';');
      UPDATE secret SET words = 'changed' WHERE id = :id; -- the row of the first
      DELETE FROM secret WHERE id = 1;`;
    const { shown } = await look({ sql, parameters: { id: 7 } });
    const [table] = shown.tables;
    expect(shown.tables).toHaveLength(1);
    expect(table).toMatchObject({
      table: 'secret',
      inserted: [[7, 'changed']],
      deleted: [[1, 'swordfish']],
      counts: { inserted: 1, deleted: 1, updated: 0 },
    });
    const { offset: at } = (await apply(shown.id)).shown;
    const { text } = await inn.running.ask('GET', '/v1/database/inn/ledger', { as: inn.owner });
    const [entry] = JSON.parse(text).entries.filter(({ offset = 0 }) => offset === at);
    expect(entry).toMatchObject({ action: 'sql', result: 'done', rows: 2 });
    const rows = await inn.running.rows('inn', 'SELECT * FROM secret', inn.owner);
    expect(rows).toEqual([[7, 'changed']]);
  });

  it('says which statement is wrong, and where in the text', async () => {
    const sql = "INSERT INTO visit (id, what) VALUES (0, 'x');\nDELETE FROM visit WHERE wat = 1";
    const { shown } = await look({ sql });
    expect(shown).toMatchObject({ id: null, expires_at: null, outcome: 'refused', tables: [] });
    expect(shown.error).toMatch(/^statement 2: .*`wat`/);
    expect(shown.hint).toBe('Did you mean `what`?');
    expect(shown.position).toEqual({ offset: sql.indexOf('wat'), line: 2, column: 25 });
    const twice = ['x', 'y'].map((one) => `INSERT INTO secret (id, words) VALUES (8, '${one}')`);
    const unique = await look({ sql: twice.join(';') });
    expect(unique.shown.outcome).toBe('refused');
    expect(unique.shown.error).toMatch(/^statement 2: .*secret/);
    expect((await look({ sql: 'SELECT 1; SELECT 2' })).shown.error).toBe(
      'statement 1: A statement that only reads changes nothing',
    );
    expect((await look({ sql: ';'.repeat(3) })).shown.error).toBe('Empty SQL query');
    const many = await look({ sql: 'DELETE FROM visit;'.repeat(1_001) });
    expect(many.shown.error).toBe('The text has more than 1000 statements; send them in parts');
  });

  it('shows rows that RETURNING gives', async () => {
    const sql = "INSERT INTO visit (id, what) VALUES (0, 'x') RETURNING what";
    const { shown } = await look({ sql });
    expect(shown.returned).toEqual({ columns: ['what'], rows: [['x']] });
  });

  it('of a reducer that refuses shows why, and cannot be applied', async () => {
    const { shown } = await look({ reducer: 'refuse', args: ['not today'] });
    expect(shown).toMatchObject({ id: null, outcome: 'refused', error: 'not today', tables: [] });
  });

  it('shows as many rows as are asked for, and exact counts', async () => {
    const values = Array.from({ length: 30 }, (_, at) => `(0, 'v${at}')`).join(', ');
    const { shown } = await look({
      sql: `INSERT INTO visit (id, what) VALUES ${values}`,
      max_rows: 9,
    });
    expect(shown.tables[0]).toMatchObject({ more: true, counts: { inserted: 30 } });
    expect(shown.tables[0].inserted).toHaveLength(9);
  });

  it('as another identity is for the owner, and cannot be applied', async () => {
    const { stranger, owner } = inn;
    const asked = { reducer: 'add_person', args: ['Fay'], as: stranger.identity };
    const { status, shown } = await look(asked);
    expect({ status, id: shown.id, outcome: shown.outcome }).toEqual({
      ...{ status: 200, id: null, outcome: 'commit' },
    });
    expect(shown.tables[0].inserted[0][2]).toBe(stranger.identity);
    const developer = await inn.running.person();
    await inn.running.grant('inn', 'developer', developer, owner);
    const refused = await look(asked, developer);
    expect(refused.status).toBe(403);
    expect(refused.text).toMatch(/: preview as another identity$/);
    // What only the owner may read is shown to the owner, whoever is said to have caused it.
    const hidden = await look({ reducer: 'ban_me', args: [], as: stranger.identity });
    expect(hidden.shown.tables).toMatchObject([
      { table: 'banned', inserted: [[stranger.identity]] },
    ]);
    const write = await look({ sql: 'DELETE FROM visit', as: stranger.identity });
    expect(write.shown.error).toMatch(/is not authorized to run SQL DML statements$/);
  });

  it('is dropped, and is its caller’s alone', async () => {
    const { shown } = await look({ reducer: 'add_person', args: ['Gil'] });
    const developer = await inn.running.person();
    await inn.running.grant('inn', 'developer', developer, inn.owner);
    expect((await apply(shown.id, developer)).status).toBe(404);
    const drop = () => inn.running.ask('DELETE', `${where}/${shown.id}`, { as: inn.owner });
    expect((await drop()).status).toBe(200);
    expect((await drop()).status).toBe(404);
    expect((await apply(shown.id)).status).toBe(404);
  });

  it('refuses who may not preview, and what cannot be previewed', async () => {
    const refused = await look({ reducer: 'add_person', args: ['x'] }, inn.stranger);
    expect(refused).toMatchObject({
      status: 403,
      text: expect.stringMatching(/ is not authorized to preview: ask the owner /),
    });
    const unknown = await look({ reducer: 'add_persn', args: ['x'] });
    expect(unknown.status).toBe(404);
    expect(unknown.text).toBe('no such reducer\nhint: Did you mean `add_person`?');
    expect((await look({ reducer: 'add_person', args: [7, 8] })).status).toBe(400);
    expect((await look({ reducer: 'add_person', args: 7 })).status).toBe(422);
    expect((await look({})).status).toBe(422);
    expect((await look({ reducer: 'a', sql: 'b' })).status).toBe(422);
    expect((await look({ sql: 'DELETE FROM visit', max_rows: 0 })).status).toBe(422);
    expect((await look({ sql: 'DELETE FROM visit', as: 'me' })).status).toBe(422);
    expect((await look({ sql: 'DELETE FROM visit', parameters: 7 })).status).toBe(400);
  });
});
