import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { badLiteral, itAnswers, mismatch, notInScope, RulesDatabase } from './rules-database.ts';

let db: RulesDatabase;

beforeAll(async () => {
  db = await RulesDatabase.start();
  await db.fill();
});
afterAll(() => db.stop());

const refusal = (sql: string) => db.refusal(sql);
const answer = (sql: string) => db.answer(sql);
const count = async (sql: string) => String((await db.rows(sql)).length);

describe('SELECT', () => {
  itAnswers(
    '[sql 3] select := SELECT [ALL] projection FROM from [WHERE predicate] [LIMIT]',
    {
      'SELECT ALL id FROM s': '[[1],[2],[3]]',
      'SELECT * FROM s WHERE id = 1': '[[1,-1]]',
      'SELECT s.* FROM s WHERE s.id = 1 LIMIT 5': '[[1,-1]]',
      'SELECT id, x AS y, s.x z FROM s WHERE id = 2': '[[2,-2,-2]]',
      'SELECT COUNT(*) AS n FROM s': '[[3]]',
      'SELECT count(*) n FROM s': '[[3]]',
      'SELECT id FROM s LIMIT ALL': '[[1],[2],[3]]',
    },
    answer,
  );

  itAnswers(
    '[sql 3] from := rel [[AS] alias] { join }',
    {
      'SELECT q.id FROM s AS q WHERE q.id = 3': '[[3]]',
      'SELECT q.id FROM s q WHERE q.id = 3': '[[3]]',
      'SELECT q.id FROM s AS q JOIN t AS r ON q.id = r.id WHERE r.a = 20': '[[2]]',
      'SELECT q.id FROM s q INNER JOIN t r ON q.id = r.id WHERE r.a = 20': '[[2]]',
      'SELECT q.id FROM s q CROSS JOIN t r WHERE r.a = 20': '[[1],[2],[3]]',
      'SELECT q.id FROM s q JOIN t r WHERE r.a = 20': '[[1],[2],[3]]',
    },
    answer,
  );

  itAnswers(
    '[sql 3] cmp: = == <> != < <= > >=',
    {
      'SELECT id FROM s WHERE id = 2': '[[2]]',
      'SELECT id FROM s WHERE id == 2': '[[2]]',
      'SELECT id FROM s WHERE id <> 2': '[[1],[3]]',
      'SELECT id FROM s WHERE id != 2': '[[1],[3]]',
      'SELECT id FROM s WHERE id < 2': '[[1]]',
      'SELECT id FROM s WHERE id <= 2': '[[1],[2]]',
      'SELECT id FROM s WHERE id > 2': '[[3]]',
      'SELECT id FROM s WHERE 2 <= id': '[[2],[3]]',
      'SELECT id FROM s WHERE id >= 2': '[[2],[3]]',
    },
    answer,
  );

  itAnswers(
    '[sql 3] precedence: parentheses, comparison (to the left), AND, OR',
    {
      'SELECT id FROM t WHERE id = 1 OR id = 2 AND flag': '[[1]]',
      'SELECT id FROM t WHERE (id = 1 OR id = 2) AND a = 20': '[[2]]',
      'SELECT id FROM t WHERE id = 1 AND flag OR id = 2': '[[1],[2]]',
      'SELECT id FROM t WHERE id = 1 = true': '[[1]]',
      'SELECT id FROM t WHERE (id = 1) = false AND id < 3': '[[2]]',
      'SELECT id FROM t WHERE id > 3 = flag': '[[2],[5]]',
      'SELECT id FROM t WHERE true = (id = 4)': '[[4]]',
      'SELECT id FROM t WHERE ((((id)))) = ((4))': '[[4]]',
    },
    answer,
  );
});

describe('the list of SELECT', () => {
  itAnswers(
    '[sql 3.1] * needs a single relation, with a join use rel.*',
    {
      'SELECT * FROM s WHERE id = 1': '[[1,-1]]',
      'SELECT * FROM s JOIN t ON s.id = t.id': 'SELECT * is not supported for joins',
      'SELECT * FROM s CROSS JOIN t': 'SELECT * is not supported for joins',
      'SELECT s.* FROM s JOIN t ON s.id = t.id WHERE t.a = 10': '[[1,-1]]',
    },
    answer,
  );
  itAnswers(
    '[sql 3.1] rel is the alias if there is one, else the name as written',
    {
      'SELECT q.* FROM s AS q WHERE q.id = 1': '[[1,-1]]',
      'SELECT s.* FROM s AS q': notInScope('s'),
      'SELECT userProfile.* FROM userProfile': '[[1,"Ann"]]',
      'SELECT user_profile.* FROM userProfile': notInScope('user_profile'),
    },
    answer,
  );
  itAnswers(
    '[sql 3.1] columns of several relations, also twice under different names',
    {
      'SELECT s.id, t.a FROM s JOIN t ON s.id = t.id WHERE s.id = 2': '[[2,20]]',
      'SELECT id, id AS again, s.id third FROM s WHERE id = 2': '[[2,2,2]]',
    },
    answer,
  );
  itAnswers(
    '[sql 3.1] two items with one output name are an error, also from different relations',
    {
      'SELECT id, id FROM s': 'Duplicate name `id`',
      'SELECT id AS q, x AS q FROM s': 'Duplicate name `q`',
      'SELECT s.id, t.id FROM s JOIN t ON s.id = t.id': 'Duplicate name `id`',
    },
    refusal,
  );
  itAnswers(
    '[sql 3.1] a parenthesised column and a literal are rejected',
    {
      'SELECT (id) FROM s': 'Unsupported projection expression: (id)',
      'SELECT ((id)) FROM s': /^Unsupported projection expression: /,
      'SELECT id, (x) FROM s': 'Unsupported projection expression: (x)',
    },
    refusal,
  );
  itAnswers(
    '[sql 3.1] literals and expressions are items',
    {
      'SELECT 5, id FROM s WHERE id = 2': '[[5,2]]',
      "SELECT 'x' AS word FROM s WHERE id = 2": '[["x"]]',
      'SELECT id + 1 FROM s WHERE id = 2': '[[3]]',
    },
    answer,
  );
  itAnswers(
    '[sql 3.1] aliases of the list are invisible in WHERE',
    {
      'SELECT id AS q FROM s WHERE q = 1': notInScope('q'),
      'SELECT x AS id FROM s WHERE id = 1': 'ok',
    },
    refusal,
  );
});

describe('COUNT', () => {
  itAnswers(
    '[sql 3.1] COUNT(*) has an alias; its name is read in any case; zero for no rows',
    {
      'SELECT COUNT(*) FROM s': 'Aggregate expressions must have column aliases',
      'SELECT CoUnT(*) AS n FROM s': '[[3]]',
      'SELECT COUNT( * ) n FROM s WHERE id > 9': '[[0]]',
      'SELECT COUNT(*) AS n FROM empty': '[[0]]',
      'SELECT COUNT(*) AS n FROM s CROSS JOIN one': '[[15]]',
      'SELECT COUNT(*) AS n FROM s JOIN one ON s.id = one.a': '[[3]]',
    },
    answer,
  );
  it('[sql 3.1] COUNT(*) is a U64', async () => {
    const { schema } = await db.result('SELECT COUNT(*) AS n FROM s');
    expect(schema.elements).toEqual([{ name: { some: 'n' }, algebraic_type: { U64: [] } }]);
  });
  itAnswers(
    '[sql 3.1] COUNT(*) beside other items, in the subscription dialect',
    {
      'SELECT COUNT(*) AS n, id FROM s': 'Unsupported projection expression: COUNT(*)',
      'SELECT id, COUNT(*) FROM s': 'Unsupported projection expression: COUNT(*)',
    },
    (sql) => db.subscription(sql),
  );
  itAnswers(
    '[sql 3.1] COUNT(*) beside other items counts their groups',
    { 'SELECT flag, COUNT(*) AS n FROM t GROUP BY flag': '[[false,2],[true,3]]' },
    answer,
  );
  it('[sql 3.1] COUNT over a view counts the rows of the caller', async () => {
    const ada = db.identity('ada');
    const bob = db.identity('bob');
    await db.result(
      `INSERT INTO note (id, owner, text) VALUES (1, 0x${ada}, ''), (2, 0x${ada}, ''),
        (3, 0x${bob}, '')`,
    );
    const sql = 'SELECT COUNT(*) AS n FROM my_notes';
    expect(await db.rows(sql, 'ada')).toEqual([[2]]);
    expect(await db.rows(sql, 'bob')).toEqual([[1]]);
    expect(await db.rows(sql)).toEqual([[0]]);
  });
  it('[ease 3.9] COUNT over a table with several filters counts a row once', async () => {
    const [ada, bob] = [db.identity('ada'), db.identity('bob')];
    await db.result(
      `INSERT INTO letter (id, from_who, to_who) VALUES (1, 0x${ada}, 0x${ada}),
        (2, 0x${ada}, 0x${bob}), (3, 0x${bob}, 0x${ada}), (4, 0x${bob}, 0x${bob})`,
    );
    const sql = 'SELECT COUNT(*) AS n FROM letter';
    expect(await db.rows(sql, 'ada')).toEqual([[3]]);
    expect(await db.rows(sql)).toEqual([[4]]);
    expect(await db.rows('SELECT COUNT(*) AS n FROM letter WHERE id = 1', 'ada')).toEqual([[1]]);
    expect(await db.rows('SELECT COUNT(*) AS n FROM letter', 'nobody')).toEqual([[0]]);
  });
});

describe('LIMIT', () => {
  itAnswers(
    '[sql 3.1] LIMIT truncates to a U64',
    {
      'SELECT * FROM t LIMIT 3': '3',
      'SELECT * FROM t LIMIT 0': '0',
      'SELECT * FROM t LIMIT 1e3': '5',
      'SELECT * FROM t LIMIT 18446744073709551615': '5',
      'SELECT * FROM t LIMIT ALL': '5',
      'SELECT id FROM t WHERE id > 3 LIMIT 1': '1',
      'SELECT t.id FROM t CROSS JOIN s LIMIT 7': '7',
      'SELECT COUNT(*) AS n FROM t LIMIT 1': '1',
      'SELECT COUNT(*) AS n FROM t LIMIT 0': '0',
    },
    count,
  );
  itAnswers(
    '[sql 3.1] LIMIT refuses what is no U64',
    {
      'SELECT * FROM t LIMIT 5.5': badLiteral('5.5', 'U64'),
      'SELECT * FROM t LIMIT 18446744073709551616': badLiteral('18446744073709551616', 'U64'),
    },
    refusal,
  );
  it('[sql 3.1] LIMIT on COUNT cuts the row of the count', async () => {
    expect(await db.rows('SELECT COUNT(*) AS n FROM t LIMIT 2')).toEqual([[5]]);
  });
  it('[sql 3.1] LIMIT is global over several filters', async () => {
    expect(await db.rows('SELECT * FROM letter LIMIT 1', 'ada')).toHaveLength(1);
    expect(await db.rows('SELECT * FROM letter LIMIT 3', 'ada')).toHaveLength(3);
  });
  itAnswers(
    '[sql 3] LIMIT with an expression, and OFFSET',
    {
      'SELECT id FROM s ORDER BY id LIMIT 1 + 1': '[[1],[2]]',
      'SELECT id FROM s ORDER BY id LIMIT 1 OFFSET 1': '[[2]]',
      'SELECT id FROM s ORDER BY id OFFSET 2': '[[3]]',
    },
    answer,
  );
});

describe('joins', () => {
  itAnswers(
    '[sql 3.1] results are bags: joins produce duplicates',
    {
      'SELECT s.x FROM s CROSS JOIN t WHERE s.id = 1': '[[-1],[-1],[-1],[-1],[-1]]',
      'SELECT a.id FROM s AS a CROSS JOIN s AS b WHERE a.id = 2': '[[2],[2],[2]]',
    },
    answer,
  );
  itAnswers(
    '[sql 3.1] ON in parentheses, outer, natural and USING joins',
    {
      'SELECT s.* FROM s JOIN t ON (s.id = t.id)': 'Non-inner joins are not supported',
      'SELECT s.* FROM s RIGHT JOIN t ON s.id = t.id': 'Non-inner joins are not supported',
      'SELECT s.* FROM s FULL JOIN t ON s.id = t.id': 'Non-inner joins are not supported',
      'SELECT s.* FROM s NATURAL JOIN t': 'Non-inner joins are not supported',
      'SELECT s.* FROM s JOIN t USING (id)': 'Non-inner joins are not supported',
    },
    refusal,
  );
  const otherConditions = {
    'SELECT s.* FROM s LEFT JOIN t ON s.id = t.id': 'Non-inner joins are not supported',
    'SELECT s.* FROM s JOIN t ON s.id < t.id': 'Non-inner joins are not supported',
    'SELECT s.* FROM s JOIN t ON s.id = 1': 'Non-inner joins are not supported',
    'SELECT s.* FROM s JOIN t ON s.id = t.id AND t.flag': 'Non-inner joins are not supported',
    'SELECT s.* FROM s JOIN t ON (s.id = t.id)': 'Non-inner joins are not supported',
    'SELECT s.* FROM s JOIN t ON TRUE': 'Non-inner joins are not supported',
  };
  itAnswers('[sql 3.1] ON is column = column in the subscription dialect', otherConditions, (sql) =>
    db.subscription(sql),
  );
  itAnswers(
    '[sql 3.1] ON may be any condition, and a join may be LEFT',
    {
      'SELECT s.id, t.id AS b FROM s JOIN t ON s.id < t.id AND t.flag WHERE s.id > 1':
        '[[2,3],[2,5],[3,5]]',
      'SELECT s.id FROM s JOIN t ON s.id = 1 WHERE t.id = 4': '[[1]]',
      'SELECT s.id, t.a FROM s LEFT JOIN t ON s.id = t.id AND t.flag':
        '[[1,[0,10]],[2,[1,[]]],[3,[0,30]]]',
    },
    answer,
  );
  itAnswers(
    '[sql 3.1] further conditions go into WHERE; without ON a join is a cross product',
    {
      'SELECT s.id FROM s JOIN t ON s.id = t.id WHERE t.a > 10 AND s.x > -3': '[[2]]',
      'SELECT COUNT(*) AS n FROM s JOIN t': '[[15]]',
    },
    answer,
  );
  itAnswers(
    '[sql 3.1] columns in ON are of one type',
    {
      'SELECT s.* FROM s JOIN t ON s.id = t.x': mismatch('I32', 'U32'),
      'SELECT s.* FROM s JOIN t ON s.x = t.id': mismatch('U32', 'I32'),
      'SELECT s.* FROM s JOIN numbered ON s.id = numbered.id': mismatch('U64', 'U32'),
    },
    refusal,
  );
  itAnswers(
    '[sql 3.1] a relation is not in scope before its join',
    {
      'SELECT s.* FROM s JOIN t ON s.id = one.a JOIN one ON one.a = t.id': notInScope('one'),
      'SELECT s.* FROM s JOIN t ON s.id = t.id JOIN one ON one.a = t.id': 'ok',
    },
    refusal,
  );
  itAnswers(
    '[sql 3.1] names of relations are unique, self-joins need aliases',
    {
      'SELECT s.* FROM s JOIN s ON s.id = s.id': 'Duplicate name `s`',
      'SELECT q.* FROM s AS q CROSS JOIN t AS q': 'Duplicate name `q`',
      'SELECT s.* FROM s JOIN s AS other ON s.id = other.id': 'ok',
    },
    refusal,
  );
  const qualified = 'Names must be qualified when using joins';
  itAnswers(
    '[sql 3.1] with a join every column is qualified',
    {
      'SELECT a FROM s JOIN t ON s.id = t.id': qualified,
      'SELECT s.* FROM s JOIN t ON s.id = t.id WHERE a = 1': qualified,
      'SELECT s.* FROM s JOIN t ON s.id = a': qualified,
      'SELECT s.id AS q FROM s JOIN t ON s.id = t.id ORDER BY q': 'ok',
    },
    refusal,
  );
});

describe('beyond the language of the peer', () => {
  const cases: readonly (readonly [string, string, string, RegExp | string])[] = [
    ['DISTINCT', 'SELECT DISTINCT flag FROM t', '[[false],[true]]', /^Unsupported SELECT: /],
    [
      'GROUP BY and HAVING',
      'SELECT flag FROM t GROUP BY flag HAVING COUNT(*) > 2',
      '[[true]]',
      /^Unsupported SELECT: /,
    ],
    ['ORDER BY', 'SELECT * FROM s ORDER BY id DESC LIMIT 1', '[[3,-3]]', /^Unsupported: /],
    ['OFFSET', 'SELECT * FROM s OFFSET 3', '[]', /^Unsupported: /],
    [
      'aggregate functions',
      'SELECT SUM(id) AS total, AVG(x), MIN(x), MAX(id) FROM s',
      '[[[0,6],[0,-2],[0,-3],[0,3]]]',
      'Unsupported projection expression: SUM(id)',
    ],
    [
      'a subquery in IN',
      'SELECT * FROM s WHERE id IN (SELECT a FROM one WHERE a > 2)',
      '[[3,-3]]',
      /^Unsupported expression: /,
    ],
    [
      'a derived table',
      'SELECT q.* FROM (SELECT id FROM s) AS q WHERE q.id = 1',
      '[[1]]',
      /^Unsupported FROM expression: /,
    ],
    [
      'UNION',
      'SELECT id FROM s UNION SELECT a FROM one',
      '[[1],[2],[3],[4],[5]]',
      /^Unsupported set operation: /,
    ],
    [
      'EXCEPT and INTERSECT',
      'SELECT a FROM one EXCEPT SELECT id FROM s INTERSECT SELECT a FROM one',
      '[[4],[5]]',
      /^Unsupported set operation: /,
    ],
    [
      'WITH',
      'WITH q AS (SELECT id FROM s) SELECT * FROM q WHERE id = 2',
      '[[2]]',
      /^Unsupported: /,
    ],
    [
      'IS NULL',
      'SELECT id FROM opaque WHERE opt.some IS NULL',
      '[[2]]',
      'Unsupported expression: opt.some IS NULL',
    ],
    [
      'IS NOT NULL',
      'SELECT id FROM opaque WHERE opt.some IS NOT NULL',
      '[[1]]',
      'Unsupported expression: opt.some IS NOT NULL',
    ],
    ['IN', 'SELECT * FROM s WHERE id IN (1, 9)', '[[1,-1]]', /^Unsupported expression: /],
    [
      'BETWEEN',
      'SELECT * FROM s WHERE id BETWEEN 2 AND 2',
      '[[2,-2]]',
      /^Unsupported expression: /,
    ],
    [
      'LIKE',
      "SELECT id FROM t WHERE name LIKE '%3'",
      '[[3]]',
      "Unsupported expression: name LIKE '%3'",
    ],
    [
      'ILIKE',
      "SELECT id FROM t WHERE name ILIKE 'N3'",
      '[[3]]',
      "Unsupported expression: name ILIKE 'N3'",
    ],
    [
      'EXISTS',
      'SELECT * FROM s WHERE EXISTS (SELECT a FROM one WHERE one.a = s.id AND one.a > 2)',
      '[[3,-3]]',
      /^Unsupported expression: /,
    ],
    [
      'arithmetic',
      'SELECT * FROM s WHERE id + 1 = 3',
      '[[2,-2]]',
      'Unsupported binary operator: +',
    ],
    [
      'concatenation',
      "SELECT id FROM t WHERE name || '!' = 'n3!'",
      '[[3]]',
      'Unsupported binary operator: ||',
    ],
    [
      'CASE',
      'SELECT CASE WHEN id = 1 THEN x ELSE 0 END AS c FROM s',
      '[[-1],[0],[0]]',
      'Unsupported projection expression: CASE WHEN id = 1 THEN x ELSE 0 END',
    ],
    [
      'CAST',
      "SELECT id FROM s WHERE CAST(id AS String) = '3'",
      '[[3]]',
      'Unsupported expression: CAST(id AS String)',
    ],
    [
      'function calls',
      'SELECT id FROM s WHERE abs(x) = 3',
      '[[3]]',
      'Unsupported expression: abs(x)',
    ],
    [
      'field access',
      'SELECT point.x, mood.loud FROM opaque WHERE id = 1',
      '[[3,[0,9]]]',
      notInScope('point'),
    ],
    ['NOT', 'SELECT id FROM t WHERE NOT flag', '[[2],[4]]', /^Column projections/],
  ];
  for (const [what, sql, expected, subscribed] of cases) {
    it(`[sql 3] ${what}, which the subscription dialect refuses: ${sql}`, async () => {
      expect(await db.answer(sql)).toBe(expected);
      expect(db.subscription(sql)).not.toBe('ok');
      expect(db.subscription(sql)).toMatch(subscribed);
    });
  }

  it('[sql 3] EXPLAIN shows the plan of a statement', async () => {
    expect(await db.rows('EXPLAIN SELECT * FROM s WHERE id = 1')).not.toEqual([]);
    expect(await db.rows('EXPLAIN ANALYZE SELECT * FROM s WHERE id = 1')).not.toEqual([]);
    expect(db.subscription('EXPLAIN SELECT * FROM s')).toBe('Unsupported: Non-SELECT queries');
  });

  it('[sql 3] EXPLAIN runs nothing, EXPLAIN ANALYZE runs the statement', async () => {
    await db.result("INSERT INTO numbered (id, text) VALUES (1, 'a'), (2, 'b'), (3, 'c')");
    const plan = await db.rows('EXPLAIN DELETE FROM numbered');
    expect(plan[0]).toEqual(['delete from numbered']);
    expect(await db.answer('SELECT id FROM numbered')).toBe('[[1],[2],[3]]');
    const ran = await db.rows('EXPLAIN ANALYZE DELETE FROM numbered');
    expect(ran[1]?.[0]).toContain('really 3 rows in 1 loops');
    expect(await db.answer('SELECT id FROM numbered')).toBe('[]');
  });

  const noHistory =
    'AS OF is not supported: this database keeps no history yet. Only current rows can be read';
  itAnswers(
    '[sql 3] AS OF is read, and refused until history is kept',
    {
      'SELECT * FROM s AS OF 5': noHistory,
      "SELECT * FROM s WHERE id = 1 AS OF TIMESTAMP '2025-01-01T00:00:00Z'": noHistory,
    },
    refusal,
  );

  it('[sql 6.4] NOT is a safe superset of the subscription dialect', () => {
    expect(db.subscription('SELECT * FROM t WHERE NOT (flag)')).toBe('ok');
  });

  itAnswers(
    '[sql 3] still not in the language',
    {
      'SELECT id FROM s FETCH FIRST ROW ONLY': /^Unsupported: /,
      'SELECT * FROM s LIMIT -1': 'Unsupported: SELECT * FROM s LIMIT -1',
      "SELECT * FROM s LIMIT 'x'": "Unsupported: SELECT * FROM s LIMIT 'x'",
      'SELECT * FROM s LIMIT id': 'Unsupported: SELECT * FROM s LIMIT id',
      'VALUES ROW(1)': 'Unsupported: VALUES ROW(1)',
      'SELECT SUM(id) OVER (w ORDER BY x) AS q FROM s': /^Unsupported/,
      'SELECT s.* FROM s, LATERAL (SELECT 1) AS q':
        'Unsupported FROM expression: LATERAL (SELECT 1) AS q',
      'SELECT id FROM s WHERE id ~ 1': /^Unsupported/,
      'SELECT id FROM s WHERE id & 1 = 1': 'Unsupported binary operator: &',
      'SELECT id FROM s WHERE id | 1 = 1': 'Unsupported binary operator: |',
      'SELECT (id, x) AS q FROM s': /^Unsupported/,
      "SELECT id FROM t WHERE name SIMILAR TO 'x'": /^Unsupported expression: /,
      "SELECT id FROM t WHERE name REGEXP 'x'": /^Unsupported expression: /,
    },
    refusal,
  );
});
