import { describe, expect, it } from 'vitest';
import { partOf, refusalOf, treeOf } from '../../../test/sql/parsed.ts';

const column = (...parts: readonly string[]) => ({ kind: 'column', parts });
const number = (text: string) => ({ kind: 'number', text });

function queryOf(sql: string): unknown {
  return partOf(treeOf(sql), ['query']);
}

function bodyOf(sql: string): unknown {
  return partOf(queryOf(sql), ['body']);
}

function refused(cases: Readonly<Record<string, string>>): void {
  for (const [sql, message] of Object.entries(cases)) expect(refusalOf(sql), sql).toBe(message);
}

function fits(...statements: readonly string[]): void {
  for (const sql of statements) expect(refusalOf(sql), sql).toBe('ok');
}

describe('SELECT', () => {
  it('[sql 3.1] reads its list', () => {
    expect(bodyOf('SELECT ALL *, t.*, lib.t.*, a, (b) AS c, a + 1 d, "x y" FROM t')).toMatchObject({
      kind: 'select',
      isDistinct: false,
      items: [
        { kind: 'everything', span: '*' },
        { kind: 'relation', relation: 't', span: 't.*' },
        { kind: 'relation', relation: 'lib.t' },
        { kind: 'expression', expression: column('a'), alias: undefined, isParenthesised: false },
        { expression: column('b'), alias: 'c', isParenthesised: true, span: '(b)' },
        { expression: { kind: 'arithmetic' }, alias: 'd', isParenthesised: false, span: 'a + 1' },
        { expression: column('x y') },
      ],
    });
  });

  it('tells a parenthesised item from one that begins with a parenthesis', () => {
    const items = partOf(
      bodyOf('SELECT (a), ((a)), (a) + 1, (SELECT a), ((SELECT a) + 1) FROM t'),
      ['items'],
    );
    const flags = Array.from(items as Iterable<unknown>, (item) =>
      partOf(item, ['isParenthesised']),
    );
    expect(flags).toEqual([true, true, false, false, true]);
  });

  it('reads all clauses in their order', () => {
    const sql = `SELECT DISTINCT a FROM t WHERE b GROUP BY a, b + 1 HAVING count(*) > 1
      ORDER BY a DESC NULLS LAST, 2 ASC, b NULLS FIRST LIMIT 5 + 1 OFFSET $1 ROWS AS OF 7`;
    expect(queryOf(sql)).toMatchObject({
      body: {
        isDistinct: true,
        where: column('b'),
        groupBy: [column('a'), { kind: 'arithmetic' }],
        having: { kind: 'comparison' },
        unsupported: undefined,
        span: 'SELECT DISTINCT a FROM t WHERE b GROUP BY a, b + 1 HAVING count(*) > 1',
      },
      orderBy: [
        { expression: column('a'), isDescending: true, nulls: 'last' },
        { expression: number('2'), isDescending: false, nulls: undefined },
        { expression: column('b'), isDescending: false, nulls: 'first', span: 'b NULLS FIRST' },
      ],
      limit: { kind: 'arithmetic' },
      offset: { kind: 'parameter', name: '1' },
      asOf: { position: number('7'), span: 'AS OF 7' },
      unsupported: undefined,
    });
  });

  it('reads LIMIT and OFFSET in either order', () => {
    const both = { limit: number('1'), offset: number('2') };
    expect(queryOf('SELECT a FROM t LIMIT 1 OFFSET 2')).toMatchObject(both);
    expect(queryOf('SELECT a FROM t OFFSET 2 LIMIT 1')).toMatchObject(both);
    expect(queryOf('SELECT a FROM t LIMIT ALL OFFSET 2 ROW')).toMatchObject({
      limit: undefined,
      offset: number('2'),
    });
    expect(refusalOf('SELECT a FROM t LIMIT 1 LIMIT 2')).toMatch(/Expected end of statement/);
  });

  it('[sql 8.2] needs no FROM to be read', () => {
    expect(bodyOf('SELECT 1')).toMatchObject({ from: undefined });
    expect(bodyOf('SELECT *')).toMatchObject({ from: undefined });
  });
});

describe('AS OF', () => {
  it('is read at the end of every query', () => {
    for (const sql of [
      'SELECT * FROM t AS OF 5',
      'SELECT * FROM t AS x AS OF 5',
      'SELECT * FROM t x AS OF 5',
      'SELECT * FROM t WHERE a = 1 AS OF 5',
      'SELECT 1 AS OF 5',
      'SELECT a FROM t UNION SELECT b FROM s AS OF 5',
      'SELECT * FROM t LIMIT 1 AS OF 5',
    ]) {
      expect(queryOf(sql), sql).toMatchObject({ asOf: { position: number('5') } });
    }
    for (const position of [
      '$1',
      ':at',
      "TIMESTAMP '2025-01-01'",
      'now() - x',
      '(5)',
      '-5',
      "'x'",
    ]) {
      expect(queryOf(`SELECT * FROM t AS OF ${position}`), position).toMatchObject({
        asOf: { span: `AS OF ${position}` },
      });
    }
    expect(bodyOf('SELECT * FROM (SELECT * FROM t AS OF 5) AS x')).toMatchObject({
      from: { first: { alias: 'x', query: { asOf: { position: number('5') } } } },
    });
  });

  it('[sql 2.1] leaves the alias of', () => {
    for (const sql of [
      'SELECT * FROM t AS of',
      'SELECT * FROM t AS of WHERE of.a = 1',
      'SELECT * FROM t AS of JOIN s ON of.a = s.a',
      'SELECT * FROM t AS of AS OF 5',
    ]) {
      expect(bodyOf(sql), sql).toMatchObject({ from: { first: { alias: 'of' } } });
    }
    expect(bodyOf('SELECT a AS of FROM t')).toMatchObject({ items: [{ alias: 'of' }] });
    expect(bodyOf('SELECT a AS of, b FROM t')).toMatchObject({ items: [{ alias: 'of' }, {}] });
  });
});

describe('FROM', () => {
  it('[sql 3.1] reads every kind of join', () => {
    const joins = (sql: string) => partOf(bodyOf(`SELECT a FROM t ${sql}`), ['from', 'joins']);
    const on = { kind: 'comparison' };
    expect(joins('JOIN s ON t.a = s.a INNER JOIN u AS v')).toMatchObject([
      { kind: 'inner', relation: { kind: 'named', name: 's' }, on, isParenthesised: false },
      { kind: 'inner', relation: { name: 'u', alias: 'v' }, on: undefined },
    ]);
    expect(joins('LEFT JOIN s ON (t.a = s.a) LEFT OUTER JOIN lib.u ON (a) = (b)')).toMatchObject([
      { kind: 'left', on, isParenthesised: true, span: 'LEFT JOIN s ON (t.a = s.a)' },
      { kind: 'left', relation: { name: 'lib.u' }, isParenthesised: false },
    ]);
    expect(joins('CROSS JOIN s, u')).toMatchObject([{ kind: 'cross' }, { kind: 'comma' }]);
    for (const other of [
      'RIGHT JOIN s ON a = b',
      'FULL OUTER JOIN s ON a = b',
      'NATURAL JOIN s',
      'NATURAL LEFT JOIN s',
      'LEFT SEMI JOIN s ON a = b',
      'JOIN s USING (a)',
      'LEFT JOIN s USING (a)',
      'LEFT JOIN s',
      'CROSS JOIN s ON a = b',
      'CROSS APPLY s',
    ]) {
      expect(joins(other), other).toMatchObject([{ kind: 'other' }]);
    }
  });

  it('reads derived relations', () => {
    expect(
      bodyOf('SELECT * FROM (SELECT 1) AS x (a, "b c"), (WITH y AS (SELECT 1) SELECT 2)'),
    ).toMatchObject({
      from: {
        first: {
          kind: 'derived',
          alias: 'x',
          columns: ['a', 'b c'],
          query: { span: 'SELECT 1' },
          span: '(SELECT 1) AS x (a, "b c")',
        },
        joins: [{ relation: { kind: 'derived', alias: undefined, columns: undefined } }],
      },
    });
    expect(bodyOf('SELECT * FROM ((SELECT 1) UNION SELECT 2) x')).toMatchObject({
      from: { first: { query: { body: { kind: 'setOperation' } } } },
    });
  });

  it('[ease 3.4] reads VALUES as a relation', () => {
    expect(treeOf('SELECT * FROM (VALUES (1, a), (2, :sender)) AS x (b, c)')).toMatchObject({
      query: {
        body: {
          from: {
            first: {
              kind: 'derived',
              query: {
                body: {
                  kind: 'values',
                  rows: [
                    [{}, {}],
                    [{}, {}],
                  ],
                },
              },
              columns: ['b', 'c'],
            },
          },
        },
      },
    });
  });

  it('[sql 8.2] refuses other sources of rows', () => {
    for (const source of [
      'v(1)',
      'unnest(a, b)',
      'TABLE(f())',
      'LATERAL (SELECT 1) AS x',
      'LATERAL f(1)',
      't AS x (a, b)',
      '(t JOIN s ON t.a = s.a)',
      '(t)',
      '((SELECT 1) AS x JOIN s ON TRUE)',
    ]) {
      expect(refusalOf(`SELECT * FROM ${source}`), source).toMatch(
        /^Unsupported FROM expression: /,
      );
      expect(refusalOf(`SELECT * FROM ${source}`), source).toBe(
        `Unsupported FROM expression: ${source}`,
      );
    }
    expect(refusalOf('SELECT * FROM (t JOIN')).toMatch(/^sql parser error: /);
  });
});

describe('set operations', () => {
  const shape = (node: unknown): unknown => {
    const kind = partOf(node, ['kind']);
    if (kind === 'query') return [shape(partOf(node, ['body']))];
    if (kind !== 'setOperation') return partOf(node, ['items', 0, 'expression', 'text']);
    const all = partOf(node, ['isAll']) === true ? ' all' : '';
    return {
      [`${partOf(node, ['operator'])}${all}`]: [
        shape(partOf(node, ['left'])),
        shape(partOf(node, ['right'])),
      ],
    };
  };

  it('lean to the left, INTERSECT binds tighter, parentheses group', () => {
    const shapes: Readonly<Record<string, unknown>> = {
      'SELECT 1 UNION SELECT 2 EXCEPT ALL SELECT 3': {
        'except all': [{ union: ['1', '2'] }, '3'],
      },
      'SELECT 1 UNION ALL SELECT 2 INTERSECT SELECT 3': {
        'union all': ['1', { intersect: ['2', '3'] }],
      },
      'SELECT 1 EXCEPT DISTINCT (SELECT 2 UNION SELECT 3)': {
        except: ['1', [{ union: ['2', '3'] }]],
      },
      '(SELECT 1) UNION (SELECT 2)': { union: [['1'], ['2']] },
      '(SELECT 1)': ['1'],
    };
    for (const [sql, tree] of Object.entries(shapes)) expect(shape(bodyOf(sql)), sql).toEqual(tree);
  });

  it('take ORDER BY and LIMIT as a whole, or in parentheses for one side', () => {
    expect(queryOf('(SELECT 1 ORDER BY a LIMIT 2) UNION SELECT 2 ORDER BY b')).toMatchObject({
      body: {
        left: { kind: 'query', limit: number('2'), orderBy: [{}] },
        span: '(SELECT 1 ORDER BY a LIMIT 2) UNION SELECT 2',
      },
      orderBy: [{ expression: column('b') }],
    });
  });

  it('need a query behind them', () => {
    expect(refusalOf('SELECT 1 UNION 2')).toBe(
      'sql parser error: Expected SELECT, VALUES, or a subquery in the query body, found: 2 ' +
        'at Line: 1, Column 16',
    );
  });
});

describe('WITH', () => {
  it('reads common tables', () => {
    expect(
      queryOf('WITH x AS (SELECT 1), "y z" (a, b) AS MATERIALIZED (SELECT 2) SELECT * FROM x'),
    ).toMatchObject({
      commonTables: [
        { name: 'x', columns: undefined, query: { span: 'SELECT 1' } },
        { name: 'y z', columns: ['a', 'b'] },
      ],
      body: { kind: 'select' },
    });
    fits(
      'WITH x AS NOT MATERIALIZED (SELECT 1) SELECT * FROM x',
      'WITH select AS (SELECT 1) SELECT * FROM select',
      'SELECT * FROM (WITH x AS (SELECT 1) SELECT * FROM x) y',
      'WITH x AS (WITH y AS (SELECT 1) SELECT * FROM y) SELECT * FROM x UNION SELECT 1',
    );
  });

  it('[ease 3.4] reads common tables that name themselves', () => {
    expect(
      treeOf('WITH RECURSIVE x (a) AS (SELECT 1 UNION SELECT a FROM x), y AS (SELECT 1) SELECT 1'),
    ).toMatchObject({
      query: { isRecursive: true, commonTables: [{ name: 'x', columns: ['a'] }, { name: 'y' }] },
    });
    expect(treeOf('WITH recursive AS (SELECT 1) SELECT 1')).toMatchObject({
      query: { isRecursive: false, commonTables: [{ name: 'recursive' }] },
    });
  });

  it('refuses writes', () => {
    for (const sql of [
      'WITH x AS (SELECT 1) INSERT INTO t (a) VALUES (1)',
      'WITH x AS (SELECT 1) DELETE FROM t',
    ]) {
      expect(refusalOf(sql)).toBe(`Unsupported: ${sql}`);
    }
    expect(refusalOf('WITH x AS (DELETE FROM t) SELECT 1')).toBe('Unsupported: DELETE FROM t');
  });
});

describe('EXPLAIN', () => {
  it('reads the statement behind it', () => {
    expect(treeOf('EXPLAIN SELECT 1')).toMatchObject({
      kind: 'explain',
      isAnalyze: false,
      statement: { kind: 'query', span: 'SELECT 1' },
    });
    for (const sql of ['EXPLAIN ANALYZE DELETE FROM t', 'EXPLAIN (ANALYZE) DELETE FROM t']) {
      expect(treeOf(sql)).toMatchObject({ isAnalyze: true, statement: { kind: 'delete' } });
    }
    expect(treeOf('EXPLAIN (SELECT 1) UNION SELECT 2')).toMatchObject({ isAnalyze: false });
    expect(treeOf('EXPLAIN SELECT 1')).toMatchObject({ isLive: false, as: undefined });
    for (const sql of ["explain live as 'x' SELECT 1", "EXPLAIN LIVE AS 'x' (SELECT 1)"]) {
      expect(treeOf(sql)).toMatchObject({ isLive: true, as: 'x', statement: { kind: 'query' } });
    }
    for (const sql of [
      'EXPLAIN t',
      'EXPLAIN',
      'EXPLAIN EXPLAIN SELECT 1',
      'EXPLAIN LIVE',
      'EXPLAIN LIVE LIVE SELECT 1',
      'EXPLAIN LIVE ANALYZE SELECT 1',
      'EXPLAIN (FORMAT JSON) SELECT 1',
      'EXPLAIN CREATE TABLE t (a INT)',
    ]) {
      expect(refusalOf(sql)).toBe(`Unsupported: ${sql}`);
    }
  });
});

describe('refusals', () => {
  it('[sql 8.2] shows the whole statement for clauses that no dialect has', () => {
    for (const sql of [
      'SELECT TOP 5 * FROM t',
      'SELECT TOP (5) * FROM t',
      'SELECT * INTO x FROM t',
      'SELECT DISTINCT ON (a) a FROM t ORDER BY a',
      'SELECT a FROM t WINDOW w AS (x PARTITION BY a)',
      'SELECT a FROM t QUALIFY a = 1',
      'SELECT a FROM t WHERE TRUE CLUSTER BY a',
      'SELECT a FROM t GROUP BY ROLLUP(a)',
      'SELECT a FROM t GROUP BY b, GROUPING SETS ((a), (b))',
      'SELECT a FROM t FETCH FIRST 1 ROWS ONLY',
      'SELECT a FROM t LIMIT 1 FOR UPDATE',
      'SELECT a FROM t LIMIT 1, 2',
      'VALUES ROW(1), ROW(2)',
    ]) {
      expect(refusalOf(sql).toUpperCase(), sql).toBe(`UNSUPPORTED: ${sql.toUpperCase()}`);
    }
    // Inside another query it is the inner one.
    expect(refusalOf('SELECT * FROM (SELECT TOP 1 a FROM t ORDER BY a) x')).toBe(
      'Unsupported: SELECT TOP 1 a FROM t ORDER BY a',
    );
    expect(refusalOf('SELECT a FROM t WHERE b IN (SELECT a FROM s FETCH FIRST ROW ONLY)')).toMatch(
      /^Unsupported: SELECT a FROM s FETCH /,
    );
  });

  it('[sql 8.2] shows items that no dialect has', () => {
    refused({
      'SELECT COUNT(*) OVER (w ORDER BY a) AS n FROM t':
        'Unsupported aggregate function: COUNT(*) OVER (w ORDER BY a)',
      'SELECT sum(a) FILTER (b) FROM t': 'Aggregate expressions must have column aliases',
      'SELECT a, sum(b) OVER (w ORDER BY a) FROM t':
        'Unsupported projection expression: sum(b) OVER (w ORDER BY a)',
      'SELECT a & b FROM t': 'Unsupported projection expression: a & b',
      'SELECT a COLLATE c AS x, b FROM t': 'Unsupported projection expression: a COLLATE c',
      'SELECT ? FROM t': 'Unsupported projection expression: ?',
      'SELECT * EXCEPT (a) FROM t': 'Unsupported projection: * EXCEPT (a)',
      'SELECT * REPLACE (1 AS a) FROM t': 'Unsupported projection: * REPLACE (1 AS a)',
    });
    fits('SELECT * EXCEPT (SELECT 1)');
  });

  it('[sql 8.2] shows statements that do not exist', () => {
    for (const sql of [
      'CREATE TABLE t (a INT)',
      'DROP TABLE t',
      'ALTER TABLE t ADD a INT',
      'BEGIN',
      'COMMIT',
      'ROLLBACK',
      'TRUNCATE t',
      'MERGE INTO t',
    ]) {
      expect(refusalOf(sql)).toMatch(/^Unsupported: /);
      expect(refusalOf(sql).toLowerCase()).toBe(`unsupported: ${sql}`.toLowerCase());
    }
  });
});
