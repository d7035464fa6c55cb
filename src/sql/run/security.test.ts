import { describe, expect, it } from 'vitest';
import { type LabOptions, QueryLab } from '../../../test/sql/query-lab.ts';
import { callerIdentity } from '../../values/identity-roles.ts';
import { identityType } from '../../values/special-types.ts';
import { explainPlan } from '../plan/explain.ts';
import { Measurements } from '../plan/measurements.ts';
import { strangerRights } from '../rights.ts';

const u32 = { kind: 'u32' } as const;
const i64 = { kind: 'i64' } as const;
const alice = { identity: callerIdentity(1n), rights: strangerRights };
const bob = { identity: callerIdentity(2n), rights: strangerRights };

const member = 'SELECT doc.* FROM doc JOIN member ON doc.room = member.room';
const lab = new QueryLab(
  [
    {
      name: 'own',
      columns: { id: u32, owner: identityType, v: i64 },
      indexes: ['unique:btree:id'],
    },
    { name: 'doc', columns: { id: u32, room: u32, v: i64 }, indexes: ['unique:btree:id'] },
    { name: 'member', columns: { room: u32, who: identityType } },
    { name: 'both', columns: { id: u32, owner: identityType, v: i64 } },
    { name: 'free', columns: { id: u32, v: i64 } },
  ],
  {
    own: ['SELECT * FROM own WHERE owner = :sender'],
    doc: [`${member} WHERE member.who = :sender`],
    both: ['SELECT * FROM both WHERE owner = :sender', 'SELECT * FROM both WHERE v = 7'],
  },
);
// A row that Alice may not see has a zero, so dividing by it would reveal the row.
lab.insert('own', [
  [1, [1n], 5n],
  [2, [2n], 0n],
  [3, [1n], 7n],
]);
lab.insert('both', [
  [1, [1n], 7n],
  [2, [2n], 0n],
  [3, [2n], 7n],
]);
lab.insert('doc', [
  [1, 10, 3n],
  [2, 20, 0n],
]);
lab.insert('member', [
  [10, [1n]],
  [20, [2n]],
]);
lab.insert('free', [[1, 1n]]);

const variants: readonly LabOptions[] = [
  {},
  { useIndexes: false },
  { optimise: false },
  { isPausing: true },
];

function rows(sql: string, caller = alice): unknown[] {
  const [first = [], ...others] = variants.map((options) => lab.rows(sql, { ...options, caller }));
  for (const other of others) expect(other).toEqual(first);
  return first;
}

describe('row-level security', () => {
  it('[sql 10.3] shows the rows of the filters, each once', () => {
    expect(rows('SELECT id FROM own')).toEqual([[1], [3]]);
    expect(rows('SELECT id FROM own', bob)).toEqual([[2]]);
    expect(rows('SELECT id FROM doc')).toEqual([[1]]);
    expect(rows('SELECT id FROM both ORDER BY id')).toEqual([[1], [3]]);
    expect(rows('SELECT COUNT(*) AS n FROM own')).toEqual([[2n]]);
  });

  it.each([
    'SELECT id FROM own WHERE 10 / v > 0',
    'SELECT d.id FROM (SELECT id, 10 / v AS q FROM own) AS d WHERE d.q > 0',
    'SELECT own.id FROM own JOIN free ON 10 / own.v > 0 AND free.id = free.id',
    'SELECT own.id FROM free JOIN own ON own.v = own.v WHERE free.v / own.v >= 0',
    'SELECT free.id AS f, own.id FROM free LEFT JOIN own ON 10 / own.v > 0',
    'SELECT id FROM free WHERE EXISTS (SELECT own.id FROM own WHERE free.v / own.v >= 0)',
    'SELECT id FROM own WHERE id IN (SELECT id FROM own WHERE 10 / v > 0)',
    'SELECT id FROM own ORDER BY 10 / v',
    'SELECT 10 / v AS q, COUNT(*) AS n FROM own GROUP BY 10 / v',
    'SELECT id FROM doc WHERE 10 / v > 0',
    'SELECT doc.id FROM doc JOIN free ON free.id <> doc.room WHERE 10 / doc.v > 0',
    'SELECT id FROM both WHERE 10 / v > 0',
    'SELECT d.id FROM (SELECT id, v FROM both) AS d WHERE 10 / d.v > 0',
    'WITH w AS (SELECT * FROM doc) SELECT w.id FROM w WHERE 10 / w.v > 0',
  ])('no error tells of a hidden row: %s', (sql) => {
    expect(() => rows(sql)).not.toThrow();
    expect(() => lab.rows(sql, { caller: bob })).toThrow(/Division by zero/);
  });

  it('lets conditions that raise no error choose an index', () => {
    const plan = lab.explain('SELECT id FROM own WHERE id = 2', { caller: alice });
    expect(plan).toContain('look up own by own_id_idx_btree (2)');
    expect(rows('SELECT id FROM own WHERE id = 2')).toEqual([]);
  });
});

describe('EXPLAIN for callers with filters', () => {
  const options = { caller: alice, hidesNumbers: true };

  it('shows no estimate that is made of hidden rows', () => {
    expect(lab.explain('SELECT id FROM own', options)).not.toContain('rows)');
    expect(lab.explain('SELECT COUNT(*) AS n FROM doc', options)).not.toContain('rows)');
    expect(lab.explain('SELECT id FROM both', options)).not.toContain('rows)');
    expect(lab.explain('SELECT id FROM free', options)).toContain('(about 1 rows)');
  });

  it('shows nothing of what is joined before all filters have sifted', () => {
    const sql = 'SELECT doc.id FROM doc JOIN free ON doc.id = free.id';
    const plan = lab.plan(sql, { caller: alice });
    const types = { types: [] };
    const measurements = new Measurements();
    const texts = explainPlan(plan, { types, measurements, hidesNumbers: true });
    expect(texts.filter((text) => text.includes('really'))).toHaveLength(1);
    expect(texts[0]).toMatch(/^output doc.id \(really/);
    const all = explainPlan(plan, { types, measurements, hidesNumbers: false });
    expect(all.filter((text) => text.includes('really')).length).toBeGreaterThan(3);
  });

  it('shows of a join with a filtered relation only what is known without it', () => {
    const plan = lab.explain('SELECT free.id FROM free JOIN own ON free.id = own.id', options);
    const lines = plan.split('\n').filter((line) => line.includes('rows)'));
    expect(lines.every((line) => line.includes('scan free'))).toBe(true);
  });
});
