import { describe, expect, it } from 'vitest';
import { SqlFailure } from '../failure.ts';
import { toDialect } from './dialect.ts';
import { parse } from './parse.ts';

function refusal(sql: string): string {
  try {
    toDialect(parse(sql));
    return 'ok';
  } catch (error) {
    if (error instanceof SqlFailure) return error.message;
    throw error;
  }
}

function refused(cases: Readonly<Record<string, string>>): void {
  for (const [sql, message] of Object.entries(cases)) expect(refusal(sql), sql).toBe(message);
}

/** Each condition is refused whole, under one heading. */
function refusedConditions(heading: string, conditions: readonly string[]): void {
  for (const condition of conditions) {
    expect(refusal(`SELECT * FROM t WHERE ${condition}`), condition).toBe(`${heading}${condition}`);
  }
}

describe('SELECT', () => {
  it('[sql §8.2] needs FROM, but the list is checked first', () => {
    refused({
      'SELECT *': 'A FROM clause is required',
      'SELECT a': 'A FROM clause is required',
      'SELECT 1': 'Unsupported projection expression: 1',
    });
  });

  it('[sql §3.1] takes columns, wildcards and one aliased COUNT(*)', () => {
    for (const sql of [
      'SELECT * FROM t',
      'SELECT ALL * FROM t',
      'SELECT t.* FROM t',
      'SELECT r.* FROM t AS r',
      'SELECT a x, a y FROM t',
      'SELECT COUNT(*) AS n FROM t',
      'select count(*) n from t limit 2',
      'SELECT * FROM t LIMIT ALL',
    ]) {
      expect(refusal(sql), sql).toBe('ok');
    }
  });

  it('[sql §8.2] refuses every other SELECT item', () => {
    refused({
      'SELECT COUNT(*) FROM t': 'Aggregate expressions must have column aliases',
      'SELECT sum(a) FROM t': 'Aggregate expressions must have column aliases',
      'SELECT sum(a) AS s FROM t': 'Unsupported aggregate function: sum(a)',
      'SELECT COUNT(a) AS n FROM t': 'Unsupported aggregate function: COUNT(a)',
      'SELECT COUNT(DISTINCT a) AS n FROM t': 'Unsupported aggregate function: COUNT(DISTINCT a)',
      'SELECT COUNT(*) OVER (PARTITION BY a) AS n FROM t':
        'Unsupported aggregate function: COUNT(*) OVER (PARTITION BY a)',
      'SELECT a, COUNT(*) AS n FROM t': 'Unsupported projection expression: COUNT(*)',
      'SELECT *, a FROM t': 'Mixed wildcard projections are not supported',
      'SELECT t.*, t.a FROM t': 'Mixed wildcard projections are not supported',
      'SELECT (a) FROM t': 'Unsupported projection expression: (a)',
      "SELECT 'x' AS y FROM t": "Unsupported projection expression: 'x'",
      'SELECT a + 1 FROM t': 'Unsupported projection expression: a + 1',
      'SELECT a = 1 FROM t': 'Unsupported projection expression: a = 1',
      'SELECT a, NOT b FROM t': 'Unsupported projection expression: NOT b',
    });
  });

  it('[sql §8.2] refuses other sources of rows', () => {
    refused({
      'SELECT * FROM a, b': 'Implicit joins are not supported',
      'SELECT * FROM (SELECT * FROM t)': 'Unsupported FROM expression: (SELECT * FROM t)',
      'SELECT * FROM (SELECT * FROM t) AS x': 'Unsupported FROM expression: (SELECT * FROM t) AS x',
      'SELECT * FROM v(1)': 'Unsupported FROM expression: v(1)',
      'SELECT * FROM unnest(a)': 'Unsupported FROM expression: unnest(a)',
      'SELECT * FROM t AS x (a, b)': 'Unsupported FROM expression: t AS x (a, b)',
    });
  });

  it('[sql §3.1] refuses joins that are not inner or not on one pair of columns', () => {
    const other = 'Non-inner joins are not supported';
    refused({
      'SELECT t.* FROM t LEFT JOIN s ON t.id = s.id': other,
      'SELECT t.* FROM t RIGHT OUTER JOIN s ON t.id = s.id': other,
      'SELECT t.* FROM t FULL JOIN s ON t.id = s.id': other,
      'SELECT t.* FROM t NATURAL JOIN s': other,
      'SELECT t.* FROM t JOIN s USING (id)': other,
      'SELECT t.* FROM t JOIN s ON (t.id = s.id)': other,
      'SELECT t.* FROM t JOIN s ON t.id = s.id AND t.a = 1': other,
      'SELECT t.* FROM t JOIN s ON t.id < s.id': other,
      'SELECT t.* FROM t JOIN s ON t.id = 1': other,
      'SELECT t.* FROM t JOIN s ON TRUE': other,
    });
  });

  it('[sql §3.1] wants every name qualified in a join', () => {
    const unqualified = 'Names must be qualified when using joins';
    refused({
      'SELECT a FROM t JOIN s ON t.id = s.id': unqualified,
      'SELECT t.* FROM t JOIN s ON id = s.id': unqualified,
      'SELECT t.* FROM t JOIN s ON t.id = s.id WHERE a = 1': unqualified,
      'SELECT t.* FROM t CROSS JOIN s WHERE NOT (t.a = 1 OR x = 2)': unqualified,
      'SELECT t.* FROM t JOIN s ON t.id = s.id WHERE t.a = 1': 'ok',
      'SELECT t.* FROM t CROSS JOIN s': 'ok',
    });
  });

  it('[sql §8.2] refuses the clauses that it lacks, with the whole statement', () => {
    for (const tail of [
      'ORDER BY a',
      'ORDER BY a DESC LIMIT 1',
      'GROUP BY a',
      'HAVING a = 1',
      'LIMIT 1 OFFSET 2',
      'OFFSET 2',
      'LIMIT -1',
      "LIMIT '5'",
      'LIMIT (5)',
      'LIMIT a',
      'LIMIT 0x5',
      'FETCH FIRST 1 ROWS ONLY',
      'UNION SELECT * FROM s',
      'WINDOW w AS (PARTITION BY a)',
    ]) {
      expect(refusal(`SELECT * FROM t ${tail}`), tail).toMatch(/^Unsupported: SELECT \* FROM t /);
    }
    refused({
      'select  distinct a from t': 'Unsupported: SELECT DISTINCT a FROM t',
      'SELECT TOP 5 * FROM t': 'Unsupported: SELECT TOP 5 * FROM t',
      'SELECT * INTO x FROM t': 'Unsupported: SELECT * INTO x FROM t',
      'SELECT * FROM t ORDER BY a': 'Unsupported: SELECT * FROM t ORDER BY a',
    });
  });
});

describe('conditions', () => {
  it('[sql §8.2] refuses predicates and expressions that it lacks', () => {
    refusedConditions('Unsupported expression: ', [
      'a IS NULL',
      'a IS NOT NULL',
      'a IN (1, 2)',
      'a NOT IN (1, 2)',
      'a IN (SELECT b FROM s)',
      'a BETWEEN 1 AND 2',
      "a LIKE 'x%'",
      "a NOT ILIKE 'x%'",
      'EXISTS (SELECT * FROM s)',
      'f(a, b)',
      '-a',
      'CASE WHEN a THEN b ELSE c END',
      '(a, b)',
      '(SELECT a FROM s)',
      'a[1]',
      '(a).b',
    ]);
    refused({ 'SELECT * FROM t WHERE a = -b': 'Unsupported expression: -b' });
  });

  it('[sql §8.2] names the operator that it lacks', () => {
    for (const operator of ['+', '-', '*', '/', '%', '||', '&', '|', '<=>', '~']) {
      expect(refusal(`SELECT * FROM t WHERE a ${operator} b`), operator).toBe(
        `Unsupported binary operator: ${operator}`,
      );
    }
    refused({
      'SELECT * FROM t WHERE a XOR b': 'Unsupported binary operator: XOR',
      'SELECT * FROM t WHERE a * 2 + 1 = 3': 'Unsupported binary operator: +',
    });
  });

  it('[sql §6.4] takes NOT, which generated queries contain', () => {
    for (const sql of [
      'SELECT * FROM t WHERE NOT (("t"."a" = 1) AND ("t"."b" > 2))',
      'DELETE FROM t WHERE NOT a = 1',
    ]) {
      expect(refusal(sql), sql).toBe('ok');
    }
  });
});

describe('writes', () => {
  it('[sql §3] takes the plain forms', () => {
    for (const sql of [
      'INSERT INTO t (a, b) VALUES (1, 2), (-3, TRUE)',
      "INSERT t (a) VALUES ('x')",
      'INSERT INTO lib.t (a) VALUES (0xff)',
      'UPDATE t SET a = 1, "B" = FALSE WHERE c > 2',
      'DELETE FROM t',
      'DELETE FROM t WHERE a = :sender',
      'SET row_limit = 5',
      'SET SESSION row_limit TO 5',
      'SHOW row_limit',
    ]) {
      expect(refusal(sql), sql).toBe('ok');
    }
  });

  it('[sql §8.2] refuses other sources and values of INSERT', () => {
    refused({
      'INSERT INTO t SELECT * FROM s': 'Unsupported INSERT expression: SELECT * FROM s',
      'INSERT INTO t (a) SELECT b FROM s': 'Unsupported INSERT expression: SELECT b FROM s',
      'INSERT INTO t (SELECT b FROM s)': 'Unsupported INSERT expression: (SELECT b FROM s)',
      'INSERT INTO t (a) VALUES (1) LIMIT 1': 'Unsupported INSERT expression: VALUES (1) LIMIT 1',
      'INSERT INTO t (a) VALUES ROW(1)': 'Unsupported INSERT expression: VALUES ROW(1)',
      'INSERT INTO t (a) VALUES (b)': 'Unsupported INSERT value: b',
      'INSERT INTO t (a) VALUES (DEFAULT)': 'Unsupported INSERT value: DEFAULT',
      'INSERT INTO t (a) VALUES ((1))': 'Unsupported INSERT value: (1)',
      'INSERT INTO t (a) VALUES (1 + 1)': 'Unsupported INSERT value: 1 + 1',
      'INSERT INTO t (a) VALUES (NULL)': 'Unsupported literal expression: NULL',
      'INSERT INTO t (a) VALUES (:sender)': 'Unsupported literal expression: :sender',
    });
    for (const sql of [
      'INSERT INTO t (a) VALUES (1) ON CONFLICT DO NOTHING',
      'INSERT INTO t (a) VALUES (1) RETURNING a',
      'INSERT INTO t DEFAULT VALUES',
      'INSERT INTO t AS x (a) VALUES (1)',
      'INSERT OR REPLACE INTO t (a) VALUES (1)',
    ]) {
      expect(refusal(sql), sql).toBe(`Unsupported: ${sql}`);
    }
  });

  it('[sql §8.2] refuses other forms of UPDATE and DELETE', () => {
    for (const sql of [
      'UPDATE t AS x SET a = 1',
      'UPDATE t x SET a = 1',
      'UPDATE t SET a = 1 FROM s',
      'UPDATE t SET a = 1 RETURNING a',
      'UPDATE t SET (a, b) = (1, 2)',
      'DELETE FROM t USING s WHERE t.a = s.a',
      'DELETE FROM t WHERE a = 1 RETURNING a',
      'SET LOCAL row_limit = 5',
      'SET TIME ZONE LOCAL',
      'SHOW TABLES',
      'CREATE TABLE t (a INT)',
      'DROP TABLE t',
      'BEGIN',
      'COMMIT',
      'EXPLAIN SELECT * FROM t',
      'WITH x AS (SELECT * FROM t) SELECT * FROM x',
      'VALUES (1)',
      '(SELECT * FROM t)',
    ]) {
      expect(refusal(sql), sql).toMatch(/^Unsupported: /);
      expect(refusal(sql).replaceAll(/[\s()]/g, ''), sql).toBe(
        `Unsupported: ${sql}`.replaceAll(/[\s()]/g, ''),
      );
    }
    const assigned = 'Unsupported column/variable assignment expression';
    refused({
      'UPDATE t SET a = b': `${assigned}: b`,
      'UPDATE t SET a = a + 1': `${assigned}: a + 1`,
      'UPDATE t SET a = NULL': 'Unsupported literal expression: NULL',
      'SET row_limit = five': `${assigned}: five`,
      'DELETE FROM t x': 'Unsupported table expression in DELETE: t x',
      'DELETE FROM t AS x': 'Unsupported table expression in DELETE: t AS x',
      'DELETE FROM t JOIN s ON t.a = s.a':
        'Unsupported table expression in DELETE: t JOIN s ON t.a = s.a',
      'DELETE FROM t, s': 'Multi-table DELETE is not supported',
      'DELETE t, s FROM t': 'Multi-table DELETE is not supported',
    });
  });
});
