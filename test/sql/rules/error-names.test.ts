import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { written } from '../../service/written-module.ts';
import {
  badLiteral,
  itAnswers,
  mismatch,
  noTable,
  notInScope,
  RulesDatabase,
} from './rules-database.ts';

let db: RulesDatabase;

beforeAll(async () => {
  db = await RulesDatabase.start();
});
beforeEach(() => db.fill());
afterAll(() => db.stop());

const full = (sql: string) => db.refusal(sql);
const subscription = (sql: string) => db.subscription(sql);

const identity = '(__identity__: U256)';

describe('names, types, counts', () => {
  itAnswers(
    '[sql 8.3] no such table: {t}. If the table exists, it may be marked private.',
    {
      'SELECT * FROM nope': noTable('nope'),
      'SELECT t.* FROM t JOIN nope ON t.id = nope.id': noTable('nope'),
      'INSERT INTO nope (a) VALUES (1)': noTable('nope'),
      'UPDATE nope SET a = 1': noTable('nope'),
      'DELETE FROM nope': noTable('nope'),
      'SELECT id FROM t WHERE id IN (SELECT id FROM nope)': noTable('nope'),
    },
    full,
  );
  for (const sql of [
    'SELECT * FROM secret',
    'SELECT COUNT(*) AS n FROM secret',
    'SELECT s.* FROM s JOIN secret ON s.id = secret.id',
    'INSERT INTO secret (id, text) VALUES (1, 2)',
    'UPDATE secret SET nope = 1',
    'DELETE FROM secret WHERE FALSE',
    'SELECT * FROM vault',
    'SELECT * FROM vault WHERE FALSE',
  ]) {
    it(`[sql 8.3] no such table, for a private one: ${sql}`, async () => {
      expect(await db.refusal(sql, 'ada')).toBe(noTable('secret'));
      expect(await db.refusal(sql, 'nobody')).toBe(noTable('secret'));
      if (!sql.startsWith('SELECT * ')) return;
      expect(db.subscription(sql, { who: 'ada' })).toBe(noTable('secret'));
    });
  }

  const scopes = {
    'SELECT x.* FROM t': notInScope('x'),
    'SELECT * FROM t WHERE x.a = 1': notInScope('x'),
    'SELECT * FROM t WHERE nope = 1': notInScope('nope'),
    'SELECT t.* FROM t JOIN s ON t.id = s.nope': notInScope('nope'),
    'SELECT t.* FROM t JOIN s ON t.id = x.id': notInScope('x'),
  };
  itAnswers(
    '[sql 8.3] {x} is not in scope',
    { 'SELECT nope FROM t': notInScope('nope'), ...scopes },
    full,
  );
  itAnswers('[sql 8.3] {x} is not in scope, in subscriptions', scopes, subscription);
  itAnswers(
    '[sql 8.3] {t} does not have a field {c}',
    {
      'UPDATE t SET nope = 1': '`t` does not have a field `nope`',
      'INSERT INTO s (id, nope) VALUES (1, 1)': '`s` does not have a field `nope`',
    },
    full,
  );
  itAnswers(
    '[sql 8.3] Duplicate name {n}',
    {
      'SELECT t.* FROM t JOIN t ON t.id = t.id': 'Duplicate name `t`',
      'SELECT q.* FROM t AS q JOIN s AS q ON q.id = q.id': 'Duplicate name `q`',
      'SELECT a, a FROM t': 'Duplicate name `a`',
      'SELECT a AS q, x AS q FROM t': 'Duplicate name `q`',
    },
    full,
  );
  itAnswers(
    '[sql 8.3] Duplicate name {n}, in subscriptions',
    { 'SELECT t.* FROM t JOIN t ON t.id = t.id': 'Duplicate name `t`' },
    subscription,
  );
  const star = {
    'SELECT * FROM t JOIN s ON t.id = s.id': 'SELECT * is not supported for joins',
    'SELECT * FROM t CROSS JOIN s': 'SELECT * is not supported for joins',
  };
  itAnswers('[sql 8.3] SELECT * is not supported for joins', star, full);
  itAnswers('[sql 8.3] SELECT * is not supported for joins, subscriptions', star, subscription);
  itAnswers(
    '[sql 8.3] Column projections are not supported in subscriptions',
    {
      'SELECT a FROM t':
        'Column projections are not supported in subscriptions; ' +
        'Subscriptions must return a table type',
    },
    subscription,
  );
  const untyped = {
    'SELECT * FROM t WHERE 1 = 1': 'Cannot resolve type for literal expression',
    "SELECT * FROM t WHERE 'x' <> 0x1": 'Cannot resolve type for literal expression',
  };
  itAnswers('[sql 8.3] both sides literals', untyped, full);
  itAnswers('[sql 8.3] both sides literals, in subscriptions', untyped, subscription);

  itAnswers(
    '[sql 8.3] Unexpected type: (expected) {A} != {B} (inferred)',
    {
      'SELECT * FROM t WHERE id': mismatch('U32', 'Bool'),
      'SELECT * FROM t WHERE id = x': mismatch('I32', 'U32'),
      'SELECT * FROM t WHERE id = TRUE': mismatch('Bool', 'U32'),
      "INSERT INTO s (id, x) VALUES ('1', 1)": mismatch('String', 'U32'),
      "UPDATE s SET x = 'x'": mismatch('String', 'I32'),
      'SELECT * FROM t WHERE id = :sender': mismatch(identity, 'U32'),
      'SELECT t.* FROM t JOIN s ON t.id = s.x': mismatch('I32', 'U32'),
    },
    full,
  );
  itAnswers(
    '[sql 8.3] The literal expression {v} cannot be parsed as type {T}',
    {
      'SELECT * FROM t WHERE u8 = 256': badLiteral('256', 'U8'),
      "SELECT * FROM t WHERE flag = 'x'": badLiteral('x', 'Bool'),
      'SELECT * FROM t LIMIT 1.5': badLiteral('1.5', 'U64'),
      'SET row_limit = 1.5': badLiteral('1.5', 'U64'),
      'SELECT * FROM opaque WHERE list = 5': badLiteral('5', 'Array<U32>'),
      'UPDATE t SET u8 = 300': badLiteral('300', 'U8'),
    },
    full,
  );
  itAnswers(
    '[sql 8.3] Invalid binary operator {op} for type {T}',
    Object.fromEntries(
      ['=', '<>', '<', '<=', '>', '>='].map((operator) => [
        `SELECT id FROM opaque WHERE list ${operator} list`,
        `Invalid binary operator \`${operator}\` for type \`Array<U32>\``,
      ]),
    ),
    full,
  );
  itAnswers(
    '[sql 8.3] != prints as <>',
    {
      'SELECT id FROM opaque WHERE point != point':
        'Invalid binary operator `<>` for type `(x: I32, y: I32)`',
    },
    full,
  );
  itAnswers(
    '[sql 8.3] counts of INSERT',
    {
      'INSERT INTO s VALUES (1, 1)':
        'The number of fields (0) in the INSERT does not match the number of columns (2) ' +
        'of the table `s`',
      'INSERT INTO s (id, x, y) VALUES (1, 1, 1)':
        'The number of fields (3) in the INSERT does not match the number of columns (2) ' +
        'of the table `s`',
      'INSERT INTO s (id, x) VALUES (1, 1, 1)':
        'Inserting a row with 3 values into `s` which has 2 fields',
    },
    full,
  );
  for (const sql of [
    'INSERT INTO keyed (key, viewed) VALUES (1, 2)',
    'UPDATE keyed SET viewed = 2',
    'DELETE FROM keyed',
  ]) {
    itAnswers(
      '[sql 8.3] {v} is a view; DML on views is not supported',
      { [sql]: '`keyed` is a view; DML on views is not supported' },
      full,
    );
  }
  itAnswers(
    '[sql 8.3] {name} is not a valid system variable',
    {
      'SET nope = 1': 'nope is not a valid system variable',
      'SHOW nope': 'nope is not a valid system variable',
    },
    full,
  );
  itAnswers(
    '[sql 8.3] Could not compute positional arguments, for an ON that connects nothing',
    {
      'SELECT t.* FROM t JOIN s ON t.id = t.a':
        'Could not compute positional arguments during query planning',
      'SELECT t.* FROM t JOIN s ON t.id = s.id JOIN one ON t.id = s.id':
        'Could not compute positional arguments during query planning',
    },
    subscription,
  );
});

describe('permissions and execution', () => {
  it('[sql 8.4] Caller {identity} is not authorized to run SQL DML statements', async () => {
    const text = `Caller ${db.identity('ada')} is not authorized to run SQL DML statements`;
    expect(text).toMatch(/^Caller [0-9a-f]{64} is/);
    for (const sql of ['DELETE FROM t', 'UPDATE t SET a = 1', 'SET row_limit = 1']) {
      expect(await db.refusal(sql, 'ada')).toBe(text);
    }
  });

  it('[sql 8.4] Estimated cardinality ({e} rows) exceeds limit ({l} rows)', async () => {
    await db.result('SET row_limit = 4');
    expect(await db.refusal('SELECT * FROM t', 'ada')).toBe(
      'Estimated cardinality (5 rows) exceeds limit (4 rows)',
    );
    await db.result('DELETE FROM st_var');
  });

  itAnswers(
    '[sql 8.4] of joins in subscriptions',
    {
      'SELECT t.* FROM t CROSS JOIN s': 'Subscriptions require indexes on join columns',
      'SELECT t.* FROM t JOIN s ON t.id = s.id JOIN s AS q ON q.id = t.id':
        'Invalid number of tables in subscription: 3',
      'SELECT t.* FROM t JOIN event_log AS e ON t.id = e.id':
        'Event tables cannot be used as the lookup table in subscription joins',
    },
    subscription,
  );

  it('[sql 8.4] Discovered cyclic dependency when resolving RLS rules', async () => {
    const sql = "SELECT table_id FROM st_table WHERE table_name = 'ring_a'";
    const [[id] = []] = await db.rows(sql);
    const text = `Discovered cyclic dependency when resolving RLS rules for table id \`${id}\``;
    expect(await db.refusal('SELECT * FROM ring_a', 'ada')).toBe(text);
    expect(db.subscription('SELECT * FROM ring_a', { who: 'ada' })).toBe(text);
    expect(await db.refusal('SELECT * FROM ring_a')).toBe('ok');
  });

  it('[sql 8.4] IndexError: named after the index, with columns and value', async () => {
    expect(await full('INSERT INTO s (id, x) VALUES (1, 7)')).toBe(
      "IndexError: Unique constraint violation 's_id_idx_btree' in table 's': " +
        `column(s): '["id"]' value: 1`,
    );
    const both = "INSERT INTO pair (a, b, c) VALUES (1, 'x', 1), (1, 'x', 2)";
    expect(await full(both)).toBe(
      "IndexError: Unique constraint violation 'pair_a_b_idx_btree' in table 'pair': " +
        `column(s): '["a", "b"]' value: (0 = 1, 1 = "x")`,
    );
    await db.result('SET row_limit = 4');
    expect(await full('SET row_limit = 5')).toMatch(
      /column\(s\): '\["name"\]' value: "row_limit"$/,
    );
    await db.result('DELETE FROM st_var');
  });

  it('[sql 8.4] The module instance encountered a fatal error: {msg}, evaluating', async () => {
    await db.result("INSERT INTO control (name, value) VALUES ('fragile', 1)");
    expect(await full('SELECT * FROM fragile')).toMatch(
      /^The module instance encountered a fatal error: ./,
    );
  });

  it('[sql 8.4] Cannot define RLS rule on private table: {t}, at publish', async () => {
    const made = await written({
      tables: { diary: '{}, { id: t.u32().primaryKey() }' },
      exports: "export const mine = db.clientVisibilityFilter.sql('SELECT * FROM diary');",
    });
    const answer = await db.running.upload('diaries', made, db.person('owner'));
    expect(answer.status).not.toBe(200);
    expect(answer.text).toContain(
      'Cannot define RLS rule on private table: diary. ' +
        'Please make table public if you wish to restrict access using RLS.',
    );
  });

  const ofViews: readonly (readonly [string, string])[] = [
    ['SELECT * FROM keyed', 'view definition cannot read from other views'],
    [
      'SELECT s.* FROM s JOIN keyed ON s.id = keyed.key',
      'view definition cannot read from other views',
    ],
    [
      'SELECT s.* FROM s JOIN owned ON s.id = s.id WHERE owned.owner = :sender',
      'parameterized SQL is not supported for view materialization yet',
    ],
    ['SELECT * FROM one', 'query returns `(a: U32)` but view expects `(id: U32, x: I32)`'],
    ['SELECT s.* FROM s CROSS JOIN t', 'Subscriptions require indexes on join columns'],
    ['SELECT id FROM s', 'Column projections are not supported in subscriptions; '],
  ];
  for (const [sql, text] of ofViews) {
    it(`[sql 8.4] a view asks ${sql}: ${text}`, async () => {
      await db.result('DELETE FROM wording');
      await db.result(`INSERT INTO wording (text) VALUES ('${sql}')`);
      const answer = await full('SELECT * FROM written');
      expect(answer).toContain('The module instance encountered a fatal error: ');
      expect(answer).toContain(text);
    });
  }
  it('[sql 8.4] a view may ask for rows of its own type, of a private table too', async () => {
    await db.result("INSERT INTO wording (text) VALUES ('SELECT * FROM s WHERE s.id > 1')");
    expect(await db.answer('SELECT id FROM written')).toBe('[[2],[3]]');
  });
});

describe('beside the text', () => {
  const headersOf = async (sql: string, who: 'owner' | 'ada' = 'owner') => {
    const { headers } = await db.ask(sql, who);
    const hint = headers.get('reducerdb-error-hint');
    return {
      place: headers.get('reducerdb-error-place'),
      hint: hint === null ? null : decodeURI(hint),
    };
  };
  const hints: readonly (readonly [string, string, string])[] = [
    ['SELECT * FROM nots', '1:15', 'Did you mean `note`?'],
    ['SELECT nmae FROM t', '1:8', 'Did you mean `name`?'],
    ['SELECT id\n  FROM t WHERE falg', '2:16', 'Did you mean `flag`?'],
    ['UPDATE t SET nam = 1', '1:14', 'Did you mean `name`?'],
    ['SELECT tt.id FROM t', '1:8', 'Did you mean `t`?'],
  ];
  for (const [sql, place, hint] of hints) {
    it(`[sql 8, rulings 5.5] ${JSON.stringify(sql)}: ${place}, ${hint}`, async () => {
      expect(await headersOf(sql)).toEqual({ place, hint });
    });
  }
  it('[sql 8] the nearest name is one that the caller may read', async () => {
    expect(await headersOf('SELECT * FROM secrets')).toMatchObject({
      hint: 'Did you mean `secret`?',
    });
    expect(await headersOf('SELECT * FROM secrets', 'ada')).toMatchObject({ hint: null });
    expect(await headersOf('SELECT * FROM secret', 'ada')).toMatchObject({ hint: null });
  });
  it('[ease 3.6] a hint is a line below the text, too', async () => {
    expect((await db.ask('SELECT * FROM nots')).text).toBe(
      'no such table: `nots`. If the table exists, it may be marked private.\n' +
        'hint: Did you mean `note`?',
    );
    const unknown = await db.ask('SELECT * FROM secrets', 'ada');
    expect(unknown.text).not.toContain('hint');
  });
  it('[sql 8] a syntax error has its place in text and header', async () => {
    expect(await headersOf('SELECT *\nFROM 5')).toEqual({ place: '2:6', hint: null });
  });
});
