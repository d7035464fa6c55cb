import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../../src/limits.ts';
import { itAnswers, noTable, RulesDatabase } from './rules-database.ts';

let db: RulesDatabase;

beforeAll(async () => {
  db = await RulesDatabase.start();
});
beforeEach(() => db.fill());
afterAll(() => db.stop());

const refusal = (sql: string) => db.refusal(sql);
const threeTables =
  'SELECT t.* FROM t JOIN s ON t.id = s.id JOIN user_profile AS u ON u.user_id = s.id';

describe('surfaces', () => {
  it('[sql 1] HTTP: the body is the statement, as text and not as JSON', async () => {
    expect(await db.rows('SELECT name FROM t WHERE id = 1')).toEqual([['n1']]);
    expect(await db.refusal('"SELECT name FROM t"')).toMatch(/^sql parser error: /);
    await db.result("INSERT INTO numbered (id, text) VALUES (0, 'ſøl 🐈')");
    expect(await db.rows('SELECT text FROM numbered')).toEqual([['ſøl 🐈']]);
  });

  it('[sql 1] HTTP: the body is UTF-8', async () => {
    const body = Uint8Array.of(0x53, 0xff);
    const answer = await db.running.ask('POST', '/v1/database/rules/sql', { body });
    expect(answer.status).toBe(400);
    expect(answer.text).toMatch(/invalid utf-8/i);
  });

  it('[sql 1] HTTP: the full dialect joins any number of tables, by any plan', async () => {
    expect(await db.rows(threeTables)).toHaveLength(1);
    expect(await db.rows('SELECT t.id FROM t JOIN one ON t.a = one.a')).toEqual([]);
    expect(await db.rows('SELECT t.id FROM t CROSS JOIN one')).toHaveLength(25);
  });

  it('[sql 1] HTTP: views are evaluated on demand', async () => {
    await db.result("INSERT INTO secret (id, text) VALUES (1, 'plot')");
    expect(await db.rows('SELECT text FROM open_secrets', 'nobody')).toEqual([['plot']]);
  });

  it('[sql 1] HTTP: the caller is the identity of the token', async () => {
    const digits = db.identity('ada');
    await db.result(`INSERT INTO owned (owner, key) VALUES (0x${digits}, 0x01)`);
    const mine = 'SELECT key FROM owned WHERE owner = :sender';
    expect(await db.rows(mine, 'ada')).toEqual([['01']]);
    expect(await db.rows(mine, 'bob')).toEqual([]);
  });

  it('[sql 1] HTTP: without a token each request has a fresh anonymous identity', async () => {
    const first = await db.rows('SELECT identity FROM st_client', 'nobody');
    const second = await db.rows('SELECT identity FROM st_client', 'nobody');
    expect(first).toHaveLength(1);
    expect(second).toHaveLength(1);
    expect(first).not.toEqual(second);
  });

  it('[sql 1] OneOffQuery: the subscription dialect, without index rule and table limit', () => {
    const ask = (sql: string) => db.subscription(sql, { joinRules: false });
    expect(ask(threeTables)).toBe('ok');
    expect(ask('SELECT t.* FROM t JOIN indexed ON t.a = indexed.bare')).toBe('ok');
    expect(ask('SELECT id FROM t')).toMatch(/^Column projections are not supported/);
  });

  it('[sql 1] Subscribe: at most two tables, and an index', () => {
    expect(db.subscription(threeTables)).toBe('Invalid number of tables in subscription: 3');
    expect(db.subscription('SELECT t.* FROM t JOIN indexed ON t.a = indexed.bare')).toBe(
      'Subscriptions require indexes on join columns',
    );
  });

  it('[sql 1] filters: typed as the owner at publish, as the querying caller at use', async () => {
    expect(await db.refusal('SELECT * FROM vault')).toBe('ok');
    expect(await db.refusal('SELECT * FROM vault', 'ada')).toBe(noTable('secret'));
  });

  it('[sql 1] queries of views: the visibility of the owner, without filters', async () => {
    await db.result("INSERT INTO secret (id, text) VALUES (1, 'plot')");
    const values = `(1, 0x${db.identity('ada')}, 'hers')`;
    await db.result(`INSERT INTO note (id, owner, text) VALUES ${values}`);
    expect(await db.rows('SELECT text FROM queried_secrets', 'bob')).toEqual([['plot']]);
    expect(await db.rows('SELECT text FROM queried_notes', 'bob')).toEqual([['hers']]);
    expect(await db.rows('SELECT text FROM note', 'bob')).toEqual([]);
  });
});

describe('one statement', () => {
  itAnswers(
    '[sql 1] exactly one statement, trailing semicolons are fine',
    {
      'SELECT * FROM t;': 'ok',
      'SELECT * FROM t;;; ': 'ok',
      'SELECT * FROM t; SELECT * FROM t': 'Multiple SQL statements are not supported',
      'DELETE FROM one; SELECT * FROM t;': 'Multiple SQL statements are not supported',
      '': 'Empty SQL query',
      ' \n\t ': 'Empty SQL query',
      ';': 'Empty SQL query',
      '-- nothing to do': 'Empty SQL query',
    },
    refusal,
  );

  it('[sql 1] neither of two statements is run', async () => {
    await db.refusal('DELETE FROM one; DELETE FROM s');
    expect(await db.rows('SELECT * FROM one')).toHaveLength(5);
  });

  it('[sql 1] a text of 50,000 bytes is read, a longer one is not', async () => {
    const start = "SELECT * FROM t WHERE name = '";
    const text = `${start}${'x'.repeat(50_000 - start.length - 1)}'`;
    expect(limits.sqlBytesMax).toBe(50_000);
    expect(await db.refusal(text)).toBe('ok');
    expect(await db.refusal(`${text} `)).toBe(
      `SQL query exceeds maximum allowed length: "${text.slice(0, 120)}..."`,
    );
    // Bytes count, not characters.
    expect(await db.refusal(`SELECT '${'ß'.repeat(25_000)}'`)).toMatch(/^SQL query exceeds max/);
  });
});

describe('transactions', () => {
  it('[sql 1] each statement is its own transaction', async () => {
    expect(await db.refusal('INSERT INTO s (id, x) VALUES (8, 8), (1, 9)')).toMatch(/^IndexError/);
    expect(await db.bag('SELECT id FROM s')).toEqual([[1], [2], [3]]);
    await db.result('INSERT INTO s (id, x) VALUES (8, 8)');
    expect(await db.rows('SELECT id FROM s')).toHaveLength(4);
  });

  itAnswers(
    '[sql 1] there is no BEGIN, COMMIT or ROLLBACK',
    {
      BEGIN: /^Unsupported: BEGIN/,
      'BEGIN TRANSACTION': /^Unsupported: BEGIN/,
      'START TRANSACTION': /^Unsupported: START/,
      COMMIT: /^Unsupported: COMMIT/,
      ROLLBACK: /^Unsupported: ROLLBACK/,
    },
    refusal,
  );

  itAnswers(
    '[sql 1] DDL does not exist in SQL',
    {
      'CREATE TABLE x (a INT)': /^Unsupported: CREATE TABLE/,
      'CREATE INDEX i ON t (a)': /^Unsupported: CREATE INDEX/,
      'DROP TABLE t': /^Unsupported: DROP TABLE/,
      'ALTER TABLE t ADD COLUMN y INT': /^Unsupported: ALTER TABLE/,
      'TRUNCATE TABLE t': /^Unsupported: TRUNCATE/,
    },
    refusal,
  );
});

describe('the connection of a call', () => {
  const visits = async () => (await db.rows('SELECT what, link FROM visit ORDER BY id')).slice(-4);

  it('[sql 1] a connection id is generated; the client connects, then always leaves', async () => {
    await db.rows('SELECT * FROM t');
    await db.refusal('SELECT nope FROM t');
    const seen = await visits();
    // The last row is the visit of this very request, which has not left yet.
    const [, failedIn, failedOut, now] = seen;
    expect(seen.map(([what]) => what)).toEqual(['left', 'arrived', 'left', 'arrived']);
    expect(failedIn?.[1]).toEqual(failedOut?.[1]);
    expect(now?.[1]).not.toEqual(failedIn?.[1]);
  });

  it('[sql 1] while a statement runs its connection is a row of st_client', async () => {
    const rows = await db.rows('SELECT identity FROM st_client', 'ada');
    expect(rows).toEqual([[`0x${db.identity('ada').replace(/^0+/, '')}`]]);
    expect(await db.rows('SELECT identity FROM st_client', 'bob')).toHaveLength(1);
  });

  it('[sql 1] an error of the client-connected reducer is HTTP 403 with its message', async () => {
    await db.result("INSERT INTO control (name, value) VALUES ('closed', 1)");
    const answer = await db.ask('DELETE FROM one', 'owner');
    expect(answer).toMatchObject({ status: 403, text: 'closed today' });
    // Nobody gets in any more, so this database is done with.
    await db.stop();
    db = await RulesDatabase.start();
  });
});

describe('the HTTP outcome', () => {
  it('[sql 1] 200: one result, and how long it took in a header', async () => {
    const { status, text, headers } = await db.ask('SELECT * FROM one');
    expect(status).toBe(200);
    expect(JSON.parse(text)).toHaveLength(1);
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    expect(headers.get('spacetime-execution-duration-micros')).toMatch(/^\d+$/);
  });

  const wrong: readonly (readonly [string, string])[] = [
    ['parse', 'SELEKT'],
    ['type', 'SELECT * FROM t WHERE id'],
    ['permission', 'SELECT * FROM nope'],
    ['limit', `SELECT ${'x'.repeat(50_000)}`],
    ['constraint', 'INSERT INTO s (id, x) VALUES (1, 9)'],
  ];
  for (const [kind, sql] of wrong) {
    it(`[sql 1] 400: the bare text of a ${kind} error`, async () => {
      const { status, text, headers } = await db.ask(sql);
      expect(status).toBe(400);
      expect(text).toMatch(/^(sql parser error: |Unexpected type|no such t|SQL query|IndexError)/);
      expect(headers.get('content-type')).toMatch(/^text\/plain/);
    });
  }

  it('[sql 1] 400: the bare text of an error while a view is evaluated', async () => {
    await db.result("INSERT INTO control (name, value) VALUES ('fragile', 1)");
    const { status, text } = await db.ask('SELECT * FROM fragile');
    expect(status).toBe(400);
    expect(text).toMatch(/^The module instance encountered a fatal error: /);
  });

  it('[sql 1] 404: an unknown database', async () => {
    const body = 'SELECT * FROM t';
    const byName = await db.running.ask('POST', '/v1/database/nowhere/sql', { body });
    expect(byName).toMatchObject({ status: 404, text: '`nowhere` not found' });
    const identity = `/v1/database/c200${'0'.repeat(60)}/sql`;
    const byIdentity = await db.running.ask('POST', identity, { body });
    expect(byIdentity).toMatchObject({ status: 404, text: 'No such database.' });
  });

  it('[sql 1] 401: a token that is none', async () => {
    const as = { identity: '', token: 'no.token.atall' };
    expect((await db.running.sql('rules', 'SELECT * FROM t', as)).status).toBe(401);
  });

  it('[sql 1] confirmed is true or false, and makes no difference to the answer', async () => {
    for (const confirmed of ['true', 'false']) {
      const where = `/v1/database/rules/sql?confirmed=${confirmed}`;
      const as = db.person('owner');
      const body = 'INSERT INTO one (a) VALUES (77)';
      expect(await db.running.ask('POST', where, { as, body })).toMatchObject({ status: 200 });
      expect(await db.rows('SELECT a FROM one WHERE a = 77')).toEqual([[77]]);
    }
    const wrong = '/v1/database/rules/sql?confirmed=perhaps';
    const answer = await db.running.ask('POST', wrong, { body: 'SELECT * FROM one' });
    expect(answer.status).toBe(400);
  });
});
