import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checked, refusal as refusalOf, sampleSchema, scopeFor } from '../check-statement.ts';
import { sampleTables } from '../sample-tables.ts';
import { fixedText, itAnswers, noTable, notInScope, RulesDatabase } from './rules-database.ts';

let db: RulesDatabase;

beforeAll(async () => {
  db = await RulesDatabase.start();
  await db.fill();
});
afterAll(() => db.stop());

const refusal = (sql: string) => db.refusal(sql);

/** The ids of `t` for which a condition holds, as text. */
async function ids(condition: string): Promise<string> {
  const answer = await db.ask(`SELECT id FROM t WHERE ${condition}`);
  const { status, text } = answer;
  if (status !== 200) return fixedText(answer);
  const rows: number[][] = JSON.parse(text)[0].rows;
  return rows
    .map(([id]) => id)
    .sort()
    .join();
}

const syntaxError = /^sql parser error: /;

describe('blanks, comments, keywords', () => {
  itAnswers(
    '[sql 2] blanks and line ends are free, -- and nested /* */ are comments',
    {
      'SELECT\t*\r\nFROM\n\nt': 'ok',
      'SELECT * -- all of it\nFROM t': 'ok',
      'SELECT * FROM t -- to the end': 'ok',
      'SELECT/* one */*/* two */FROM/**/t': 'ok',
      'SELECT * /* a /* b */ c */ FROM t': 'ok',
      'SELECT * /* a /* b */ FROM t': syntaxError,
      'SELECT * FROM t # no comment': syntaxError,
    },
    refusal,
  );

  itAnswers(
    '[sql 2] keywords are read in any case',
    {
      'select * from t where flag limit 1': 'ok',
      'sElEcT CoUnT(*) aS n FrOm t': 'ok',
      'show row_limit': 'ok',
      'insert Into one (a) vaLues (1)': 'ok',
    },
    refusal,
  );
});

describe('identifiers', () => {
  itAnswers(
    '[sql 2] unquoted: a letter or _, then letters, digits, _ and $, of any alphabet',
    {
      'SELECT * FROM _x': noTable('_x'),
      'SELECT * FROM größe_9$': noTable('größe_9$'),
      'SELECT * FROM имя': noTable('имя'),
      'SELECT * FROM 表': noTable('表'),
      'SELECT * FROM x9': noTable('x9'),
      'SELECT * FROM x٣': syntaxError,
      'SELECT * FROM 9x': syntaxError,
      'SELECT * FROM $x': syntaxError,
    },
    refusal,
  );

  itAnswers(
    '[sql 2] the case of a name is kept and nothing is folded',
    {
      'SELECT * FROM T': noTable('T'),
      'SELECT * FROM UserProfile': noTable('UserProfile'),
      'SELECT ID FROM t': notInScope('ID'),
      'SELECT "ID" FROM t': notInScope('ID'),
    },
    refusal,
  );

  itAnswers(
    '[sql 2] quoted: "…", with "" for a quote, case kept',
    {
      'SELECT "id" FROM "t"': 'ok',
      'SELECT * FROM "T"': noTable('T'),
      'SELECT * FROM "a ""b"" c"': noTable('a "b" c'),
      'SELECT * FROM "a-b.c d"': noTable('a-b.c d'),
      'SELECT * FROM `t`': syntaxError,
      'SELECT * FROM [t]': syntaxError,
      'SELECT `id` FROM t': syntaxError,
    },
    refusal,
  );

  it('[sql 2] a quoted alias is a column name of the result', async () => {
    expect(await db.columns('SELECT id AS "a ""b"" C" FROM t')).toEqual(['a "b" C']);
  });

  itAnswers(
    '[sql 2] the parts of a dotted table name are joined to one name',
    {
      'SELECT * FROM public.t': noTable('public.t'),
      'SELECT * FROM a."b".c.d': noTable('a.b.c.d'),
      'SELECT * FROM "a.b"': noTable('a.b'),
    },
    refusal,
  );

  const schema = sampleSchema({ tables: sampleTables });
  itAnswers(
    '[sql 2] lib.t, "lib"."t" and "lib.t" are the table lib.t',
    Object.fromEntries(['lib.t', '"lib"."t"', '"lib.t"', 'lib."t"'].map((name) => [name, 'ok'])),
    (name) => refusalOf(() => checked(`SELECT id FROM ${name}`, scopeFor(schema))),
  );
  itAnswers(
    '[sql 2] the last part of a qualified column is the column, all before it the table',
    {
      'SELECT lib.t.id FROM lib.t': 'ok',
      'SELECT "lib"."t"."id" FROM lib.t WHERE "lib.t".id = 1': 'ok',
      'SELECT lib.t.* FROM "lib.t"': 'ok',
      'SELECT t.id FROM lib.t': notInScope('t'),
      'SELECT r.id FROM lib.t AS r': 'ok',
    },
    (sql) => refusalOf(() => checked(sql, scopeFor(schema))),
  );
});

describe('literals', () => {
  itAnswers(
    '[sql 2] strings: two quotes for one, no escapes, no concatenation',
    {
      "name = 'n1'": '1',
      "name = 'it''s'": '',
      "name = '\\'": '',
      "name = 'n' '1'": syntaxError,
      "name = 'n1": /^sql parser error: Unterminated string literal at Line: 1, Column \d+$/,
    },
    ids,
  );

  it('[sql 2] a backslash in a string is a backslash', async () => {
    await db.result("INSERT INTO numbered (id, text) VALUES (7, 'a\\nb''c')");
    expect(await db.rows('SELECT text FROM numbered WHERE id = 7')).toEqual([["a\\nb'c"]]);
  });

  itAnswers(
    '[sql 2] numbers: fraction, exponent, sign, a trailing L; no _ between digits',
    {
      'a = 10': '1',
      'a = 10.': '1',
      'a = 1e1': '1',
      'a = 1.e1': '1',
      'a = 1E+1': '1',
      'a = 100e-1': '1',
      'a = 10L': '1',
      'f32 = .5': '1',
      'x = -1': '1',
      'x = - 1': '1',
      'a = +10': '1',
      'a = + 10': '1',
      'a = 1_0': syntaxError,
      'x = --1\n-1': '1',
    },
    ids,
  );

  itAnswers(
    '[sql 2] hex: 0x with a small x, x and X with quotes, and nothing after 0x',
    {
      'key = 0xAB': 'ok',
      'key = 0xab': 'ok',
      "key = x'AB'": 'ok',
      "key = X'ab'": 'ok',
      'key = 0x': 'ok',
      'key = 0XAB': syntaxError,
    },
    (condition) => db.refusal(`SELECT * FROM owned WHERE ${condition}`),
  );

  itAnswers(
    '[sql 2] TRUE and FALSE in any case',
    {
      'flag = TRUE': '1,3,5',
      'flag = true': '1,3,5',
      'flag = False': '2,4',
      'flag = tRuE': '1,3,5',
    },
    ids,
  );
});

describe('parameters', () => {
  itAnswers(
    '[sql 2] :sender, exactly so, also after a blank; in a string it is text',
    {
      'owner = :sender': 'ok',
      'owner = : sender': 'ok',
      'owner = :Sender': 'Unsupported literal expression: :Sender',
      'owner = :SENDER': 'Unsupported literal expression: :SENDER',
      "owner = ':sender'": /^The literal expression `:sender` cannot be parsed as type/,
    },
    (condition) => db.refusal(`SELECT * FROM owned WHERE ${condition}`),
  );

  itAnswers(
    '[sql 2] rejected literals',
    {
      "name = E'n1'": "Unsupported literal expression: E'n1'",
      "name = N'n1'": "Unsupported literal expression: N'n1'",
      'name = $$n1$$': 'Unsupported literal expression: $$n1$$',
      'name = ?': 'Unsupported literal expression: ?',
      'name = $1': 'Unsupported literal expression: $1',
      'name = :other': 'Unsupported literal expression: :other',
      "name = B'01'": syntaxError,
      "name = DATE '2025-01-01'": /^Unsupported expression: DATE/,
    },
    ids,
  );

  itAnswers(
    '[sql 2] rejected literals, also in the subscription dialect',
    {
      'name = NULL': 'Unsupported literal expression: NULL',
      "name = E'n1'": "Unsupported literal expression: E'n1'",
      'name = $1': 'Unsupported literal expression: $1',
      'name = ?': 'Unsupported literal expression: ?',
      'name = :other': 'Unsupported literal expression: :other',
      "name = TIMESTAMP '2025-01-01'": /^Unsupported expression: TIMESTAMP/,
      "name = DATE '2025-01-01'": /^Unsupported expression: DATE/,
      'name = CAST(1 AS String)': /^Unsupported expression: CAST/,
    },
    (condition) => db.subscription(`SELECT * FROM t WHERE ${condition}`),
  );

  itAnswers(
    '[sql 2] NULL, TIMESTAMP, casts and parameters with a value',
    {
      'name = NULL': '',
      "TIMESTAMP '2025-01-01T00:00:00Z' < CAST('2026-01-01T00:00:00Z' AS Timestamp) AND id = 2":
        '2',
      "id = CAST('3' AS U32)": '3',
      "a = '40'::U32": '4',
    },
    ids,
  );

  it('[sql 2] $1 and :name are values of the request', async () => {
    const where = `/v1/database/rules/sql?params=${encodeURIComponent('["n2"]')}`;
    const body = 'SELECT id FROM t WHERE name = $1';
    const { text } = await db.running.ask('POST', where, { body });
    expect(JSON.parse(text)[0].rows).toEqual([[2]]);
  });
});
