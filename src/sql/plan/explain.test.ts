import { describe, expect, it } from 'vitest';
import { QueryLab } from '../../../test/sql/query-lab.ts';
import { QueryBudget } from '../budget.ts';
import { compileRead, ReadExecution } from '../run/execution.ts';
import { explainPlan } from './explain.ts';
import { Measurements } from './measurements.ts';
import { estimateScan } from './scan-estimate.ts';
import { statisticsOf } from './statistics.ts';

const u32 = { kind: 'u32' } as const;

const lab = new QueryLab([
  { name: 'big', columns: { id: u32, k: u32, v: u32 }, indexes: ['unique:btree:id', 'btree:k'] },
  { name: 'small', columns: { id: u32, k: u32 } },
]);
lab.insert(
  'big',
  Array.from({ length: 100 }, (_, id) => [id, id % 20, id]),
);
lab.insert(
  'small',
  Array.from({ length: 10 }, (_, id) => [id, id]),
);

describe('EXPLAIN', () => {
  it('shows a tree, one step a line, with estimates', () => {
    expect(
      lab.explain('SELECT big.k, COUNT(*) AS n FROM big WHERE v > 5 GROUP BY big.k ORDER BY n'),
    ).toBe(
      [
        'sort: value 1 (about 4 rows)',
        '  output value 0, value 1',
        '    aggregate count by big.k (about 4 rows)',
        '      scan big: big.v > 5 (about 33 rows)',
      ].join('\n'),
    );
  });

  it('shows how often a subquery is asked', () => {
    const plan = lab.explain('SELECT id FROM small WHERE k > (SELECT AVG(k) AS a FROM small)');
    expect(plan).toContain('subquery, asked once: (subquery)');
  });

  it('shows sets, common tables and limits', () => {
    const plan = lab.explain(
      'WITH w AS (SELECT k FROM small WHERE id > 3) ' +
        'SELECT k FROM w UNION ALL SELECT k FROM w LIMIT 4 OFFSET 1',
    );
    expect(plan).toMatch(/^limit 4 offset 1/);
    expect(plan).toContain('union all');
    expect(plan).toContain('\ncommon table');
  });
});

describe('EXPLAIN ANALYZE', () => {
  it('shows what each step really did', () => {
    const plan = lab.plan(
      'SELECT big.id FROM small JOIN big ON small.k = big.k WHERE small.id < 3',
    );
    const types = { types: [] };
    const measurements = new Measurements();
    let time = 0;
    const budget = new QueryBudget({ now: () => time++ });
    const execution = new ReadExecution(compileRead(plan, types, measurements), {
      tables: lab.tables,
      parameters: [],
      budget,
      nowMicros: 0n,
    });
    expect(execution.run()).toBe('done');
    const lines = explainPlan(plan, { types, measurements, hidesNumbers: false });
    const stepOf = (start: string): string =>
      lines.find((line) => line.trim().startsWith(start)) ?? '';
    expect(stepOf('output')).toContain('really 15 rows in 1 loops');
    expect(stepOf('scan small')).toContain('really 3 rows in 1 loops');
    expect(stepOf('look up big')).toContain('really 15 rows in 3 loops');
    expect(stepOf('look up big')).toMatch(/[1-9]\d*\.\d{3} ms/);
  });
});

describe('[sql 9] the estimate of the row limit', () => {
  const scanOf = (sql: string): bigint =>
    estimateScan(lab.plan(sql), statisticsOf(lab.tables, 1_000));

  it('is the row count of a table that is read as it is, or the limit on it', () => {
    expect(scanOf('SELECT * FROM big')).toBe(100n);
    expect(scanOf('SELECT * FROM big LIMIT 7')).toBe(7n);
    expect(scanOf('SELECT COUNT(*) AS n FROM big')).toBe(100n);
  });

  it('counts filtered rows twice, and ranges as if there were no index', () => {
    expect(scanOf('SELECT * FROM big WHERE v = 1')).toBe(200n);
    expect(scanOf('SELECT * FROM big WHERE id > 90')).toBe(200n);
  });

  it('is the average bucket of an equality that an index answers', () => {
    expect(scanOf('SELECT * FROM big WHERE id = 1')).toBe(1n);
    expect(scanOf('SELECT * FROM big WHERE k = 1')).toBe(5n);
    expect(scanOf('SELECT * FROM big WHERE k = 1 AND v = 1')).toBe(10n);
  });

  it('adds what a join looks at', () => {
    expect(scanOf('SELECT small.id FROM small JOIN big ON small.id = big.id')).toBe(20n);
    expect(scanOf('SELECT small.id FROM small JOIN big ON small.id = big.k')).toBe(60n);
    expect(scanOf('SELECT a.id FROM small AS a CROSS JOIN small AS b')).toBe(120n);
  });

  it('counts subqueries', () => {
    expect(scanOf('SELECT id FROM small WHERE k IN (SELECT v FROM big)')).toBe(120n);
  });
});
