import { describe, expect, it } from 'vitest';
import {
  badLiteral,
  checked,
  columnTexts,
  expectRefusals,
  mismatch,
  sampleSchema,
  scopeFor,
} from '../../../test/sql/check-statement.ts';
import { sampleTables } from '../../../test/sql/sample-tables.ts';

const schema = sampleSchema({ tables: sampleTables, views: ['users'] });
const run = (sql: string) => checked(sql, scopeFor(schema));
const refused = (cases: Readonly<Record<string, string>>) => expectRefusals(cases, run);
const option = '(some: U32 | none: ())';

describe('stored values', () => {
  it('[sql 5.1] a column of another type is not converted, computed numbers are', () => {
    refused({
      'UPDATE t SET a = x': mismatch('I32', 'U32'),
      'UPDATE t SET a = name': mismatch('String', 'U32'),
      'UPDATE t SET a = x + 0': 'ok',
      'UPDATE t SET a = length(name)': 'ok',
      'UPDATE t SET f32 = a / 2': 'ok',
      'UPDATE t SET a = a * 1.5': mismatch('F64', 'U32'),
      'UPDATE t SET a = CAST(a * 1.5 AS U32)': 'ok',
      "UPDATE t SET name = name || '!', flag = NOT flag": 'ok',
    });
    expect(run('UPDATE t SET u8 = a + 1')).toMatchObject({
      assignments: [{ column: 5, value: { kind: 'convert', type: { kind: 'u8' } } }],
    });
  });

  it('NULL and values fit Options, and nothing else', () => {
    refused({
      'UPDATE opaque SET opt = NULL': 'ok',
      'UPDATE opaque SET opt = 5': 'ok',
      'UPDATE opaque SET opt = id': 'ok',
      'UPDATE opaque SET opt = NULLIF(id, 3)': 'ok',
      'UPDATE opaque SET opt = opt': 'ok',
      'UPDATE opaque SET opt = opt + 1': 'ok',
      "UPDATE opaque SET opt = 'x'": mismatch('String', option),
      'UPDATE opaque SET opt = -1': badLiteral('-1', option),
      'UPDATE opaque SET opt = TRUE': mismatch('Bool', option),
      'UPDATE opaque SET id = opt': mismatch(option, 'U32'),
      'UPDATE opaque SET id = NULL': 'Unsupported literal expression: NULL',
      'UPDATE t SET a = NULLIF(a, 3)':
        'The column `a` does not accept NULL, and this value can be NULL; write ' +
        'COALESCE(value, other)',
      'UPDATE t SET a = COALESCE(NULLIF(a, 3), 0)': 'ok',
    });
    expect(run('UPDATE opaque SET opt = NULL')).toMatchObject({
      assignments: [{ value: { kind: 'constant', bytes: Uint8Array.of(1), isNullable: false } }],
    });
    expect(run('UPDATE opaque SET opt = 5')).toMatchObject({
      assignments: [{ value: { kind: 'constant', bytes: Uint8Array.of(0, 5, 0, 0, 0) } }],
    });
    expect(run('UPDATE opaque SET opt = id')).toMatchObject({
      assignments: [{ value: { kind: 'convert', isNullable: false, operand: { column: 0 } } }],
    });
  });
});

describe('INSERT … SELECT', () => {
  it('maps columns by name and gives them the types of the table', () => {
    expect(run("INSERT INTO s (x, id) SELECT 5, id FROM t WHERE name = 'a'")).toMatchObject({
      source: {
        kind: 'query',
        columns: [1, 0],
        query: { columns: [{ type: { kind: 'i32' } }, { type: { kind: 'u32' } }] },
      },
    });
    refused({
      'INSERT INTO s (id, x) SELECT id FROM t':
        'Inserting a row with 1 values into `s` which has 2 fields',
      'INSERT INTO s (id, x) SELECT x, id FROM t': mismatch('I32', 'U32'),
      'INSERT INTO s (id, x) SELECT id, COUNT(*) FROM t GROUP BY id': 'ok',
      'INSERT INTO s (id, x) SELECT id, MAX(x) FROM t GROUP BY id':
        'The column `x` does not accept NULL, and this value can be NULL; write ' +
        'COALESCE(value, other)',
      'INSERT INTO s (id, x) SELECT id, -1 FROM t UNION ALL SELECT 7, x FROM t': 'ok',
      'INSERT INTO s (id, x) SELECT -1, x FROM t': badLiteral('-1', 'U32'),
      'INSERT INTO s SELECT id, x FROM t':
        'The number of fields (0) in the INSERT does not match the number of columns (2) of the ' +
        'table `s`',
    });
  });
});

describe('RETURNING', () => {
  it('answers with items over the row written', () => {
    const statement = run('UPDATE t SET a = a + 1 RETURNING id, a * 2 AS twice');
    if (statement.kind !== 'update' || statement.returning === undefined) throw new Error('none');
    expect(columnTexts(statement.returning.columns)).toBe('id U32, twice U32');
    expect(statement.returning.slot).toBe(statement.relation.slot);
    refused({
      'DELETE FROM t RETURNING *': 'ok',
      'INSERT INTO one (a) VALUES (1) RETURNING one.a': 'ok',
      'INSERT INTO one (a) VALUES (1) RETURNING b': '`b` is not in scope',
      'DELETE FROM t RETURNING COUNT(*)':
        'The aggregate function `count` is not allowed in RETURNING',
    });
  });
});

describe('targets', () => {
  it('[sql 8.3] are no views', () => {
    const view = '`users` is a view; DML on views is not supported';
    refused({
      'INSERT INTO users (id, name) VALUES (1, 2)': view,
      'UPDATE users SET id = 1': view,
      'DELETE FROM users': view,
      'SELECT * FROM users': 'ok',
    });
    expect(run('SELECT u.id FROM users AS u JOIN users AS v ON u.id = v.id').views).toHaveLength(1);
  });

  it('[sql 3.6] are judged the same behind EXPLAIN', () => {
    const denied = /^Caller [0-9a-f]{64} is not authorized to run SQL DML statements$/;
    for (const sql of [
      'DELETE FROM t',
      'EXPLAIN DELETE FROM t',
      'EXPLAIN ANALYZE UPDATE t SET a = 1',
    ]) {
      expect(() => checked(sql, scopeFor(schema, 'stranger')), sql).toThrow(denied);
    }
  });
});
