import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { itAnswers, RulesDatabase } from './rules-database.ts';

let db: RulesDatabase;

beforeAll(async () => {
  db = await RulesDatabase.start();
});
beforeEach(() => db.fill());
afterAll(() => db.stop());

const full = (sql: string) => db.refusal(sql);
const subscription = (sql: string) => db.subscription(sql);

const chain = (terms: number, word: string) =>
  `SELECT id FROM t WHERE ${Array.from({ length: terms }, () => 'a=1').join(` ${word} `)}`;
const nested = (depth: number) =>
  `SELECT id FROM t WHERE ${'('.repeat(depth)}a = 1${')'.repeat(depth)}`;

describe('syntax and size', () => {
  const long = `SELECT * FROM t WHERE name = '${'x'.repeat(50_000)}'`;
  itAnswers(
    '[sql 8.1] SQL query exceeds maximum allowed length',
    { [long]: `SQL query exceeds maximum allowed length: "${long.slice(0, 120)}..."` },
    full,
  );
  itAnswers('[sql 8.1] Empty SQL query', { ';;': 'Empty SQL query', ' ': 'Empty SQL query' }, full);
  itAnswers(
    '[sql 8.1] Multiple SQL statements are not supported',
    { 'SELECT * FROM t; SHOW row_limit': 'Multiple SQL statements are not supported' },
    full,
  );

  const expected: Readonly<Record<string, string>> = {
    'SELECT * FROM t nope nope': 'end of statement, found: nope at Line: 1, Column 22',
    'SELECT * FROM\n  5': 'identifier, found: 5 at Line: 2, Column 3',
    'SELECT * FROM t WHERE': 'an expression:, found: EOF',
    'SELECT * FROM t WHERE )': 'an expression:, found: ) at Line: 1, Column 23',
    'FIND t': 'an SQL statement, found: FIND at Line: 1, Column 1',
    'SELECT * FROM t WHERE (id = 1': '), found: EOF',
    'INSERT INTO s (id, x) VALUES 1': '(, found: 1 at Line: 1, Column 30',
    'DELETE t': 'FROM, found: t at Line: 1, Column 8',
    'UPDATE t a = 1': 'SET, found: = at Line: 1, Column 12',
    'INSERT INTO t (id) 5':
      'SELECT, VALUES, or a subquery in the query body, found: 5 at Line: 1, Column 20',
    'SET row_limit 5': 'equals sign or TO, found: 5 at Line: 1, Column 15',
  };
  itAnswers(
    '[sql 8.1] sql parser error: Expected {what}, found: {token}',
    Object.fromEntries(
      Object.entries(expected).map(([sql, text]) => [sql, `sql parser error: Expected ${text}`]),
    ),
    full,
  );
  itAnswers(
    '[sql 8.1] sql parser error: Unterminated string literal',
    {
      "SELECT * FROM t WHERE name = 'x":
        'sql parser error: Unterminated string literal at Line: 1, Column 30',
    },
    full,
  );

  it('[sql 8.1] sql parser error: recursion limit exceeded, for 48 parentheses', async () => {
    expect(await full(nested(47))).toBe('ok');
    expect(await full(nested(48))).toBe('sql parser error: recursion limit exceeded');
    expect(subscription(nested(48))).toBe('sql parser error: recursion limit exceeded');
  });
  for (const word of ['AND', 'OR']) {
    it(`[sql 8.1] Recursion limit exceeded, for 1,601 terms of ${word}`, async () => {
      expect(await full(chain(1_600, word))).toBe('ok');
      expect(await full(chain(1_601, word))).toBe(
        'Recursion limit exceeded, `sql-parser::parse_expr`',
      );
    });
  }
  it('[sql 8.1] the typing stage has the same message beyond its own depth', async () => {
    const terms = Array.from({ length: 1_300 }, () => 'a=1').join(' OR ');
    const sql = `SELECT id FROM t WHERE (${terms}) OR ${terms}`;
    expect(await full(sql)).toBe('Recursion limit exceeded, `expr::type_expr`');
  });
});

describe('unsupported features', () => {
  itAnswers(
    '[sql 8.2] A FROM clause is required',
    {
      'SELECT a': 'A FROM clause is required',
      'SELECT 1 + a': 'A FROM clause is required',
      // The list comes first.
      'SELECT id, (x)': 'Unsupported projection expression: (x)',
    },
    full,
  );
  itAnswers(
    '[sql 8.2] A FROM clause is required, first of all in the subscription dialect',
    { 'SELECT 1': 'A FROM clause is required', 'SELECT a': 'A FROM clause is required' },
    subscription,
  );

  itAnswers(
    '[sql 8.2] Implicit joins are not supported, in the subscription dialect',
    {
      'SELECT t.* FROM t, s': 'Implicit joins are not supported',
      'SELECT * FROM t, s': 'Implicit joins are not supported',
    },
    subscription,
  );

  /** Statements that are refused alike in both dialects. */
  const both: Readonly<Record<string, readonly string[]>> = {
    'Non-inner joins are not supported': [
      'SELECT t.* FROM t RIGHT JOIN s ON t.id = s.id',
      'SELECT t.* FROM t FULL OUTER JOIN s ON t.id = s.id',
      'SELECT t.* FROM t NATURAL JOIN s',
      'SELECT t.* FROM t LEFT SEMI JOIN s ON t.id = s.id',
      'SELECT t.* FROM t JOIN s USING (id)',
      'SELECT t.* FROM t JOIN s ON (t.id = s.id)',
    ],
    'Names must be qualified when using joins': [
      'SELECT t.* FROM t JOIN s ON t.id = s.id WHERE a = 1',
      'SELECT t.* FROM t JOIN s ON t.id = id',
    ],
    'Mixed wildcard projections are not supported': [
      'SELECT *, id FROM t',
      'SELECT id, * FROM t',
      'SELECT t.*, s.* FROM t JOIN s ON t.id = s.id',
      'SELECT t.*, t.id FROM t',
    ],
    'Aggregate expressions must have column aliases': [
      'SELECT COUNT(*) FROM t',
      'SELECT SUM(a) FROM t',
      'SELECT user FROM t',
    ],
    'Unsupported aggregate function: frob(a)': ['SELECT frob(a) AS q FROM t'],
    'Unsupported projection expression: (a)': ['SELECT (a) FROM t'],
    'Unsupported projection: * EXCEPT (id)': ['SELECT * EXCEPT (id) FROM t'],
    'Unsupported binary operator: &': ['SELECT * FROM t WHERE a & 1 = 1'],
    'Unsupported binary operator: <=>': ['SELECT * FROM t WHERE a <=> 1'],
    'Unsupported binary operator: XOR': ['SELECT * FROM t WHERE flag XOR flag'],
    'Unsupported literal expression: $1': ['SELECT * FROM t WHERE a = $1'],
    'Unsupported literal expression: :nope': ['SELECT * FROM t WHERE a = :nope'],
    "Unsupported literal expression: E'x'": ["SELECT * FROM t WHERE name = E'x'"],
    'Unsupported expression: user': ['SELECT * FROM t WHERE name = user'],
    'Unsupported expression: ~a': ['SELECT * FROM t WHERE ~a = 1'],
    'Unsupported FROM expression: frob(1)': ['SELECT * FROM frob(1)'],
    'Unsupported FROM expression: t AS q (a, b)': ['SELECT * FROM t AS q (a, b)'],
    'Unsupported FROM expression: (t JOIN s ON t.id = s.id)': [
      'SELECT * FROM (t JOIN s ON t.id = s.id)',
    ],
  };
  for (const [text, statements] of Object.entries(both)) {
    const answers = Object.fromEntries(statements.map((sql) => [sql, text]));
    itAnswers(`[sql 8.2] ${text}`, answers, full);
    itAnswers(`[sql 8.2] in the subscription dialect, ${text}`, answers, subscription);
  }

  /** What the full dialect has as features. */
  itAnswers(
    '[sql 8.2] Unsupported expression, in the subscription dialect',
    {
      'SELECT * FROM t WHERE a IS NULL': 'Unsupported expression: a IS NULL',
      'SELECT * FROM t WHERE a IN (1, 2)': 'Unsupported expression: a IN (1, 2)',
      'SELECT * FROM t WHERE a BETWEEN 1 AND 2': 'Unsupported expression: a BETWEEN 1 AND 2',
      "SELECT * FROM t WHERE name LIKE 'x%'": "Unsupported expression: name LIKE 'x%'",
      'SELECT * FROM t WHERE CAST(a AS U8) = 1': 'Unsupported expression: CAST(a AS U8)',
      'SELECT * FROM t WHERE a = -a': 'Unsupported expression: -a',
      'SELECT * FROM t WHERE abs(x) = 1': 'Unsupported expression: abs(x)',
      'SELECT * FROM t WHERE a = (SELECT a FROM one)':
        'Unsupported expression: (SELECT a FROM one)',
      'SELECT * FROM t WHERE EXISTS (SELECT a FROM one)':
        'Unsupported expression: EXISTS (SELECT a FROM one)',
    },
    subscription,
  );
  itAnswers(
    '[sql 8.2] Unsupported binary operator, in the subscription dialect',
    Object.fromEntries(
      ['+', '-', '*', '/', '%', '||'].map((operator) => [
        `SELECT * FROM t WHERE a ${operator} a = a`,
        `Unsupported binary operator: ${operator}`,
      ]),
    ),
    subscription,
  );
  itAnswers(
    '[sql 8.2] Unsupported literal expression, in VALUES and SET',
    {
      'INSERT INTO s (id, x) VALUES (9, NULL)': 'Unsupported literal expression: NULL',
      'INSERT INTO s (id, x) VALUES (9, $1)': 'Unsupported literal expression: $1',
      "INSERT INTO s (id, x) VALUES (9, N'x')": "Unsupported literal expression: N'x'",
      'UPDATE s SET x = NULL': 'Unsupported literal expression: NULL',
      'UPDATE s SET x = ?': 'Unsupported literal expression: ?',
    },
    full,
  );
  itAnswers(
    '[sql 8.2] Unsupported projection expression and aggregate function, subscriptions',
    {
      'SELECT 5 FROM t': 'Unsupported projection expression: 5',
      'SELECT a + 1 FROM t': 'Unsupported projection expression: a + 1',
      'SELECT id, abs(x) FROM t': 'Unsupported projection expression: abs(x)',
      'SELECT SUM(a) AS q FROM t': 'Unsupported aggregate function: SUM(a)',
      'SELECT COUNT(a) AS q FROM t': 'Unsupported aggregate function: COUNT(a)',
    },
    subscription,
  );
  itAnswers(
    '[sql 8.2] Unsupported FROM expression, in the subscription dialect',
    {
      'SELECT * FROM (SELECT * FROM t) AS q': 'Unsupported FROM expression: (SELECT * FROM t) AS q',
    },
    subscription,
  );
  itAnswers(
    '[sql 8.2] Unsupported set operation, in the subscription dialect',
    {
      'SELECT * FROM t UNION SELECT * FROM t':
        'Unsupported set operation: SELECT * FROM t UNION SELECT * FROM t',
      'SELECT * FROM t EXCEPT SELECT * FROM t': /^Unsupported set operation: /,
      'SELECT * FROM t INTERSECT SELECT * FROM t': /^Unsupported set operation: /,
      'VALUES (1)': 'Unsupported set operation: VALUES (1)',
      '(SELECT * FROM t)': /^Unsupported set operation: /,
    },
    subscription,
  );
  const selects = [
    'SELECT DISTINCT * FROM t',
    'SELECT * FROM t GROUP BY id',
    'SELECT * FROM t HAVING flag',
    'SELECT * INTO q FROM t',
    'SELECT TOP 5 * FROM t',
    'SELECT * FROM t QUALIFY flag',
    'SELECT * FROM t WINDOW w AS (ORDER BY id)',
  ];
  itAnswers(
    '[sql 8.2] Unsupported SELECT, in the subscription dialect',
    Object.fromEntries(selects.map((sql) => [sql, `Unsupported SELECT: ${sql}`])),
    subscription,
  );
  itAnswers(
    '[sql 8.2] Unsupported: Non-SELECT queries, in the subscription dialect',
    {
      'DELETE FROM t': 'Unsupported: Non-SELECT queries',
      'EXPLAIN SELECT * FROM t': 'Unsupported: Non-SELECT queries',
    },
    subscription,
  );

  const unsupported = [
    "SELECT * FROM t LIMIT 'x'",
    'SELECT * FROM t LIMIT -1',
    'SELECT * FROM t LIMIT a',
    'SELECT DISTINCT ON (a) a FROM t',
    'SELECT * FROM t QUALIFY flag',
    'SELECT * INTO q FROM t',
    'SELECT TOP 5 * FROM t',
    'CREATE TABLE q (a INT)',
    'DROP TABLE t',
    'BEGIN',
    'INSERT INTO t AS q (id) VALUES (1)',
    'UPDATE t JOIN s ON t.id = s.id SET a = 1',
    'INSERT INTO s (id, x) VALUES (1, 1) ON CONFLICT (id) WHERE id > 1 DO NOTHING',
    'SET LOCAL row_limit = 5',
    'SHOW SCHEMAS',
    'VALUES ROW(1)',
  ];
  itAnswers(
    '[sql 8.2] Unsupported: {statement}',
    Object.fromEntries(unsupported.map((sql) => [sql, `Unsupported: ${sql}`])),
    full,
  );
  const features = [
    'SELECT * FROM t ORDER BY id',
    'SELECT * FROM t OFFSET 1',
    'SELECT * FROM t LIMIT 5',
    'WITH q AS (SELECT * FROM t) SELECT * FROM q',
  ];
  itAnswers(
    '[sql 8.2] Unsupported: {statement}, in the subscription dialect',
    Object.fromEntries(features.map((sql) => [sql, `Unsupported: ${sql}`])),
    subscription,
  );
  itAnswers(
    '[sql 8.2] these are features of the full dialect',
    Object.fromEntries(
      [
        ...features,
        'EXPLAIN SELECT * FROM t',
        'SELECT DISTINCT * FROM t',
        'UPDATE t SET a = 1 RETURNING id',
        'DELETE FROM t RETURNING id',
        'INSERT INTO s (id, x) VALUES (11, 1) RETURNING id',
        'INSERT INTO one (a) SELECT a FROM one',
      ].map((sql) => [sql, 'ok']),
    ),
    full,
  );

  itAnswers(
    '[sql 8.2] of writes',
    {
      'INSERT INTO s (id, x) VALUES (1, 1) LIMIT 1':
        'Unsupported INSERT expression: VALUES (1, 1) LIMIT 1',
      'INSERT INTO s (id, x) VALUES ROW(1, 1)': 'Unsupported INSERT expression: VALUES ROW(1, 1)',
      'INSERT INTO s (id, x) VALUES (1, DEFAULT)': 'Unsupported INSERT value: DEFAULT',
      'UPDATE s SET x = DEFAULT': 'Unsupported column/variable assignment expression: DEFAULT',
      'SET row_limit = a': 'Unsupported column/variable assignment expression: a',
      'SET row_limit = 1 + 1': 'Unsupported column/variable assignment expression: 1 + 1',
      'DELETE FROM t JOIN s ON t.id = s.id':
        'Unsupported table expression in DELETE: t JOIN s ON t.id = s.id',
      'DELETE FROM t, s': 'Multi-table DELETE is not supported',
      'DELETE t, s FROM t JOIN s': 'Multi-table DELETE is not supported',
    },
    full,
  );

  itAnswers(
    '[sql 8.2] fragments are normalised: keywords in upper case, blanks removed',
    {
      'select * from t where   a   in(1,2)': /^Unsupported expression: a IN ?\(1, ?2\)$/,
      'select * from t  order   by id': 'Unsupported: SELECT * FROM t ORDER BY id',
    },
    subscription,
  );
});
