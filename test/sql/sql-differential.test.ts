import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Postgres } from './differential/postgres.ts';
import { disagreement, type Regression } from './differential/regressions.ts';
import { runDifferential } from './differential/run.ts';

let postgres: Postgres;

beforeAll(async () => {
  postgres = await Postgres.open();
}, 90_000);
afterAll(() => postgres.close());

const regressions: readonly Regression[] = [
  {
    name: 'CASE with a literal for its operand',
    tables: { 't0(id i64, c1 timestamp?) [unique:btree:id]': [[6n, 1_739_788_245_000_000n]] },
    ours: 'SELECT CASE FALSE WHEN TRUE THEN r.c1.some WHEN r.id = 6 THEN r.c1.some END AS x FROM t0 AS r',
    postgres: 'SELECT CASE FALSE WHEN TRUE THEN r.c1 WHEN r.id = 6 THEN r.c1 END AS x FROM t0 AS r',
    kinds: ['timestamp'],
  },
  {
    name: 'fractions of 32 bits, which PostgreSQL writes with few digits',
    tables: { 't0(id u64, c1 f32?) [unique:hash:id]': [[44n, -1.5]] },
    ours: 'SELECT 100.0 / r.c1.some AS x FROM t0 AS r',
    postgres: 'SELECT (100.0)::float4 / r.c1 AS x FROM t0 AS r',
    kinds: ['f32'],
  },
  {
    name: 'DISTINCT ordered by what may be null',
    tables: {
      't0(id u16, c0 i128?) [unique:btree:id]': [
        [7n, null],
        [9n, 3n],
        [8n, -1n],
      ],
    },
    ours: 'SELECT DISTINCT c0, id FROM t0 ORDER BY 1 NULLS FIRST',
    kinds: ['i128', 'u16'],
    orderedBy: [0],
  },
  {
    name: 'the count of a table, united with what may be null',
    tables: { 't0(id u16, c2 u16?) [unique:btree:id]': [], 't2(id u32) []': [[7n], [5n]] },
    ours: 'SELECT COUNT(*) AS x FROM t2 UNION SELECT SUM(c2.some) AS y FROM t0',
    postgres: 'SELECT COUNT(*)::numeric AS x FROM t2 UNION SELECT SUM(c2) AS y FROM t0',
    kinds: ['u64'],
  },
  {
    name: 'a left join under a negated AND that is false for the rows it adds',
    tables: { 't0(c2 i8) []': [[1n]], 't1(id u64, c2 i32?) [unique:hash:id]': [] },
    ours: `SELECT COUNT(*) AS x FROM t0 AS a LEFT JOIN t1 AS b ON b.c2.some = 1
      WHERE NOT ((b.c2.some = b.c2.some) AND (20 IS NOT DISTINCT FROM b.id))`,
    postgres: `SELECT COUNT(*) AS x FROM t0 AS a LEFT JOIN t1 AS b ON b.c2 = 1
      WHERE NOT ((b.c2 = b.c2) AND (20 IS NOT DISTINCT FROM b.id))`,
    kinds: ['u64'],
  },
  {
    name: 'a list of one duration',
    tables: {
      't0(id u64, c1 duration?) [unique:hash:id]': [
        [1n, 60_000_000n],
        [2n, null],
      ],
    },
    ours: "SELECT id FROM t0 WHERE c1.some IN (INTERVAL '1 minute')",
    postgres: 'SELECT id FROM t0 WHERE c1 IN (60000000)',
    kinds: ['u64'],
  },
  {
    name: 'a subquery as the one argument of a function',
    tables: { 't0(id i64) [unique:btree:id]': [[3n], [-4n]] },
    ours: 'SELECT abs((SELECT MIN(b.id) FROM t0 AS b WHERE b.id < a.id)) AS x FROM t0 AS a',
    kinds: ['i64'],
  },
  {
    name: 'an operand beside null that does not fit its type',
    tables: { 't1(c0 i8) []': [[-127n]] },
    ours: 'SELECT CASE WHEN c0 > 0 THEN c0 END - (c0 * -2) AS x FROM t1',
    postgres:
      'SELECT CASE WHEN c0 > 0 THEN c0 END - CAST(c0 * -2 * 1000000 AS SMALLINT) AS x FROM t1',
    kinds: ['i8'],
  },
  {
    name: 'a key of groups behind a left join, chosen by a CASE',
    tables: { 't0(id i64) [unique:hash:id]': [[1n]], 't1(id i64, c1 i64?) [unique:hash:id]': [] },
    ours: `SELECT b.c1 AS x FROM t0 AS a LEFT JOIN t1 AS b ON a.id = b.id GROUP BY b.c1
      HAVING b.c1 IS NOT DISTINCT FROM CASE WHEN TRUE THEN b.c1 ELSE b.c1 END`,
    kinds: ['i64'],
  },
  {
    name: 'the other side of a comparison with null is evaluated, and fails',
    tables: { 't0(id u16, c1 f64?) [unique:btree:id]': [[1n, null]] },
    ours: 'SELECT c1 < (id + 65535) AS x FROM t0',
    postgres: 'SELECT c1 < fit(id + 65535, 0, 65535) AS x FROM t0',
    kinds: ['bool'],
  },
];

describe('the same statements here and in PostgreSQL', () => {
  it('have the same answers, with indexes and optimisations on and off, and with pauses', async () => {
    const run = { seed: 20_261_121, schemas: 30, statementsPerSchema: 10 };
    const report = await runDifferential(postgres, run);
    expect(report.statements).toBe(300);
    expect(report.withRows).toBeGreaterThan(100);
    expect(report.skipped).toBeLessThanOrEqual(report.statements * 0.02);
  }, 90_000);

  it.each(regressions)('agree about $name', async (regression) => {
    expect(await disagreement(postgres, regression)).toBeUndefined();
  });
});
