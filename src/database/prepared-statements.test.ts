import { describe, expect, it } from 'vitest';
import { labOwner, QueryLab } from '../../test/sql/query-lab.ts';
import { optionType, sum, timestampType, unitType } from '../values/special-types.ts';
import { PreparedStatements } from './prepared-statements.ts';

const lab = new QueryLab([
  {
    name: 'task',
    columns: {
      id: { kind: 'u32' },
      title: { kind: 'string' },
      points: { kind: 'i16' },
      status: sum(['todo', unitType], ['done', unitType]),
      who: optionType({ kind: 'string' }),
      due: timestampType,
    },
    indexes: ['unique:btree:id'],
  },
]);
const tables = { ...lab.tables, prepareViews: () => undefined };

const insert = 'INSERT INTO task (id, title, points, status, who, due)';

/** Whether the texts are one prepared statement. */
function isOne(...texts: readonly string[]): boolean {
  const statements = new PreparedStatements(lab.schema);
  const found = texts.map((sql) => statements.get({ sql, caller: labOwner }, tables).statement);
  return new Set(found).size === 1;
}

describe('[ease 3.8] texts that differ in literals', () => {
  it.each([
    ['SELECT * FROM task WHERE id = 1', 'SELECT * FROM task WHERE id = 2'],
    ["SELECT id FROM task WHERE title = 'a'", "SELECT id FROM task WHERE title = 'b''c'"],
    ["SELECT id FROM task WHERE who = 'ann'", "SELECT id FROM task WHERE who = 'ben'"],
    ["SELECT id FROM task WHERE status = 'todo'", "SELECT id FROM task WHERE status = 'done'"],
    ['SELECT id FROM task WHERE id IN (1, 2)', 'SELECT id FROM task WHERE id IN (7, 9)'],
    [
      'SELECT id FROM task WHERE NOT id BETWEEN 1 AND 2',
      'SELECT id FROM task WHERE NOT id BETWEEN 3 AND 4',
    ],
    ['SELECT id FROM task WHERE points > -1', 'SELECT id FROM task WHERE points > -20'],
    [
      "UPDATE task SET title = 'a', points = 1 WHERE id = 1",
      "UPDATE task SET title = 'b', points = 2 WHERE id = 2",
    ],
    ['DELETE FROM task WHERE id = 1 OR points < 5', 'DELETE FROM task WHERE id = 2 OR points < 6'],
    [
      `${insert} VALUES (1, 'a', 1, 'todo', 'ann', now())`,
      `${insert} VALUES (2, 'b', 2, 'done', 'ben', now())`,
    ],
  ])('share a statement: %s', (one, other) => {
    expect(isOne(one, other, one)).toBe(true);
  });

  it.each([
    ['SELECT id FROM task LIMIT 1', 'SELECT id FROM task LIMIT 2'],
    ['SELECT id, 1 AS x FROM task WHERE id = 1', 'SELECT id, 2 AS x FROM task WHERE id = 1'],
    ["SELECT id FROM task WHERE title LIKE 'a%'", "SELECT id FROM task WHERE title LIKE 'b%'"],
    ['SELECT id, title FROM task ORDER BY 1', 'SELECT id, title FROM task ORDER BY 2'],
    ['SELECT id FROM task WHERE id + 1 = 2', 'SELECT id FROM task WHERE id + 1 = 3'],
    ['SELECT id FROM task WHERE id = 1', "SELECT id FROM task WHERE id = '1'"],
    ['EXPLAIN SELECT id FROM task WHERE id = 1', 'EXPLAIN SELECT id FROM task WHERE id = 2'],
  ])('do not where the literals decide more: %s', (one, other) => {
    expect(isOne(one, other)).toBe(false);
  });

  it.each([
    ['SELECT id FROM task WHERE id = 1', 'SELECT id FROM task WHERE id = -1'],
    ['SELECT id FROM task WHERE id = 1', 'SELECT id FROM task WHERE id = 5000000000'],
    ['SELECT id FROM task WHERE id = 1', 'SELECT id FROM task WHERE id = 1.5'],
    ["SELECT id FROM task WHERE status = 'done'", "SELECT id FROM task WHERE status = 'sent'"],
    ["UPDATE task SET title = 'a'", "UPDATE task SET due = 'a'"],
    [
      "UPDATE task SET due = '2025-02-17T10:30:45Z'",
      "UPDATE task SET due = '2025-02-17T10:30:45Z'",
    ],
    ["UPDATE task SET points = '1'", "UPDATE task SET points = '2'"],
  ])('are refused as each alone: %s, then %s', (fine, refused) => {
    const statements = new PreparedStatements(lab.schema);
    const ask = (sql: string) => () => statements.get({ sql, caller: labOwner }, tables);
    try {
      ask(fine)();
    } catch {
      // Some are refused from the first text on.
    }
    const alone = () => lab.check(refused);
    let message = '';
    try {
      alone();
    } catch (error) {
      message = String(error);
    }
    expect(message).not.toBe('');
    expect(ask(refused)).toThrow(message.replace(/^\w+: /, ''));
  });

  it('share nothing where they are long', () => {
    const found = (id: number) => `SELECT * FROM task WHERE id = ${id}${' OR id = 3'.repeat(400)}`;
    expect(isOne(found(1), found(2))).toBe(false);
  });

  it('take parameters of the request beside them', () => {
    const statements = new PreparedStatements(lab.schema);
    const sql = 'SELECT id FROM task WHERE id = 5 AND points = $1';
    const { parameters } = statements.get(
      { sql, caller: labOwner, parameters: new Map([['1', '7']]) },
      tables,
    );
    expect([...parameters.values()].sort()).toEqual(['5', '7']);
    expect(() => statements.get({ sql, caller: labOwner }, tables)).toThrow(
      'Unsupported literal expression: $1',
    );
  });
});
