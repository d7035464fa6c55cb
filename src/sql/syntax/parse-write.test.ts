import { describe, expect, it } from 'vitest';
import { refusalOf, treeOf } from '../../../test/sql/parsed.ts';

const column = (...parts: readonly string[]) => ({ kind: 'column', parts });

function refused(cases: Readonly<Record<string, string>>): void {
  for (const [sql, message] of Object.entries(cases)) expect(refusalOf(sql), sql).toBe(message);
}

describe('INSERT', () => {
  it('[sql 3.2] reads rows of values', () => {
    expect(treeOf('INSERT INTO lib.t (a, "B") VALUES (-1, NULL), ($1, :x)')).toMatchObject({
      kind: 'insert',
      table: 'lib.t',
      columns: ['a', 'B'],
      source: {
        kind: 'values',
        rows: [
          [{ kind: 'number', text: '-1' }, { kind: 'null' }],
          [
            { kind: 'parameter', name: '1' },
            { kind: 'parameter', name: 'x' },
          ],
        ],
      },
      returning: undefined,
    });
    expect(treeOf("INSERT t VALUES (0xff, 'x', TRUE, TIMESTAMP '2025-01-01')")).toMatchObject({
      columns: [],
      source: {
        rows: [
          [{ kind: 'hex' }, { kind: 'string' }, { kind: 'boolean' }, { kind: 'typedLiteral' }],
        ],
      },
    });
    expect(treeOf('INSERT INTO t VALUES ()')).toMatchObject({ source: { rows: [[]] } });
  });

  it('reads queries', () => {
    for (const query of [
      'SELECT * FROM s',
      '(SELECT b FROM s)',
      'WITH x AS (SELECT 1) SELECT * FROM x',
      'SELECT a FROM s UNION SELECT b FROM s ORDER BY a LIMIT 1',
    ]) {
      for (const columns of ['', '(a) ']) {
        expect(treeOf(`INSERT INTO t ${columns}${query}`)).toMatchObject({
          columns: columns === '' ? [] : ['a'],
          source: { kind: 'query', query: { kind: 'query' } },
        });
      }
    }
  });

  it('reads RETURNING, which is no alias there', () => {
    const returning = [{ kind: 'everything' }];
    for (const source of ['VALUES (1)', 'SELECT * FROM s', 'SELECT a', 'SELECT a FROM s x']) {
      expect(treeOf(`INSERT INTO t (a) ${source} RETURNING *`)).toMatchObject({ returning });
    }
    expect(treeOf('INSERT INTO t (a) VALUES (1) RETURNING a, b + 1 AS c, t.*')).toMatchObject({
      returning: [
        { expression: column('a') },
        { expression: { kind: 'arithmetic' }, alias: 'c' },
        { kind: 'relation', relation: 't' },
      ],
    });
    expect(treeOf('SELECT * FROM t returning')).toMatchObject({
      query: { body: { from: { first: { alias: 'returning' } } } },
    });
  });

  it('[sql 8.2] refuses other sources and exotic literals', () => {
    refused({
      'INSERT INTO t (a) VALUES (1) LIMIT 1': 'Unsupported INSERT expression: VALUES (1) LIMIT 1',
      'INSERT INTO t (a) VALUES ROW(1)': 'Unsupported INSERT expression: VALUES ROW(1)',
      'INSERT INTO t (a) VALUES (?)': 'Unsupported literal expression: ?',
    });
    for (const value of ['b', '(1)', '1+1', 'f(1)', '1::int', '(SELECT 1)', ':sender']) {
      expect(refusalOf(`INSERT INTO t (a) VALUES (${value})`), value).toBe('ok');
    }
    for (const sql of [
      'INSERT INTO t (a) VALUES (1) ON CONFLICT (a) WHERE a > 1 DO NOTHING',
      'INSERT INTO t (a) VALUES (1) ON DUPLICATE KEY UPDATE a = 1',
      'INSERT INTO t DEFAULT VALUES',
      'INSERT INTO t AS x (a) VALUES (1)',
      'INSERT OR REPLACE INTO t (a) VALUES (1)',
      'INSERT IGNORE INTO t (a) VALUES (1)',
    ]) {
      expect(refusalOf(sql).toUpperCase(), sql).toBe(`Unsupported: ${sql}`.toUpperCase());
    }
  });
});

describe('UPDATE and DELETE', () => {
  it('[sql 3.3] read assignments, the condition, RETURNING', () => {
    const sql = 'UPDATE lib.t SET a = a + 1, "B" = NULL, x.c = $1 WHERE d RETURNING *, a';
    expect(treeOf(sql)).toMatchObject({
      kind: 'update',
      table: 'lib.t',
      assignments: [
        { column: 'a', value: { kind: 'arithmetic' }, span: 'a = a + 1' },
        { column: 'B', value: { kind: 'null' } },
        { column: 'x.c', value: { kind: 'parameter' } },
      ],
      where: column('d'),
      returning: [{ kind: 'everything' }, { expression: column('a') }],
    });
    expect(treeOf('DELETE FROM t WHERE a = :sender RETURNING a')).toMatchObject({
      kind: 'delete',
      table: 't',
      where: { right: { kind: 'sender' } },
      returning: [{}],
    });
    expect(treeOf('DELETE FROM "t"')).toMatchObject({ where: undefined, returning: undefined });
  });

  it('[ease 3.1] read DEFAULT where it stands alone', () => {
    expect(treeOf('INSERT INTO t (a, b) VALUES (DEFAULT, default + 1)')).toMatchObject({
      source: { rows: [[{ kind: 'default' }, { kind: 'arithmetic', left: column('default') }]] },
    });
    const sets = 'SET a = Default, b = default.x, c = "default"';
    expect(treeOf(`UPDATE t ${sets}`)).toMatchObject({
      assignments: [
        { value: { kind: 'default' } },
        { value: column('default', 'x') },
        { value: column('default') },
      ],
    });
    expect(treeOf(`INSERT INTO t (a) VALUES (1) ON CONFLICT (a) DO UPDATE ${sets}`)).toMatchObject({
      conflict: { update: { assignments: [{ value: { kind: 'default' } }, {}, {}] } },
    });
  });

  it('[ease 3.4] read an alias, and constraints by name', () => {
    for (const alias of ['AS x', 'x', '"x"']) {
      expect(treeOf(`UPDATE t ${alias} SET a = 1`)).toMatchObject({ table: 't', alias: 'x' });
      expect(treeOf(`DELETE FROM t ${alias} USING s`)).toMatchObject({ table: 't', alias: 'x' });
    }
    expect(treeOf('DELETE FROM t RETURNING a')).toMatchObject({ alias: undefined });
    const insert = 'INSERT INTO t (a) VALUES (1) ON CONFLICT ON CONSTRAINT "t_key"';
    expect(treeOf(`${insert} DO NOTHING`)).toMatchObject({
      conflict: { constraint: 't_key', columns: [], update: undefined },
    });
  });

  it('[ease 3.4] read FROM, USING and ON CONFLICT', () => {
    expect(treeOf('UPDATE t SET a = s.b FROM s JOIN u ON u.a = s.a WHERE t.a = s.a')).toMatchObject(
      {
        kind: 'update',
        from: { first: { name: 's' }, joins: [{ kind: 'inner' }] },
        where: { kind: 'comparison' },
      },
    );
    expect(treeOf('UPDATE t SET a = 1 FROM s RETURNING a')).toMatchObject({
      from: { first: { name: 's', alias: undefined } },
      returning: [{}],
    });
    expect(treeOf('DELETE FROM t USING s AS x WHERE t.a = x.a RETURNING *')).toMatchObject({
      using: { first: { name: 's', alias: 'x' } },
      returning: [{ kind: 'everything' }],
    });
    const insert = 'INSERT INTO t (a, b) VALUES (1, 2) ON CONFLICT';
    expect(treeOf(`${insert} DO NOTHING`)).toMatchObject({
      conflict: { columns: [], update: undefined },
    });
    const update = 'DO UPDATE SET b = excluded.b, c = 1 WHERE t.b < excluded.b RETURNING a';
    expect(treeOf(`${insert} (a, "B") ${update}`)).toMatchObject({
      conflict: {
        columns: ['a', 'B'],
        update: { assignments: [{ column: 'b' }, { column: 'c' }], where: { kind: 'comparison' } },
      },
      returning: [{}],
    });
    expect(treeOf('INSERT INTO t (a) SELECT a FROM s ON CONFLICT (a) DO NOTHING')).toMatchObject({
      source: { kind: 'query' },
      conflict: { columns: ['a'] },
    });
  });

  it('[sql 8.2] refuse exotic literals', () => {
    refused({ 'UPDATE t SET a = ?': 'Unsupported literal expression: ?' });
    const values = [':sender', 'f(:sender)', '1 + (SELECT b FROM s)', 'EXISTS (SELECT 1), b = 1'];
    for (const value of ['"DEFAULT" || default.x', ...values]) {
      expect(refusalOf(`UPDATE t SET a = ${value}`), value).toBe('ok');
    }
  });

  it('[sql 8.2] refuse other forms', () => {
    for (const sql of [
      'UPDATE t AS x, s SET a = 1',
      'UPDATE t JOIN s ON a = b SET a = 1',
      'UPDATE t SET (a, b) = (1, 2)',
      'UPDATE t SET a = 1 ORDER BY a',
      'UPDATE t SET a = 1 LIMIT 1',
      'DELETE FROM t LIMIT 1',
    ]) {
      expect(refusalOf(sql), sql).toBe(`Unsupported: ${sql}`);
    }
    refused({
      'DELETE FROM t AS x JOIN s ON x.a = s.a':
        'Unsupported table expression in DELETE: t AS x JOIN s ON x.a = s.a',
      'DELETE FROM t JOIN s ON t.a = s.a':
        'Unsupported table expression in DELETE: t JOIN s ON t.a = s.a',
      'DELETE FROM t, s': 'Multi-table DELETE is not supported',
      'DELETE t, s FROM t': 'Multi-table DELETE is not supported',
    });
  });
});

describe('SET and SHOW', () => {
  it('[sql 3.5] read one variable', () => {
    for (const sql of ['SET row_limit = 5', 'SET SESSION row_limit TO 5']) {
      expect(treeOf(sql)).toMatchObject({
        kind: 'set',
        variable: 'row_limit',
        value: { kind: 'number', text: '5' },
      });
    }
    expect(treeOf('SET local = $1')).toMatchObject({ variable: 'local', value: { name: '1' } });
    expect(treeOf('SHOW row_limit')).toMatchObject({ kind: 'show', variable: 'row_limit' });
  });

  it('[sql 8.2] refuse other settings', () => {
    refused({
      'SET row_limit = five': 'Unsupported column/variable assignment expression: five',
      'SET row_limit = 1 + 1': 'Unsupported column/variable assignment expression: 1 + 1',
      'SET row_limit = NULL': 'Unsupported literal expression: NULL',
      'SET row_limit = :sender': 'Unsupported literal expression: :sender',
      'SET LOCAL row_limit = 5': 'Unsupported: SET LOCAL row_limit = 5',
      'SET a = 1, b = 2': 'Unsupported: SET a = 1, b = 2',
      'SET TIME ZONE LOCAL': 'Unsupported: SET TIME ZONE LOCAL',
      'SHOW FULL TABLES': 'Unsupported: SHOW FULL TABLES',
    });
  });
});
