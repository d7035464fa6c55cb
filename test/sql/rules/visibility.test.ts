import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/limits.ts';
import { written } from '../../service/written-module.ts';
import { itAnswers, noTable, RulesDatabase } from './rules-database.ts';

let db: RulesDatabase;

beforeAll(async () => {
  db = await RulesDatabase.start();
  await fillAll();
});
afterAll(() => db.stop());

async function fillAll(): Promise<void> {
  await db.fill();
  await db.result("INSERT INTO secret (id, text) VALUES (1, 'plot'), (2, 'plan')");
  const [ada, bob] = [db.identity('ada'), db.identity('bob')];
  await db.result(
    `INSERT INTO note (id, owner, text) VALUES (1, 0x${ada}, 'a1'), (2, 0x${bob}, 'b2'),
      (3, 0x${ada}, 'a3')`,
  );
  await db.result(
    `INSERT INTO letter (id, from_who, to_who) VALUES (1, 0x${ada}, 0x${bob}),
      (2, 0x${bob}, 0x${ada}), (3, 0x${bob}, 0x${bob}), (4, 0x${ada}, 0x${ada})`,
  );
  await db.result("INSERT INTO room (id, name) VALUES (10, 'x'), (11, 'y'), (12, 'z')");
  await db.result(
    `INSERT INTO member (id, room_id, who) VALUES (1, 10, 0x${ada}), (2, 11, 0x${bob}),
      (3, 11, 0x${ada})`,
  );
  await db.result('INSERT INTO vault (id, gold) VALUES (1, 100)');
  await db.result('INSERT INTO tree (id, parent) VALUES (1, 0), (2, 1), (3, 2)');
}

const asOwner = (sql: string) => db.answer(sql);
const asAda = (sql: string) => db.answer(sql, 'ada');
const asBob = (sql: string) => db.answer(sql, 'bob');
const asNobody = (sql: string) => db.answer(sql, 'nobody');

describe('tables', () => {
  itAnswers(
    '[sql 10.1] the owner reads public and private tables, past filters',
    {
      'SELECT id FROM secret': '[[1],[2]]',
      'SELECT COUNT(*) AS n FROM t': '[[5]]',
      'SELECT id FROM note': '[[1],[2],[3]]',
      'SELECT id FROM letter': '[[1],[2],[3],[4]]',
      'SELECT id FROM vault': '[[1]]',
    },
    asOwner,
  );
  const forOthers = {
    'SELECT COUNT(*) AS n FROM t': '[[5]]',
    'SELECT id FROM secret': noTable('secret'),
    'DELETE FROM t': /^Caller [0-9a-f]{64} is not authorized to run SQL DML statements$/,
  };
  itAnswers('[sql 10.1] anyone else reads public tables and writes none', forOthers, asAda);
  itAnswers('[sql 10.1] so does who is anonymous', forOthers, asNobody);
  itAnswers(
    '[sql 10.1] merely mentioning a private table fails',
    {
      'SELECT t.id FROM t JOIN secret ON t.id = secret.id': noTable('secret'),
      'SELECT t.id FROM t CROSS JOIN secret WHERE FALSE': noTable('secret'),
      'SELECT * FROM secret WHERE FALSE': noTable('secret'),
      'SELECT COUNT(*) AS n FROM secret': noTable('secret'),
      'SELECT * FROM secret LIMIT 0': noTable('secret'),
      'SELECT id FROM t WHERE FALSE AND id IN (SELECT id FROM secret)': noTable('secret'),
      'EXPLAIN SELECT * FROM secret': noTable('secret'),
    },
    asAda,
  );
  it('[sql 10.1] the owner is exempt from the row limit', async () => {
    await db.result('SET row_limit = 1');
    expect(await db.refusal('SELECT * FROM t')).toBe('ok');
    expect(await db.refusal('SELECT * FROM t', 'ada')).toMatch(/^Estimated cardinality/);
    await db.result("DELETE FROM st_var WHERE name = 'row_limit'");
  });
});

describe('views', () => {
  itAnswers(
    '[sql 10.2] are used like tables, also in joins',
    {
      'SELECT key FROM keyed WHERE key > 1': '[[2],[3]]',
      'SELECT COUNT(*) AS n FROM keyed': '[[3]]',
      'SELECT t.name, k.viewed FROM t JOIN keyed AS k ON t.id = k.key WHERE t.id = 2':
        '[["n2","s2"]]',
      'SELECT id FROM t WHERE id IN (SELECT key FROM keyed)': '[[1],[2],[3]]',
    },
    asAda,
  );
  it('[sql 10.2] are used like tables in subscriptions', () => {
    expect(db.subscription('SELECT * FROM keyed WHERE keyed.key > 1', { who: 'ada' })).toBe('ok');
  });
  it('[sql 10.2, abi 11.1] a private view is the owner’s, a public one everybody’s', async () => {
    expect(await asOwner('SELECT id FROM hidden_notes')).toBe('[[1],[2],[3]]');
    expect(await asAda('SELECT id FROM hidden_notes')).toBe(noTable('hidden_notes'));
    expect(await asNobody('SELECT id FROM every_note')).toBe('[[1],[2],[3]]');
  });
  it('[sql 10.2] a view of the sender shows each caller their own rows', async () => {
    expect(await asAda('SELECT id FROM my_notes')).toBe('[[1],[3]]');
    expect(await asBob('SELECT id FROM my_notes')).toBe('[[2]]');
    expect(await asOwner('SELECT id FROM my_notes')).toBe('[]');
    expect(await asNobody('SELECT id FROM my_notes')).toBe('[]');
  });
  it('[sql 10.2] an anonymous view shows all callers the same rows', async () => {
    for (const ask of [asOwner, asAda, asNobody]) {
      expect(await ask('SELECT id FROM every_note')).toBe('[[1],[2],[3]]');
    }
  });
  itAnswers(
    '[sql 10.2] there are no views with parameters',
    { 'SELECT * FROM my_notes(1)': 'Unsupported FROM expression: my_notes(1)' },
    asAda,
  );
  it('[sql 10.2] it is kept for at least ten minutes after its last use', () => {
    expect(limits.viewIdleMillisMax).toBeGreaterThanOrEqual(600_000);
  });
  itAnswers(
    '[sql 10.2] identical rows of one evaluation collapse',
    { 'SELECT * FROM twice': '[["again"]]', 'SELECT COUNT(*) AS n FROM twice': '[[1]]' },
    asAda,
  );
  itAnswers(
    '[sql 10.2] inside a view there are no filters, and private tables are readable',
    {
      'SELECT id FROM every_note': '[[1],[2],[3]]',
      'SELECT id FROM open_secrets': '[[1],[2]]',
      'SELECT id FROM note': '[[1],[3]]',
    },
    asAda,
  );
});

describe('writes', () => {
  afterEach(fillAll);

  it('[sql 10.2] a view is kept while what it read is unchanged', async () => {
    const runs = async () => {
      const lines = await db.running.messages('rules', db.person('owner'));
      return lines.filter((line) => line.endsWith('my_notes runs')).length;
    };
    await asAda('SELECT id FROM my_notes');
    const before = await runs();
    await asAda('SELECT id FROM my_notes');
    await asAda('SELECT COUNT(*) AS n FROM my_notes');
    await db.result('INSERT INTO one (a) VALUES (99)');
    await asAda('SELECT id FROM my_notes');
    expect(await runs()).toBe(before);
    await db.result(`INSERT INTO note (id, owner, text) VALUES (9, 0x${db.identity('ada')}, '')`);
    expect(await asAda('SELECT id FROM my_notes')).toBe('[[1],[3],[9]]');
    expect(await runs()).toBeGreaterThan(before);
  });
  it('[sql 10.3] filters do not hold for writes', async () => {
    expect(await db.counts("UPDATE note SET text = 'changed'")).toEqual([0, 0, 3]);
    expect(await db.counts('DELETE FROM letter')).toEqual([0, 4, 0]);
  });
});

describe('row-level security', () => {
  it('[sql 10.3] filters are rows of st_row_level_security', async () => {
    const rows = await db.bag('SELECT sql FROM st_row_level_security');
    expect(rows).toHaveLength(9);
    expect(rows).toContainEqual(['SELECT * FROM note WHERE owner = :sender']);
  });
  itAnswers(
    '[sql 10.3] a query of anyone but the owner sees what the filter lets through',
    {
      'SELECT id FROM note': '[[1],[3]]',
      'SELECT COUNT(*) AS n FROM note': '[[2]]',
      'SELECT q.id FROM note AS q WHERE q.id > 1': '[[3]]',
      "SELECT id FROM note WHERE text = 'b2'": '[]',
      'SELECT id FROM note WHERE id = 2': '[]',
      'SELECT id FROM t WHERE id IN (SELECT id FROM note)': '[[1],[3]]',
      'SELECT t.id FROM t LEFT JOIN note ON t.id = note.id WHERE note.id IS NULL AND t.id < 4':
        '[[2]]',
    },
    asAda,
  );
  itAnswers(
    '[sql 10.3] every occurrence is replaced, under its alias',
    {
      'SELECT a.id, b.id AS other FROM note AS a JOIN note AS b ON a.owner = b.owner':
        '[[1,1],[1,3],[3,1],[3,3]]',
      'SELECT a.id FROM member AS note JOIN note AS a ON note.id = a.id': '[[1],[3]]',
      // The filter of room has a relation of its own named member.
      'SELECT room.id, member.id AS m FROM room JOIN member ON room.id = member.room_id':
        '[[10,1],[11,3]]',
    },
    asAda,
  );
  itAnswers(
    '[ease 3.9] several filters are OR: who matches two is returned once',
    {
      'SELECT id FROM letter': '[[1],[2],[4]]',
      'SELECT COUNT(*) AS n FROM letter': '[[3]]',
      'SELECT a.id FROM letter AS a JOIN letter AS b ON a.id = b.id WHERE a.id = 4': '[[4]]',
      'SELECT t.id FROM t JOIN letter ON t.id = letter.id': '[[1],[2],[4]]',
    },
    asAda,
  );
  it('[sql 10.3] without an identity that anything belongs to there is nothing', async () => {
    for (const table of ['note', 'letter', 'member', 'room']) {
      expect(await asNobody(`SELECT id FROM ${table}`)).toBe('[]');
    }
  });
  itAnswers(
    '[sql 10.3] tables without filters are unaffected',
    { 'SELECT id FROM s': '[[1],[2],[3]]' },
    asAda,
  );
  itAnswers(
    '[sql 10.3] filters of other tables hold inside a filter, recursively',
    { 'SELECT id FROM room': '[[10],[11]]', 'SELECT id FROM member': '[[1],[3]]' },
    asAda,
  );
  it('[sql 10.3] each caller by their own rows', async () => {
    expect(await asBob('SELECT id FROM room')).toBe('[[11]]');
    expect(await asBob('SELECT id FROM letter')).toBe('[[1],[2],[3]]');
  });
  itAnswers(
    '[sql 10.3] the table itself is not expanded within its own filter',
    { 'SELECT id FROM tree': '[[2],[3]]' },
    asAda,
  );
  it('[sql 10.3] filters that need each other are a cyclic dependency, at query time', async () => {
    const text = /^Discovered cyclic dependency when resolving RLS rules for table id `\d+`$/;
    for (const sql of [
      'SELECT * FROM ring_a',
      'SELECT * FROM ring_b',
      'SELECT s.* FROM s JOIN ring_a ON s.id = ring_a.id',
    ]) {
      expect(await asAda(sql)).toMatch(text);
      expect(await db.refusal(sql)).toBe('ok');
    }
  });
  itAnswers(
    '[sql 10.3] a filter that mentions a private table fails for everybody else',
    {
      'SELECT * FROM vault': noTable('secret'),
      'SELECT COUNT(*) AS n FROM vault WHERE FALSE': noTable('secret'),
      'SELECT t.id FROM t JOIN vault ON t.id = vault.id': noTable('secret'),
    },
    asAda,
  );
  it('[sql 10.3] filters hold for subscriptions and one-off queries', () => {
    const options = { who: 'ada' } as const;
    expect(db.subscription('SELECT * FROM vault', options)).toBe(noTable('secret'));
    expect(db.subscription('SELECT * FROM vault', { ...options, joinRules: false })).toBe(
      noTable('secret'),
    );
    expect(db.subscription('SELECT * FROM ring_a', options)).toMatch(/^Discovered cyclic/);
  });
  it('[sql 10.3] a filter on the first relation of a join keeps the indexed join', () => {
    const options = { who: 'ada' } as const;
    expect(db.subscription('SELECT note.* FROM note JOIN s ON note.id = s.id', options)).toBe('ok');
  });
  it('[sql 10.3] filters with joins count against the two tables of a subscription', () => {
    expect(db.subscription('SELECT * FROM room', { who: 'ada' })).toBe('ok');
    expect(
      db.subscription('SELECT room.* FROM room JOIN s ON room.id = s.id', { who: 'ada' }),
    ).toBe('Invalid number of tables in subscription: 3');
    expect(db.subscription('SELECT room.* FROM room JOIN s ON room.id = s.id')).toBe('ok');
  });
  itAnswers(
    '[sql 10.3] ad-hoc SQL has no such limits',
    {
      'SELECT room.id FROM room JOIN s ON room.id = s.id': '[]',
      'SELECT s.id FROM s JOIN note ON s.id = note.id': '[[1],[3]]',
    },
    asAda,
  );

  const wrong: readonly (readonly [string, string])[] = [
    ['SELECT * FORM note', 'sql parser error: '],
    ['SELECT id FROM note', 'Column projections are not supported in subscriptions; '],
    ['SELECT * FROM secret', 'Cannot define RLS rule on private table: secret.'],
    ['SELECT * FROM nope', 'no such table: `nope`'],
    ["SELECT * FROM note WHERE id = 'x'", 'The literal expression `x` cannot be parsed as type'],
    ['SELECT * FROM note ORDER BY id', 'Unsupported: '],
  ];
  for (const [sql, text] of wrong) {
    it(`[sql 10.3] a publish fails with the filter ${sql}`, async () => {
      const made = await written({
        tables: {
          note: '{ public: true }, { id: t.u32().primaryKey(), owner: t.identity() }',
          secret: '{}, { id: t.u32().primaryKey() }',
        },
        exports: `export const f = db.clientVisibilityFilter.sql(${JSON.stringify(sql)});`,
      });
      const answer = await db.running.upload('wrong', made, db.person('owner'));
      expect(answer.status).not.toBe(200);
      expect(answer.text).toContain(text);
    });
  }
  it('[sql 10.3] a filter may join any number of tables', async () => {
    const filter = `SELECT a.* FROM note AS a JOIN word AS b ON a.id = b.id JOIN word AS c
      ON b.id = c.id JOIN word AS d ON c.id = d.id`;
    const made = await written({
      tables: {
        note: '{ public: true }, { id: t.u32().primaryKey() }',
        word: '{ public: true }, { id: t.u32() }',
      },
      exports: `export const f = db.clientVisibilityFilter.sql(${JSON.stringify(filter)});`,
    });
    const answer = await db.running.upload('joined', made, db.person('owner'));
    expect(answer).toMatchObject({ status: 200 });
    expect(await db.running.rows('joined', 'SELECT * FROM note', db.person('ada'))).toEqual([]);
  });
  it('[sql 10.3] a text is unique per database', async () => {
    const filter = "db.clientVisibilityFilter.sql('SELECT * FROM note');";
    const made = await written({
      tables: { note: '{ public: true }, { id: t.u32().primaryKey() }' },
      exports: `export const f = ${filter} export const g = ${filter}`,
    });
    const answer = await db.running.upload('twice', made, db.person('owner'));
    expect(answer.status).not.toBe(200);
    expect(answer.text).toContain('An RLS rule is defined twice');
  });
  it('[sql 10.3] changing a filter is a change that disconnects clients', async () => {
    const tables = { note: '{ public: true }, { id: t.u32().primaryKey() }' };
    const filtered = (sql: string) =>
      written({ tables, exports: `export const f = db.clientVisibilityFilter.sql('${sql}');` });
    const owner = db.person('owner');
    const first = await filtered('SELECT * FROM note');
    expect(await db.running.upload('changing', first, owner)).toMatchObject({ status: 200 });
    const plan = async (made: Parameters<typeof db.running.plan>[1]) =>
      JSON.parse((await db.running.plan('changing', made, owner)).text).AutoMigrate;
    expect(await plan(first)).toMatchObject({ break_clients: false });
    expect(await plan(await filtered('SELECT * FROM note WHERE id > 5'))).toMatchObject({
      break_clients: true,
    });
    expect(await plan(await written({ tables }))).toMatchObject({ break_clients: true });
  });
});
