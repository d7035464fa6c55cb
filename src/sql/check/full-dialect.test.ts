import { describe, expect, it } from 'vitest';
import {
  checked,
  errorOf,
  expectRefusals,
  mismatch,
  refusal,
  sampleSchema,
  scopeFor,
} from '../../../test/sql/check-statement.ts';
import { sampleTables } from '../../../test/sql/sample-tables.ts';

const schema = sampleSchema({ tables: sampleTables });
const run = (sql: string) => checked(sql, scopeFor(schema));
const refused = (cases: Readonly<Record<string, string>>) => expectRefusals(cases, run);

describe('SELECT', () => {
  it('[sql 8.2] needs FROM for columns', () => {
    refused({
      'SELECT *': 'A FROM clause is required',
      'SELECT a': 'A FROM clause is required',
      'SELECT a + 1': 'A FROM clause is required',
      'SELECT 1 WHERE a = 1': 'A FROM clause is required',
      'SELECT 1 UNION SELECT a': 'A FROM clause is required',
      'SELECT (a)': 'Unsupported projection expression: (a)',
    });
  });

  it('[ease 3.4] has SELECT without FROM, and VALUES as a table', () => {
    const widths = 'The rows of VALUES must have the same number of values, not 1 and 2';
    refused({
      'SELECT 1': 'ok',
      "SELECT 1, 'a' AS b, now() AS c, :sender AS d": 'ok',
      'SELECT 1 WHERE 1 = 1': 'Cannot resolve type for literal expression',
      'SELECT a FROM t UNION SELECT 1': 'ok',
      'SELECT COUNT(*) AS n': 'ok',
      'VALUES (1), (2)': 'ok',
      'VALUES (1), (2) ORDER BY 1 DESC LIMIT 1': 'ok',
      'SELECT v.b FROM (VALUES (1, now()), (2, NULL)) AS v (a, b)': 'ok',
      'SELECT id FROM t WHERE a IN (VALUES (1), (2))': 'ok',
      'VALUES (1), (2, 3)': widths,
      'VALUES ()': 'A row of VALUES has at least one value',
      'VALUES (a)': '`a` is not in scope',
      'VALUES (1 + count(*))': 'The aggregate function `count` is not allowed in VALUES',
      'VALUES (1), (TRUE)': 'Unexpected type: (expected) Bool != I64 (inferred)',
      'VALUES ROW(1)': 'Unsupported: VALUES ROW(1)',
      'SELECT x.a FROM (SELECT 1 AS a) AS x': 'ok',
      'SELECT a FROM t WHERE EXISTS (SELECT 1)': 'ok',
    });
  });

  it('[sql 8.2] refuses SELECT items by their documented texts', () => {
    refused({
      'SELECT COUNT(*) FROM t': 'Aggregate expressions must have column aliases',
      'SELECT sum(a) FROM t': 'Aggregate expressions must have column aliases',
      'SELECT user FROM t': 'Aggregate expressions must have column aliases',
      'SELECT nope(a) AS s FROM t': 'Unsupported aggregate function: nope(a)',
      'SELECT nope(a) FROM t': 'Aggregate expressions must have column aliases',
      'SELECT a, user FROM t': 'Unsupported projection expression: user',
      'SELECT (a) FROM t': 'Unsupported projection expression: (a)',
      'SELECT a, (x) FROM t': 'Unsupported projection expression: (x)',
      'SELECT *, a FROM t': 'Mixed wildcard projections are not supported',
      'SELECT t.*, t.a FROM t': 'Mixed wildcard projections are not supported',
      'SELECT id FROM t WHERE EXISTS (SELECT *, a FROM t)':
        'Mixed wildcard projections are not supported',
      'SELECT * FROM t WHERE user = name': 'Unsupported expression: user',
    });
  });

  it('[ease 3.4] has FILTER, and aggregates with an order', () => {
    refused({
      'SELECT COUNT(*) FILTER (WHERE a > 1) AS n FROM t': 'ok',
      "SELECT string_agg(name, ', ' ORDER BY id DESC) AS n FROM t": 'ok',
      'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a) AS m FROM t': 'ok',
      'SELECT COUNT(*) FILTER (WHERE a) AS n FROM t':
        'Unexpected type: (expected) U32 != Bool (inferred)',
      'SELECT COUNT(*) FILTER (WHERE sum(a) > 1) AS n FROM t':
        'The aggregate function `sum` is not allowed in the argument of another aggregate function',
      'SELECT upper(name) FILTER (WHERE a > 1) AS n FROM t':
        '`upper` is no aggregate: it takes no ORDER BY, FILTER or OVER',
      'SELECT string_agg(name) AS n FROM t':
        'The function `string_agg` expects two arguments: a text and a separator',
      "SELECT string_agg(a, ', ') AS n FROM t": 'The function `string_agg` does not accept (U32)',
      "SELECT string_agg(DISTINCT name, ', ' ORDER BY a) AS n FROM t":
        'With DISTINCT, an aggregate can be ordered only by its arguments',
      'SELECT percentile_cont(0.5, a) AS n FROM t':
        'Write `percentile_cont` as percentile_cont(0.5) WITHIN GROUP (ORDER BY value)',
      'SELECT percentile_disc(a) WITHIN GROUP (ORDER BY a) AS n FROM t':
        'The fraction of `percentile_disc` must be the same for all rows',
      'SELECT sum(a) WITHIN GROUP (ORDER BY a) AS n FROM t':
        'The function `sum` takes no WITHIN GROUP: write ORDER BY behind its arguments',
      'SELECT stddev(name) AS n FROM t': 'The function `stddev` does not accept (String)',
      'SELECT median(a) AS n FROM t WHERE stddev(a) > 1':
        'The aggregate function `stddev` is not allowed in WHERE',
    });
  });

  it('[ease 3.4] has window functions in lists and in ORDER BY', () => {
    const places = 'Window functions are allowed only in a SELECT list and in ORDER BY';
    refused({
      'SELECT rank() OVER (ORDER BY a) FROM t': 'ok',
      'SELECT id, sum(a) OVER w FROM t WINDOW w AS (PARTITION BY name ROWS 2 PRECEDING)': 'ok',
      'SELECT id FROM t ORDER BY row_number() OVER (ORDER BY a)': 'ok',
      'SELECT id FROM t WHERE rank() OVER () = 1': places,
      'SELECT id FROM t GROUP BY id, rank() OVER ()': places,
      'SELECT id FROM t GROUP BY id HAVING rank() OVER () = 1': places,
      'SELECT rank() OVER () AS r FROM t GROUP BY r':
        'Window functions are not allowed in GROUP BY and HAVING',
      'SELECT sum(rank() OVER ()) AS s FROM t': places,
      'SELECT lag(rank() OVER ()) OVER () AS s FROM t': places,
      'SELECT id, (SELECT 1 FROM s WHERE rank() OVER () = 1) AS s FROM t': places,
      'UPDATE t SET a = rank() OVER ()': places,
      'SELECT id FROM t LIMIT rank() OVER ()': places,
      'SELECT id, rank() FROM t': '`rank` is a window function: write OVER (…) behind it',
      'SELECT id, upper(name) OVER () FROM t': '`upper` is no window function',
      'SELECT id, nope() OVER () FROM t': '`nope` is no window function',
      'SELECT id, rank() OVER w FROM t': 'no such window: `w`',
      'SELECT id, rank(a) OVER () FROM t': 'The window function `rank` takes 0 arguments',
      'SELECT id, lag() OVER () FROM t': 'The window function `lag` takes 1 to 3 arguments',
      'SELECT id, sum(DISTINCT a) OVER () FROM t':
        'The aggregate `sum` takes no DISTINCT and no ORDER BY before OVER',
      'SELECT id, rank() FILTER (WHERE a > 1) OVER () FROM t':
        'The window function `rank` takes no DISTINCT, *, ORDER BY or FILTER',
      'SELECT id, sum(a) OVER (GROUPS 2 PRECEDING) FROM t': 'GROUPS needs ORDER BY',
      'SELECT id, sum(a) OVER (ROWS UNBOUNDED FOLLOWING) FROM t':
        'A frame cannot start at UNBOUNDED FOLLOWING',
      'SELECT id, sum(a) OVER (ROWS 1 FOLLOWING) FROM t': 'The frame ends before it starts',
      'SELECT id, sum(a) OVER () FROM t GROUP BY id':
        '`a` must be in GROUP BY or inside an aggregate function',
    });
  });

  it('[ease 3.4] has frames that measure distances, and leave out rows', () => {
    const over = (frame: string) => `SELECT id, sum(a) OVER (${frame}) FROM t`;
    const wanted = (type: string, what: string) =>
      `RANGE over values of the type ${type} takes ${what}`;
    const whole = 'ROWS and GROUPS take a whole number of at most 15 digits';
    refused({
      [over('ORDER BY a RANGE 2 PRECEDING')]: 'ok',
      [over('ORDER BY a DESC RANGE BETWEEN 5000000000 PRECEDING AND 0 FOLLOWING')]: 'ok',
      [over('ORDER BY f32 RANGE 0.5 PRECEDING')]: 'ok',
      [over("ORDER BY a RANGE INTERVAL '1 hour' PRECEDING")]: wanted('U32', 'a whole number'),
      [over('ORDER BY a RANGE 0.5 PRECEDING')]: wanted('U32', 'a whole number'),
      [over("ORDER BY a RANGE '1' PRECEDING")]: wanted('U32', 'a whole number'),
      [over('ORDER BY a RANGE -1 PRECEDING')]: 'A distance of RANGE cannot be below zero',
      [over('ORDER BY f32 RANGE 1e999 PRECEDING')]: wanted('F32', 'a finite number'),
      [over('ORDER BY name RANGE 1 PRECEDING')]: wanted('String', 'UNBOUNDED and CURRENT ROW only'),
      [over('ORDER BY name RANGE UNBOUNDED PRECEDING')]: 'ok',
      [over('RANGE 1 PRECEDING')]: 'RANGE with a distance needs ORDER BY one expression',
      [over('ORDER BY a, id RANGE 1 PRECEDING')]:
        'RANGE with a distance needs ORDER BY one expression',
      [over('ORDER BY a RANGE 1 FOLLOWING')]: 'The frame ends before it starts',
      [over('ORDER BY a RANGE BETWEEN CURRENT ROW AND 1 PRECEDING')]:
        'The frame ends before it starts',
      [over('ORDER BY a RANGE BETWEEN 1 PRECEDING AND 2 PRECEDING')]: 'ok',
      [over('ORDER BY a RANGE BETWEEN 0 PRECEDING AND 2 PRECEDING')]: 'ok',
      [over('ROWS BETWEEN 0 PRECEDING AND 2 PRECEDING')]: 'ok',
      [over('ROWS BETWEEN 2 FOLLOWING AND 0 FOLLOWING')]: 'ok',
      [over('ROWS BETWEEN 0 FOLLOWING AND CURRENT ROW')]: 'ok',
      [over('ROWS BETWEEN 1 FOLLOWING AND CURRENT ROW')]: 'The frame ends before it starts',
      [over('ROWS BETWEEN CURRENT ROW AND 2 PRECEDING')]: 'The frame ends before it starts',
      [over('ROWS BETWEEN 2 FOLLOWING AND 2 PRECEDING')]: 'The frame ends before it starts',
      [over('ORDER BY a RANGE a PRECEDING')]:
        'Unsupported projection expression: sum(a) OVER (ORDER BY a RANGE a PRECEDING)',
      [over('ROWS 1.5 PRECEDING')]: whole,
      [over("ROWS INTERVAL '1 hour' PRECEDING")]: whole,
      [over('ORDER BY a GROUPS -1 PRECEDING')]: whole,
      [over('ROWS 1 PRECEDING EXCLUDE CURRENT ROW')]: 'ok',
      [over('ROWS 1 PRECEDING EXCLUDE GROUP')]: 'ok',
      [over('ORDER BY a GROUPS 1 PRECEDING EXCLUDE TIES')]: 'ok',
      [over('RANGE UNBOUNDED PRECEDING EXCLUDE NO OTHERS')]: 'ok',
      [over('EXCLUDE TIES')]: 'Unsupported projection expression: sum(a) OVER (EXCLUDE TIES)',
      [over('ROWS 1 PRECEDING EXCLUDE OTHERS')]:
        'sql parser error: Expected CURRENT, found: OTHERS at Line: 1, Column 50',
    });
  });

  it('[ease 3.4] compares rows with rows', () => {
    refused({
      "SELECT id FROM t WHERE (id, name) = (1, 'a')": 'ok',
      'SELECT id FROM t WHERE (id, a) IN ((1, 2), (3, 4))': 'ok',
      'SELECT id FROM t WHERE (id, a) = (1, 2, 3)': 'Unsupported expression: (id, a)',
      'SELECT id FROM t WHERE (id, a) IN ((1, 2), 3)': 'Unsupported expression: (id, a)',
      'SELECT id FROM t WHERE (id, a) IN (SELECT id, a FROM t)': 'ok',
      'SELECT id FROM t WHERE (id, a) IN (SELECT id FROM t)':
        'A subquery in this place must have 2 columns, not 1',
      'SELECT id FROM t WHERE (id, a) IN (SELECT id, name FROM t)': mismatch('String', 'U32'),
      'SELECT id FROM t WHERE (id, a) = 1': 'Unsupported expression: (id, a)',
      'SELECT id FROM t WHERE (id, (a, a)) = (1, (2, 3))': 'Unsupported expression: (a, a)',
      'SELECT (id, a) AS r FROM t': 'Unsupported projection expression: (id, a)',
      'SELECT id FROM t WHERE (nope, a) = (1, 2)': '`nope` is not in scope',
      "SELECT id FROM t WHERE (id, a) = (1, 'x')":
        'The literal expression `x` cannot be parsed as type `U32`',
    });
  });

  it('[ease 3.4] has common tables that name themselves', () => {
    const query = (step: string) => `WITH RECURSIVE r AS (SELECT 1 AS x ${step}) SELECT x FROM r`;
    const missing = 'no such table: `r`. If the table exists, it may be marked private.';
    refused({
      [query('UNION ALL SELECT x + 1 FROM r WHERE x < 9')]: 'ok',
      [query('UNION ALL SELECT 1 FROM r')]: 'ok',
      [query('UNION SELECT a.x FROM r AS a JOIN r AS b ON a.x = b.x')]:
        'The recursive part of `r` reads `r` more than once',
      [query('UNION SELECT x, x AS y FROM r')]:
        'The two parts of `r` have different numbers of columns: 1 and 2',
      [query('UNION SELECT x = 1 FROM r')]: 'Unexpected type: (expected) Bool != I64 (inferred)',
      [query("UNION SELECT 'a' FROM r")]:
        'The literal expression `a` cannot be parsed as type `I64`',
      [query('EXCEPT SELECT x FROM r')]: missing,
      [query('UNION SELECT x FROM r ORDER BY 1')]: missing,
      'WITH r AS (SELECT 1 AS x UNION SELECT x FROM r) SELECT x FROM r': missing,
    });
  });

  it('[sql 3.1] has aggregates, calls and literals in lists of any length', () => {
    refused({
      'SELECT sum(a) AS s FROM t': 'ok',
      'SELECT COUNT(DISTINCT a) AS n FROM t': 'ok',
      'SELECT name, COUNT(*) FROM t GROUP BY name': 'ok',
      'SELECT upper(name) FROM t': 'ok',
      "SELECT 'x' AS y, 1, NULL FROM t": 'ok',
    });
  });

  it('[sql 8.2] refuses other sources of rows', () => {
    refused({
      'SELECT t.a FROM t, s': 'ok',
      'SELECT * FROM v(1)': 'Unsupported FROM expression: v(1)',
      'SELECT * FROM (SELECT * FROM t) AS x': 'ok',
      'SELECT * FROM (SELECT * FROM t)': 'ok',
    });
  });

  it('[sql 3.1] refuses joins that it lacks', () => {
    const other = 'Non-inner joins are not supported';
    refused({
      'SELECT t.* FROM t RIGHT OUTER JOIN s ON t.id = s.id': other,
      'SELECT t.* FROM t FULL JOIN s ON t.id = s.id': other,
      'SELECT t.* FROM t NATURAL JOIN s': other,
      'SELECT t.* FROM t JOIN s USING (id)': other,
      'SELECT t.* FROM t JOIN s ON (t.id = s.id)': other,
      'SELECT t.* FROM t LEFT JOIN s ON (t.id = s.id)': 'ok',
      'SELECT t.* FROM t JOIN s ON t.id = s.id AND t.x < s.x': 'ok',
      'SELECT t.* FROM t JOIN s ON TRUE': 'ok',
      'SELECT * FROM t JOIN s ON t.id = s.id': 'SELECT * is not supported for joins',
      'SELECT t.id FROM t WHERE EXISTS (SELECT * FROM t JOIN s ON t.id = s.id)':
        'SELECT * is not supported for joins',
    });
  });

  it('[sql 3.1] wants every name qualified in a join', () => {
    const unqualified = 'Names must be qualified when using joins';
    refused({
      'SELECT a FROM t JOIN s ON t.id = s.id': unqualified,
      'SELECT t.* FROM t JOIN s ON id = s.id': unqualified,
      'SELECT t.* FROM t LEFT JOIN s ON t.id = s.id WHERE a = 1': unqualified,
      'SELECT t.* FROM t CROSS JOIN s WHERE NOT (t.a = 1 OR x = 2)': unqualified,
      'SELECT t.a FROM t CROSS JOIN s ORDER BY x': unqualified,
      'SELECT t.a FROM t CROSS JOIN s GROUP BY x': unqualified,
      'SELECT t.a FROM t CROSS JOIN s WHERE EXISTS (SELECT 1 FROM one WHERE flag)': unqualified,
      'SELECT t.a + 1 AS b FROM t CROSS JOIN s ORDER BY b': 'ok',
      'SELECT t.a FROM t CROSS JOIN s ORDER BY a': 'ok',
      'SELECT t.a AS b, COUNT(*) AS n FROM t CROSS JOIN s GROUP BY b HAVING n > 1': 'ok',
      'SELECT t.a FROM t CROSS JOIN s WHERE EXISTS (SELECT 1 FROM one WHERE a = t.a)': 'ok',
    });
  });

  it('[sql 8.2] refuses LIMIT that is no count', () => {
    for (const tail of ['LIMIT -1', "LIMIT '5'", 'LIMIT a', "LIMIT X'5'", 'OFFSET x']) {
      expect(refusal(() => run(`SELECT * FROM t ${tail}`))).toBe(
        `Unsupported: SELECT * FROM t ${tail}`,
      );
    }
    refused({
      'SELECT * FROM t LIMIT 5.5': 'The literal expression `5.5` cannot be parsed as type `U64`',
      'SELECT * FROM t LIMIT 2 + 3 OFFSET 1 * 2': 'ok',
      "SELECT * FROM t LIMIT length('abc')": 'ok',
      "SELECT * FROM t LIMIT upper('abc')": 'Unexpected type: (expected) String != U64 (inferred)',
      'SELECT * FROM t LIMIT NULL': 'Unsupported literal expression: NULL',
    });
  });

  it('refuses the past by a code of its own', () => {
    for (const sql of [
      'SELECT * FROM t AS OF 5',
      "SELECT a FROM t AS OF TIMESTAMP '2025-01-01T00:00:00Z'",
    ]) {
      expect(
        errorOf(() => run(sql)),
        sql,
      ).toMatchObject({
        code: 'sql.noHistory',
        message:
          'AS OF is not supported: this database keeps no history yet. ' +
          'Only current rows can be read',
      });
    }
  });
});

describe('literals and parameters', () => {
  it('[sql 2] refuses exotic literals by name', () => {
    refused({
      "SELECT * FROM t WHERE name = E'x'": "Unsupported literal expression: E'x'",
      'SELECT * FROM t WHERE a = ?': 'Unsupported literal expression: ?',
      'SELECT * FROM t WHERE a = $1': 'Unsupported literal expression: $1',
      'SELECT * FROM t WHERE a = :Sender': 'Unsupported literal expression: :Sender',
      "SELECT * FROM t WHERE name = DATE '2025-01-01'": "Unsupported expression: DATE '2025-01-01'",
      'SELECT $1 AS x FROM t': 'Unsupported literal expression: $1',
      'EXPLAIN SELECT * FROM t WHERE a = :x': 'Unsupported literal expression: :x',
    });
  });
});

describe('writes', () => {
  it('[ease 3.4] INSERT takes any value without columns', () => {
    refused({
      'INSERT INTO one (a) VALUES (b)': '`b` is not in scope',
      'INSERT INTO one (a) VALUES (DEFAULT)': 'Unsupported INSERT value: DEFAULT',
      'INSERT INTO one (a) VALUES (1 + 1)': 'ok',
      'INSERT INTO one (a) VALUES ((SELECT 1))': 'ok',
      'INSERT INTO one (a) VALUES (:sender)':
        'Unexpected type: (expected) (__identity__: U256) != U32 (inferred)',
      'INSERT INTO one (a) VALUES (count(*))':
        'The aggregate function `count` is not allowed in VALUES',
      'INSERT INTO one (a) VALUES (NULL)': 'Unsupported literal expression: NULL',
      "INSERT INTO stamped (ts) VALUES (TIMESTAMP '2025-01-01T00:00:00Z')": 'ok',
      'INSERT INTO stamped (ts) VALUES (now())': 'ok',
      'INSERT INTO one (a) VALUES (1) ON CONFLICT DO NOTHING': 'ok',
      'INSERT INTO one (a) VALUES (1) ON CONFLICT (a) DO NOTHING': '`one` has no unique key (a)',
      'INSERT INTO one (a) VALUES (1) ON CONFLICT (b) DO NOTHING':
        '`one` does not have a field `b`',
      'INSERT INTO one (a) VALUES (1) ON CONFLICT DO UPDATE SET a = 1':
        'DO UPDATE needs the columns of a key: ON CONFLICT (id) DO UPDATE SET …',
      'INSERT INTO one (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET a = (SELECT 1)':
        'DO UPDATE takes no queries in parentheses',
    });
  });

  it('[ease 3.4] SET takes any expression, queries and :sender too', () => {
    const assigned = 'Unsupported column/variable assignment expression';
    refused({
      'UPDATE t SET a = a + 1': 'ok',
      'UPDATE t SET a = (SELECT 1)': 'ok',
      'UPDATE t SET a = a + COALESCE((SELECT 1), 0)': 'ok',
      'UPDATE t SET a = DEFAULT': `${assigned}: DEFAULT`,
      'UPDATE owned SET owner = :sender': 'ok',
      'UPDATE owned SET owner = COALESCE(:sender, owner)': 'ok',
      'SET row_limit = five': `${assigned}: five`,
      'SET row_limit = NULL': 'Unsupported literal expression: NULL',
    });
  });

  it('[sql 8.2] refuses other statements whole', () => {
    for (const sql of ['CREATE TABLE t (a INT)', 'BEGIN', 'DROP TABLE t', 'SHOW SCHEMAS']) {
      expect(
        refusal(() => run(sql)),
        sql,
      ).toBe(`Unsupported: ${sql}`);
    }
  });
});

describe('errors', () => {
  it('say where', () => {
    const place = (sql: string) => errorOf(() => run(sql))?.place;
    expect(place('SELECT a, nope\n  FROM t')).toEqual({ line: 1, column: 11 });
    expect(place('SELECT a\n  FROM nope')).toEqual({ line: 2, column: 8 });
    expect(place("SELECT a FROM t\nWHERE a = 'x'")).toEqual({ line: 2, column: 11 });
    expect(place('UPDATE t SET a = name')).toEqual({ line: 1, column: 18 });
    expect(place('UPDATE nope SET a = 1')).toEqual({ line: 1, column: 8 });
    expect(place('INSERT INTO nope (a) VALUES (1)')).toEqual({ line: 1, column: 13 });
    expect(place('DELETE FROM nope')).toEqual({ line: 1, column: 13 });
  });

  it('name the nearest name that the caller may see', () => {
    const hint = (sql: string, who: 'owner' | 'stranger' = 'owner') =>
      errorOf(() => checked(sql, scopeFor(schema, who)))?.hint;
    expect(hint('SELECT * FROM Users')).toBe('Did you mean `users`?');
    expect(hint('SELECT nam FROM t')).toBe('Did you mean `name`?');
    expect(hint('SELECT users.naem FROM users')).toBe('Did you mean `name`?');
    expect(hint('SELECT uers.name FROM users')).toBe('Did you mean `users`?');
    expect(hint('SELECT uper(name) FROM t')).toBe(
      'There is no function `uper`. Did you mean `upper`?',
    );
    expect(hint('SELECT id, uper(name) FROM t')).toBe('Did you mean `upper`?');
    expect(hint('UPDATE t SET nam = 1')).toBe('Did you mean `name`?');
    expect(hint('SELECT * FROM secre')).toBe('Did you mean `secret`?');
    expect(hint('SELECT * FROM secre', 'stranger')).toBe(undefined);
    expect(hint('SELECT * FROM secret', 'stranger')).toBe(undefined);
    expect(hint('SELECT * FROM t WHERE nothing_like_it = 1')).toBe(undefined);
  });

  it('say what to write instead', () => {
    const hint = (sql: string) => errorOf(() => run(sql))?.hint;
    expect(hint('SELECT COUNT(*) FROM t')).toBe('Give it a name: COUNT(*) AS name');
    expect(hint('SELECT * FROM t JOIN s ON t.id = s.id')).toBe('Write `t.*`, or name the columns');
    expect(hint('SELECT t.id FROM t JOIN s ON (t.id = s.id)')).toBe(
      'Write the condition without parentheses',
    );
    expect(hint('SELECT id FROM t WHERE id = x')).toBe(
      'Write CAST(column AS type) on one side to compare numbers of two types',
    );
    expect(hint("SELECT * FROM stamped WHERE ts > '2025-01-01'")).toBe(
      "Write a timestamp with its offset, as in '2025-02-17T10:30:45Z'",
    );
    expect(hint('SELECT * FROM t WHERE id = -1')).toBe(
      'Expected a whole number from 0 to 4294967295',
    );
    expect(hint('SELECT id FROM t JOIN s ON t.id = s.id')).toBe(
      'Qualify the column, as in `relation.column`',
    );
    expect(hint('SELECT CAST(name AS varchar(3)) AS short FROM t')).toBe(
      'String has no maximum length: write left(text, 10) to shorten one',
    );
    expect(hint('SELECT id FROM t WHERE id = $1')).toBe('The request has no value for $1');
    expect(hint("UPDATE stamped SET ts = '2025-01-01T00:00:00Z'")).toBe(
      "Write a timestamp as TIMESTAMP '2025-02-17T10:30:45Z'",
    );
    expect(hint('SELECT ts + 5 AS later FROM stamped')).toBe(
      "Write a duration as INTERVAL '1 day 2 hours'",
    );
  });
});
