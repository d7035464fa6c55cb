import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { checkSubscription } from '../../../src/sql/check/check-subscription.ts';
import { parse } from '../../../src/sql/syntax/parse.ts';
import { refusal as refusalOf, sampleSchema, scopeFor } from '../check-statement.ts';
import { itAnswers, notInScope, RulesDatabase } from './rules-database.ts';

let db: RulesDatabase;

beforeAll(async () => {
  db = await RulesDatabase.start();
});
beforeEach(() => db.fill());
afterAll(() => db.stop());

const ask = (sql: string) => db.subscription(sql);
const asAda = (sql: string) => db.subscription(sql, { who: 'ada' });
const asked = (sql: string) => db.subscription(sql, { joinRules: false });

const projection =
  'Column projections are not supported in subscriptions; Subscriptions must return a table type';
const noIndex = 'Subscriptions require indexes on join columns';

describe('whole rows', () => {
  itAnswers(
    '[sql 6] query := SELECT [ALL] (* | rel.*) FROM from [WHERE predicate]',
    {
      'SELECT * FROM t': 'ok',
      'SELECT ALL * FROM t WHERE flag': 'ok',
      'SELECT t.* FROM t': 'ok',
      "SELECT q.* FROM t AS q WHERE q.a > 5 OR q.name = 'x'": 'ok',
      'SELECT * FROM t WHERE flag = TRUE AND TRUE = TRUE': 'ok',
      'SELECT * FROM owned WHERE owner = :sender': 'ok',
      'SELECT s.* FROM t JOIN s ON t.a = s.id WHERE t.flag': 'ok',
      'SELECT * FROM my_notes': 'ok',
      'SELECT * FROM st_client': 'ok',
    },
    ask,
  );
  itAnswers(
    '[sql 6.1] a column list or COUNT is refused',
    {
      'SELECT id FROM t': projection,
      'SELECT id, a FROM t': projection,
      'SELECT t.id FROM t': projection,
      'SELECT id AS q FROM t': projection,
      'SELECT COUNT(*) AS n FROM t': projection,
      'SELECT t.id FROM t JOIN s ON t.id = s.id': projection,
    },
    ask,
  );
  itAnswers(
    '[sql 6.1] there is no LIMIT, but LIMIT ALL passes',
    {
      'SELECT * FROM t LIMIT 1': 'Unsupported: SELECT * FROM t LIMIT 1',
      'SELECT * FROM t LIMIT ALL': 'ok',
    },
    ask,
  );
  itAnswers(
    '[sql 6.1] any other statement',
    Object.fromEntries(
      [
        'INSERT INTO s (id, x) VALUES (1, 1)',
        'UPDATE s SET x = 1',
        'DELETE FROM s',
        'SET row_limit = 1',
        'SHOW row_limit',
        'CREATE TABLE q (a INT)',
        'BEGIN',
      ].map((sql) => [sql, 'Unsupported: Non-SELECT queries']),
    ),
    ask,
  );
  itAnswers(
    '[sql 6.1] blanks around the text do not matter',
    { ' \n\tSELECT * FROM t \n ': 'ok', 'SELECT * FROM t;': 'ok' },
    ask,
  );
  itAnswers(
    '[sql 6.1] SELECT * FROM * is no SQL',
    { 'SELECT * FROM *': /^sql parser error: Expected identifier, found: \*/ },
    ask,
  );
  it('[sql 6.1] nor is it in the full dialect', async () => {
    expect(await db.refusal('SELECT * FROM *')).toMatch(/^sql parser error: /);
  });

  for (const [sql, table] of [
    ['SELECT * FROM userProfile', 'user_profile'],
    ['SELECT * FROM user_profile AS other', 'user_profile'],
    ['SELECT q.* FROM s JOIN userProfile AS q ON s.id = q.userId', 'user_profile'],
    ['SELECT * FROM myNotes', 'my_notes'],
  ] as const) {
    it(`[sql 6.2] the returned table has its canonical name: ${sql}`, () => {
      expect(db.returnedTable(sql)).toBe(table);
    });
  }
});

describe('joins', () => {
  itAnswers(
    '[sql 6.3] at most two relations',
    {
      'SELECT t.* FROM t JOIN s ON t.id = s.id': 'ok',
      'SELECT t.* FROM t JOIN s ON t.id = s.id JOIN one ON one.a = s.id':
        'Invalid number of tables in subscription: 3',
      'SELECT t.* FROM t JOIN s ON t.id = s.id JOIN s AS r ON r.id = s.id JOIN s AS q ON q.id = s.id':
        'Invalid number of tables in subscription: 4',
    },
    ask,
  );
  itAnswers(
    '[sql 6.3] neither filtered: the second is probed',
    {
      'SELECT one.* FROM one JOIN indexed ON one.a = indexed.tree': 'ok',
      'SELECT one.* FROM one JOIN indexed ON one.a = indexed.bare': noIndex,
      'SELECT one.* FROM indexed JOIN one ON one.a = indexed.tree': noIndex,
    },
    ask,
  );
  itAnswers(
    '[sql 6.3] the first not filtered and the second filtered: the first is probed',
    {
      'SELECT one.* FROM indexed JOIN one ON one.a = indexed.tree WHERE one.a = 5': 'ok',
      'SELECT one.* FROM indexed JOIN one ON one.a = indexed.tree WHERE one.a > 5': 'ok',
      'SELECT one.* FROM indexed JOIN one ON one.a = indexed.bare WHERE one.a = 5': noIndex,
      'SELECT one.* FROM one JOIN indexed ON one.a = indexed.tree WHERE indexed.bare = 5': noIndex,
    },
    ask,
  );
  itAnswers(
    '[sql 6.3] both filtered, or the first: the second is probed',
    {
      'SELECT one.* FROM one JOIN indexed ON one.a = indexed.tree WHERE one.a = 5': 'ok',
      'SELECT one.* FROM one JOIN indexed ON one.a = indexed.tree WHERE one.a = 5 AND indexed.bare = 1':
        'ok',
      'SELECT one.* FROM indexed JOIN one ON one.a = indexed.tree WHERE one.a = 5 AND indexed.bare = 1':
        noIndex,
    },
    ask,
  );
  itAnswers(
    '[sql 6.3] only a conjunct of its own filters a relation',
    {
      // Not at the top: the second relation counts as not filtered.
      'SELECT one.* FROM indexed JOIN one ON one.a = indexed.tree WHERE one.a = 5 OR one.a = 6':
        noIndex,
      'SELECT one.* FROM indexed JOIN one ON one.a = indexed.tree WHERE one.a = one.a': noIndex,
      'SELECT one.* FROM indexed JOIN one ON one.a = indexed.tree WHERE 5 <> one.a': 'ok',
    },
    ask,
  );
  const toOwned = 'SELECT note.* FROM note JOIN owned ON note.owner = owned.owner';
  itAnswers(
    '[sql 6.3] a comparison with :sender filters a relation',
    { [toOwned]: noIndex, [`${toOwned} WHERE owned.owner = :sender`]: 'ok' },
    ask,
  );

  for (const [column, other] of [
    ['id', 'a unique index'],
    ['hashed', 'a hash index'],
    ['tree', 'a btree index'],
  ]) {
    it(`[sql 6.3] any algorithm counts: ${other}`, () => {
      expect(ask(`SELECT one.* FROM one JOIN indexed ON one.a = indexed.${column}`)).toBe('ok');
    });
  }
  itAnswers(
    '[sql 6.3] a direct index counts',
    { 'SELECT t.* FROM t JOIN indexed ON t.u8 = indexed.slot': 'ok' },
    ask,
  );
  itAnswers(
    '[sql 6.3] the join column is the last of the index, those before it are fixed by =',
    {
      'SELECT one.* FROM one JOIN indexed ON one.a = indexed.b': noIndex,
      'SELECT one.* FROM one JOIN indexed ON one.a = indexed.a': noIndex,
      'SELECT one.* FROM one JOIN indexed ON one.a = indexed.b WHERE indexed.a = 5 AND one.a > 0':
        'ok',
      'SELECT one.* FROM one JOIN indexed ON one.a = indexed.b WHERE indexed.a > 5 AND one.a > 0':
        noIndex,
      'SELECT one.* FROM one JOIN indexed ON one.a = indexed.a WHERE indexed.b = 5 AND one.a > 0':
        noIndex,
    },
    ask,
  );
  itAnswers(
    '[sql 6.3] a view is filtered, and is probed on its primary key only',
    {
      'SELECT one.* FROM one JOIN keyed ON one.a = keyed.key WHERE one.a > 0': 'ok',
      // The view is filtered by itself, so the other side is probed, and has no index.
      'SELECT one.* FROM one JOIN keyed ON one.a = keyed.key': noIndex,
      'SELECT s.* FROM s JOIN keyed ON s.id = keyed.key': 'ok',
      'SELECT keyed.* FROM keyed JOIN s ON keyed.key = s.id': 'ok',
      'SELECT t.* FROM t JOIN keyed ON t.name = keyed.viewed WHERE t.flag = TRUE': noIndex,
    },
    ask,
  );
  itAnswers(
    '[sql 6.3] a cross join, or a join in WHERE alone, never qualifies',
    {
      'SELECT t.* FROM t CROSS JOIN s': noIndex,
      'SELECT t.* FROM t JOIN s': noIndex,
      'SELECT t.* FROM t CROSS JOIN s WHERE t.id = s.id': noIndex,
      'SELECT t.* FROM t JOIN s WHERE t.id = s.id': noIndex,
    },
    ask,
  );
  itAnswers(
    '[sql 6.3] the probed side is no event table',
    {
      'SELECT t.* FROM t JOIN event_log ON t.id = event_log.id':
        'Event tables cannot be used as the lookup table in subscription joins',
      'SELECT t.* FROM event_log JOIN t ON t.id = event_log.id': 'ok',
      'SELECT * FROM event_log': 'ok',
    },
    ask,
  );
  itAnswers(
    '[sql 6.3] none of this holds for one-off queries',
    {
      'SELECT t.* FROM t CROSS JOIN s': 'ok',
      'SELECT one.* FROM one JOIN indexed ON one.a = indexed.bare': 'ok',
      'SELECT t.* FROM t JOIN s ON t.id = s.id JOIN one ON one.a = s.id': 'ok',
      'SELECT t.* FROM t JOIN event_log ON t.id = event_log.id': 'ok',
    },
    asked,
  );
});

describe('joins after the filters of row-level security', () => {
  const byNote = 'SELECT note.* FROM note JOIN s ON note.id = s.id';
  const toNote = 'SELECT s.* FROM s JOIN note ON s.id = note.id';
  const toRoom = 'SELECT s.* FROM s JOIN room ON s.id = room.id';
  itAnswers(
    '[sql 6.3] the rules hold for what a filter makes of a query',
    {
      'SELECT * FROM room': 'ok',
      [byNote]: 'ok',
      [toRoom]: 'Invalid number of tables in subscription: 3',
    },
    asAda,
  );
  itAnswers(
    '[sql 6.3] and not for the owner',
    { [byNote]: 'ok', [toNote]: 'ok', [toRoom]: 'ok' },
    ask,
  );
});

describe('texts of official generators', () => {
  const dotted = sampleSchema({
    tables: [
      { name: 'ns.t', columns: { a: { kind: 'u32' } }, indexes: ['unique:btree:a'] },
      { name: 'r', columns: { y: { kind: 'u32' } }, indexes: ['unique:btree:y'] },
    ],
  });
  const inDotted = (sql: string) =>
    refusalOf(() => checkSubscription(parse(sql), scopeFor(dotted), { joinRules: true }));

  itAnswers(
    '[sql 6.4] TypeScript: queries',
    {
      'SELECT * FROM "t"': 'ok',
      'SELECT * FROM t': 'ok',
      'SELECT * FROM "t" WHERE "t"."a" = 5': 'ok',
      'SELECT * FROM "t" WHERE ("t"."a" = 1) AND ("t"."id" > 2)': 'ok',
      'SELECT * FROM "t" WHERE (("t"."a" = 1) OR ("t"."id" > 2)) AND ("t"."x" <= -2)': 'ok',
      'SELECT * FROM "t" WHERE "t"."flag" = TRUE': 'ok',
      'SELECT * FROM "t" WHERE TRUE = TRUE': 'ok',
      'SELECT * FROM "userProfile" WHERE "userProfile"."fullName" = \'O\'\'Brien\'': 'ok',
    },
    ask,
  );
  itAnswers(
    '[sql 6.4] TypeScript: names of a namespace',
    { 'SELECT * FROM "ns"."t"': 'ok' },
    inDotted,
  );
  itAnswers(
    '[sql 6.4] TypeScript: semijoins',
    {
      'SELECT "s".* FROM "t" JOIN "s" ON "t"."a" = "s"."id"': 'ok',
      'SELECT "s".* FROM "t" JOIN "s" ON "t"."a" = "s"."id" WHERE ("t"."flag" = TRUE)': 'ok',
      'SELECT "t".* FROM "s" JOIN "t" ON "s"."id" = "t"."id" WHERE ("t"."a" > 5)': 'ok',
    },
    ask,
  );
  const who = 'ab'.repeat(32);
  const link = 'cd'.repeat(16);
  const values = [
    '"e"."nat32" = 5',
    '"e"."int64" = -5',
    '"e"."bool" = FALSE',
    '"e"."string" = \'it\'\'s\'',
    `"e"."who" = 0x${who}`,
    `"e"."link" = 0x${link}`,
    `"e"."uuid" = 0x${link}`,
    '"e"."moment" > \'2025-02-10T15:45:30.123Z\'',
    '"e"."moment" > \'2025-02-10T15:45:30.123456+00:00\'',
    '"e"."bytes" = 0xBEEF',
    '"e"."double" = 1.5',
  ];
  for (const value of values) {
    it(`[sql 6.4] values: ${value}`, () => {
      expect(ask(`SELECT * FROM "everyType" AS "e" WHERE ${value}`)).toBe('ok');
    });
  }
  itAnswers(
    '[sql 6.4] Rust: queries and semijoins',
    {
      'SELECT * FROM "t" WHERE (("t"."a" = 1) AND ("t"."name" <> \'x\'))': 'ok',
      'SELECT "t".* FROM "t" JOIN "s" ON "t"."a" = "s"."id" WHERE ("t"."x" = 1)': 'ok',
      'SELECT "s".* FROM "t" JOIN "s" ON "t"."a" = "s"."id"': 'ok',
    },
    ask,
  );
  itAnswers(
    '[sql 6.4] Rust: names of a namespace as one identifier',
    {
      'SELECT * FROM "ns.t" WHERE ("ns.t"."a" = 1)': 'ok',
      'SELECT "ns.t".* FROM "r" JOIN "ns.t" ON "r"."y" = "ns.t"."a"': 'ok',
    },
    inDotted,
  );
  itAnswers(
    '[sql 6.4] NOT (…) is accepted, NULL is rejected',
    {
      'SELECT * FROM "t" WHERE NOT ("t"."a" = 1)': 'ok',
      'SELECT * FROM "t" WHERE "t"."a" = NULL': 'Unsupported literal expression: NULL',
      'SELECT * FROM "t" WHERE "t"."nope" = 1': notInScope('nope'),
    },
    ask,
  );
});
