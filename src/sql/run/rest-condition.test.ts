import { describe, expect, it } from 'vitest';
import { QueryLab } from '../../../test/sql/query-lab.ts';

const u32 = { kind: 'u32' } as const;
const i64 = { kind: 'i64' } as const;
const text = { kind: 'string' } as const;

const lab = new QueryLab([
  { name: 'o', columns: { id: u32, k: u32, v: i64, name: text } },
  { name: 'i', columns: { id: u32, k: u32, v: i64, name: text } },
]);
lab.insert(
  'o',
  Array.from({ length: 120 }, (_, id) => [id, id % 40, BigInt(id % 7), `n${id % 3}`]),
);
lab.insert(
  'i',
  Array.from({ length: 300 }, (_, id) => [id, id % 50, BigInt(id % 11), `n${id % 4}`]),
);

const rowsOf = (sql: string, options = {}): string =>
  JSON.stringify(lab.rows(sql, options), (_key, value) =>
    typeof value === 'bigint' ? String(value) : value,
  );

describe('[ease 3.8] EXISTS with mixed conditions', () => {
  const select = 'SELECT o.id FROM o WHERE';
  const queries = [
    `${select} EXISTS (SELECT 1 AS one FROM i WHERE i.k = o.k AND i.v > o.v)`,
    `${select} NOT EXISTS (SELECT 1 AS one FROM i WHERE i.k = o.k AND i.v < o.v)`,
    `${select} NOT EXISTS ` +
      '(SELECT 1 AS one FROM i WHERE i.k = o.k AND i.name <> o.name AND i.id > 220)',
    `${select} EXISTS (SELECT 1 AS one FROM i WHERE i.k = o.k AND (i.v = 3 OR o.v = 2))`,
    `${select} o.v > 5 OR EXISTS (SELECT 1 AS one FROM i WHERE i.k = o.k AND o.name = 'n1')`,
    `${select} o.v IN (SELECT i.v FROM i WHERE i.k = o.k AND i.id > o.id)`,
    `${select} o.v NOT IN (SELECT i.v FROM i WHERE i.k = o.k AND i.id > o.id)`,
    `${select} EXISTS (SELECT 1 AS one FROM (SELECT k, v + 1 AS w FROM i LIMIT 200) AS d ` +
      'WHERE d.k = o.k AND d.w > o.v)',
  ].map((sql) => `${sql} ORDER BY o.id`);

  it.each(queries)('keeps the inner rows by key: %s', (sql) => {
    expect(lab.explain(sql)).toContain('rows collected once by key');
    const expected = rowsOf(sql, { optimise: false });
    expect(expected).not.toBe('[]');
    expect(rowsOf(sql)).toBe(expected);
    expect(rowsOf(sql, { isPausing: true })).toBe(expected);
  });

  it.each([
    `${select} EXISTS (SELECT 1 AS one FROM i WHERE i.k = o.k AND 10 / i.v > o.v)`,
    `${select} EXISTS (SELECT 1 AS one FROM i WHERE i.k > o.k AND i.v < o.v)`,
    `${select} EXISTS ` +
      '(SELECT 1 AS one FROM i JOIN i AS j ON i.id = j.id WHERE i.k = o.k AND j.v < o.v)',
  ])('asks for each row where a condition could fail, or none is an equality: %s', (sql) => {
    expect(lab.explain(sql)).toContain('asked for each row');
  });
});
