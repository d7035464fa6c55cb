import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openInn } from './inn.ts';
import { type Person, program, type Running } from './running.ts';
import { written } from './written-module.ts';

let running: Running;
let owner: Person;
let stranger: Person;

beforeAll(async () => {
  ({ running, owner, stranger } = await openInn());
});
afterAll(() => running.stop());

describe('SQL', () => {
  it('[http 10] answers one result, with its keys in order', async () => {
    const { text, headers } = await running.sql(
      'inn',
      "SELECT name FROM person WHERE name = 'Ann'",
    );
    const [result, ...more] = JSON.parse(text);
    expect(more).toEqual([]);
    expect(Object.keys(result)).toEqual(['schema', 'rows', 'total_duration_micros', 'stats']);
    expect(result.schema.elements).toEqual([
      { name: { some: 'name' }, algebraic_type: { String: [] } },
    ]);
    expect(result.stats).toEqual({ rows_inserted: 0, rows_deleted: 0, rows_updated: 0 });
    expect(headers.get('spacetime-execution-duration-micros')).toMatch(/^\d+$/);
  });

  it.each([
    ['?values=plain', {}],
    ['', { accept: 'application/json; values=plain' }],
  ])('[ease 2.4] answers in the plain form: %s %o', async (query, headers) => {
    const body = "SELECT 'Ann' AS name, :sender AS who, CAST(0 AS Timestamp) AS at FROM secret";
    const where = `/v1/database/inn/sql${query}`;
    const { text } = await running.ask('POST', where, { as: owner, body, headers });
    const [{ rows, schema, stats }] = JSON.parse(text);
    expect(rows).toContainEqual({ name: 'Ann', who: owner.identity, at: '1970-01-01T00:00:00Z' });
    expect(schema.elements).toHaveLength(3);
    expect(stats).toEqual({ rows_inserted: 0, rows_deleted: 0, rows_updated: 0 });
  });

  it('[ease 2.4] knows no other form of values', async () => {
    const asked = { as: owner, body: 'SELECT name FROM person' };
    const { status, text } = await running.ask('POST', '/v1/database/inn/sql?values=all', asked);
    expect(status).toBe(400);
    expect(text).toContain('unknown variant `all`, expected `plain`');
  });

  it('[ease 3.3] takes lists as parameters, by position and by name, and goes on', async () => {
    const sql = "SELECT n.name FROM (VALUES ('Ann'), ('Bob')) AS n(name) WHERE n.name = ANY($1)";
    const params = encodeURIComponent('[["Ann","Nobody"]]');
    const where = '/v1/database/inn/sql';
    const inQuery = { as: owner, body: sql };
    const asked = [await running.ask('POST', `${where}?params=${params}`, inQuery)];
    const headers = { 'content-type': 'application/vnd.reducerdb.sql+json' };
    for (const [text, given] of [
      [sql, [['Ann']]],
      [sql.replace('$1', ':names'), { names: ['Ann', 'Nobody'] }],
      [sql, ['["Ann"]']],
    ] as const) {
      const body = JSON.stringify({ sql: text, params: given });
      asked.push(await running.ask('POST', where, { as: owner, body, headers }));
    }
    for (const { status, text } of asked) {
      expect(status, text).toBe(200);
      expect(JSON.parse(text)[0].rows).toEqual([['Ann']]);
    }
    const body = JSON.stringify({ sql, params: [[['Ann']]] });
    const nested = await running.ask('POST', where, { as: owner, body, headers });
    expect(nested).toMatchObject({ status: 400, text: expect.stringContaining('lists of them') });
  });

  it('[http 10] answers many rows in pieces, while others are answered', async () => {
    const one = "SELECT repeat('é', 200000) AS text, 7 AS seven FROM secret";
    const big = await running.sql('inn', Array(3).fill(one).join(' UNION ALL '), owner);
    const small = await running.sql('inn', one.replace('200000', '2'), owner);
    expect(big.headers.get('content-length')).toBeNull();
    expect(big.headers.get('content-type')).toBe('application/json');
    expect(big.headers.get('spacetime-execution-duration-micros')).toMatch(/^\d+$/);
    const [{ rows, stats, schema }] = JSON.parse(big.text);
    expect(schema).toEqual(JSON.parse(small.text)[0].schema);
    expect(stats).toEqual({ rows_inserted: 0, rows_deleted: 0, rows_updated: 0 });
    expect(rows).toEqual(Array(3).fill(['é'.repeat(200_000), 7]));
  });

  it.each(['', ' ORDER BY c1'])(
    '[http 10] answers no row that is longer than one of a table may be%s',
    async (rest) => {
      const columns = Array.from({ length: 60 }, (_, at) => `repeat('x', 1000000) AS c${at}`);
      const sql = `SELECT ${columns.join(', ')} FROM secret${rest}`;
      const { status, text } = await running.sql('inn', sql, owner);
      expect(status).toBe(400);
      expect(text).toMatch(/^A row of the statement has more than 33554432 bytes; name fewer/);
    },
  );

  it('[http 10, tables 10] hides private tables from all but the owner, as if they were not there', async () => {
    const hidden = await running.sql('inn', 'SELECT * FROM secret', stranger);
    const absent = await running.sql('inn', 'SELECT * FROM absent', stranger);
    expect(hidden.status).toBe(400);
    expect(hidden.text).toBe(
      'no such table: `secret`. If the table exists, it may be marked private.',
    );
    expect(absent.text).toBe(hidden.text.replace('secret', 'absent'));
    expect(await running.rows('inn', 'SELECT words FROM secret', owner)).toEqual([['swordfish']]);
  });

  it('[http 10, interface 5.8] lets the owner alone write', async () => {
    const statement = 'DELETE FROM visit';
    expect((await running.sql('inn', statement, stranger)).text).toBe(
      `Caller ${stranger.identity} is not authorized to run SQL DML statements`,
    );
    expect((await running.sql('inn', 'DELETE FROM secret', stranger)).text).toMatch(
      /^no such table/,
    );
    expect((await running.sql('inn', statement, owner)).status).toBe(200);
  });

  it.each([
    ['', 'Empty SQL query'],
    ['SELECT * FROM person; SELECT * FROM person', 'Multiple SQL statements are not supported'],
  ])('[http 10] %j is refused', async (statement, text) => {
    expect(await running.sql('inn', statement)).toMatchObject({ status: 400, text });
  });

  it('[http 10] of over 50,000 bytes is refused by its first 120 characters', async () => {
    const { text } = await running.sql('inn', `SELECT ${'x'.repeat(50_000)}`);
    expect(text).toBe(`SQL query exceeds maximum allowed length: "SELECT ${'x'.repeat(113)}..."`);
  });

  it('[http 10] answers exactly one result, a final semicolon or not', async () => {
    await running.call('inn', 'add_person', ['Only']);
    for (const end of ['', ';', ' ; ', ';\n']) {
      const { status, text, headers } = await running.sql(
        'inn',
        `SELECT name FROM person WHERE name = 'Only'${end}`,
      );
      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('application/json');
      const micros = headers.get('spacetime-execution-duration-micros');
      expect(text).toBe(
        '[{"schema":{"elements":[{"name":{"some":"name"},"algebraic_type":{"String":[]}}]},' +
          `"rows":[["Only"]],"total_duration_micros":${micros},` +
          '"stats":{"rows_inserted":0,"rows_deleted":0,"rows_updated":0}}]',
      );
    }
  });

  it('[http 10] counts what a statement wrote', async () => {
    const stats = async (statement: string) => {
      const [result] = JSON.parse((await running.sql('inn', statement, owner)).text);
      expect(result.schema).toEqual({ elements: [] });
      expect(result.rows).toEqual([]);
      return Object.values(result.stats);
    };
    expect(await stats("INSERT INTO visit (id, what) VALUES (901, 'a'), (902, 'b')")).toEqual([
      2, 0, 0,
    ]);
    expect(await stats("UPDATE visit SET what = 'c' WHERE id = 901")).toEqual([0, 0, 1]);
    expect(await stats('DELETE FROM visit WHERE id = 901 OR id = 902')).toEqual([0, 2, 0]);
  });

  it.each(['true', 'false'])('[http 10] may be confirmed=%s', async (confirmed) => {
    const answer = await running.ask('POST', `/v1/database/inn/sql?confirmed=${confirmed}`, {
      body: 'SELECT id FROM visit',
    });
    expect(answer.status).toBe(200);
  });

  it.each([
    [' ', 'Empty SQL query'],
    [';', 'Empty SQL query'],
    ['-- nothing', 'Empty SQL query'],
    ['SELECT 1; SELECT 2', 'Multiple SQL statements are not supported'],
  ])('[http 10] %j is refused too', async (statement, text) => {
    expect(await running.sql('inn', statement)).toMatchObject({ status: 400, text });
  });

  it.each(['SELEC', 'SELECT nothing FROM person', 'SELECT * FROM person WHERE id', "SELECT '"])(
    '[http 10] %j fails with a text that says why',
    async (statement) => {
      const { status, text, headers } = await running.sql('inn', statement);
      expect(status).toBe(400);
      expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
      expect(text.length).toBeGreaterThan(5);
    },
  );

  it('[http 10] has names and types checked before who may write', async () => {
    const refusal = async (statement: string) =>
      (await running.sql('inn', statement, stranger)).text;
    expect(await refusal('DELETE FROM nothing')).toMatch(/^no such table/);
    expect(await refusal('UPDATE person SET nothing = 1')).not.toMatch(/not authorized/);
    expect(await refusal("UPDATE person SET name = 'x'")).toBe(
      `Caller ${stranger.identity} is not authorized to run SQL DML statements`,
    );
  });

  it('[http 10] is bounded for all but the owner, when the database says so', async () => {
    const table = '{ public: true }, { id: t.u32().primaryKey() }';
    const fill = `export const fill = db.reducer((ctx) => {
      for (let id = 0; id < 20; id += 1) ctx.db.item.insert({ id });
    });`;
    await running.upload('many', await written({ tables: { item: table }, exports: fill }), owner);
    await running.call('many', 'fill', []);
    expect((await running.sql('many', 'SET row_limit = 10', owner)).status).toBe(200);
    const all = 'SELECT * FROM item';
    expect(await running.sql('many', all, stranger)).toMatchObject({
      status: 400,
      text: 'Estimated cardinality (20 rows) exceeds limit (10 rows)',
    });
    expect((await running.sql('many', all, owner)).status).toBe(200);
  });

  it('[http 10] cannot be in a database that has gone', async () => {
    const body = await program('inn');
    await running.upload('gone', body, owner);
    await running.ask('DELETE', '/v1/database/gone', { as: owner });
    expect(await running.sql('gone', 'SELECT 1')).toMatchObject({
      status: 404,
      text: 'No such database.',
    });
  });
});
