import { expect, it } from 'vitest';
import { QueryLab } from '../../../test/sql/query-lab.ts';

const u32 = { kind: 'u32' } as const;
const i64 = { kind: 'i64' } as const;

const lab = new QueryLab([
  { name: 'o', columns: { id: u32, v: i64 } },
  { name: 'i', columns: { id: u32, v: i64 } },
]);
lab.insert(
  'o',
  Array.from({ length: 50 }, (_, id) => [id, BigInt(id)]),
);
// One row would divide by zero; no row of `o` has its number.
lab.insert(
  'i',
  Array.from({ length: 200 }, (_, at) => [at + 25, at === 75 ? 0n : 1n]),
);

it.each([
  'SELECT o.id FROM o WHERE EXISTS (SELECT i.id FROM i WHERE i.id = o.id AND 10 / i.v > 0)',
  'SELECT o.id FROM o WHERE o.v IN (SELECT 10 / i.v + 20 FROM i WHERE i.id = o.id)',
  'SELECT o.id FROM o WHERE o.v NOT IN (SELECT 10 / i.v FROM i WHERE i.id = o.id)',
])('keys of inner rows that no outer row asks for raise no error: %s', (sql) => {
  expect(lab.rows(sql)).toEqual(lab.rows(sql, { optimise: false }));
  expect(lab.rows(sql, { isPausing: true })).toEqual(lab.rows(sql));
  const raising = sql.replace('10 / i.v', '10 / (i.v - 1)');
  expect(() => lab.rows(raising)).toThrow('Division by zero');
});
