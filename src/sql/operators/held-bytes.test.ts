import v8 from 'node:v8';
import vm from 'node:vm';
import { describe, expect, it } from 'vitest';
import { QueryLab } from '../../../test/sql/query-lab.ts';
import { someOf } from '../../../test/support/share.ts';
import { QueryBudget } from '../budget.ts';
import { compileRead, ReadExecution } from '../run/execution.ts';

/** The size at which a map has just grown. */
const rowCount = 34_000;
/** An execution without rows. */
const emptyBytes = 256 * 1024;
/** The middle one counts. */
const roundCount = 5;

v8.setFlagsFromString('--expose-gc');
const collect = vm.runInNewContext('gc') as () => void;

function usedBytes(): number {
  collect();
  collect();
  const { used_heap_size, external_memory } = v8.getHeapStatistics();
  return used_heap_size + external_memory;
}

function makeLab(): QueryLab {
  const lab = new QueryLab([
    {
      name: 'a',
      columns: {
        id: { kind: 'u32' },
        long: { kind: 'u64' },
        wide: { kind: 'u256' },
        float: { kind: 'f64' },
        text: { kind: 'string' },
      },
      indexes: ['unique:btree:id'],
    },
  ]);
  const rows = Array.from({ length: rowCount }, (_, id) => {
    const mixed = (id * 7_919) % 1_000_003;
    return [
      id,
      BigInt(mixed) << 40n,
      (BigInt(mixed) << 180n) + BigInt(mixed),
      mixed / 7,
      `the text of ${mixed}`,
    ];
  });
  lab.insert('a', rows);
  return lab;
}

const lab = makeLab();

/** Memory that a read holds once all its rows are read, by its own count and by the engine's. */
function held(sql: string): { readonly charged: number; readonly real: number } {
  const budget = new QueryBudget();
  const execution = new ReadExecution(compileRead(lab.plan(sql), { types: lab.schema.types }), {
    tables: lab.tables,
    budget,
    nowMicros: 0n,
    parameters: [],
  });
  const before = usedBytes();
  expect(execution.run()).toBe('done');
  const charged = budget.bytes;
  const real = usedBytes() - before;
  expect(execution.result().rowCount).toBeGreaterThan(0);
  return { charged, real };
}

const statements = [
  'SELECT * FROM a ORDER BY text, id',
  'SELECT id FROM a ORDER BY long DESC, wide, float',
  'SELECT id FROM a ORDER BY text LIMIT 10000',
  'SELECT wide, COUNT(*) AS n FROM a GROUP BY wide',
  'SELECT text, SUM(float) AS s, MIN(text) AS m FROM a GROUP BY text',
  'SELECT long, text, AVG(long) AS s, COUNT(DISTINCT id) AS n FROM a GROUP BY long, text',
  'SELECT COUNT(DISTINCT text) AS n FROM a',
  'SELECT COUNT(DISTINCT text) AS n, COUNT(DISTINCT float) AS f FROM a',
  'SELECT DISTINCT text, long FROM a',
  'SELECT text FROM a EXCEPT SELECT CAST(id AS STRING) FROM a',
  'SELECT text FROM a INTERSECT ALL SELECT text FROM a',
  'SELECT a.id FROM a JOIN a AS b ON a.text = b.text',
  'SELECT a.id FROM a JOIN a AS b ON a.long = b.long AND a.text = b.text AND a.wide = b.wide',
  'SELECT a.id FROM a JOIN a AS b ON a.float = b.float',
  'SELECT id FROM a WHERE text IN (SELECT text FROM a AS b WHERE b.float > 1)',
  'SELECT id FROM a WHERE EXISTS (SELECT b.id FROM a AS b WHERE b.text = a.text AND b.id > 0)',
  'SELECT id, (SELECT MAX(b.float) AS m FROM a AS b WHERE b.text = a.text) AS m FROM a',
  'WITH w AS (SELECT text, COUNT(*) AS n FROM a GROUP BY text) ' +
    'SELECT x.n FROM w AS x JOIN w AS y ON x.text = y.text',
  'SELECT * FROM a',
];

describe('what a statement is charged', () => {
  it.each(someOf(statements, 2))('is no less than it holds: %s', (sql) => {
    held(sql);
    // Other work of the engine, such as compiling, counts too, but not every time.
    const rounds = Array.from({ length: roundCount }, () => held(sql));
    const missing = rounds.map(({ charged, real }) => real - charged).sort((a, b) => a - b);
    expect(missing[(roundCount - 1) / 2]).toBeLessThanOrEqual(emptyBytes);
  });
});
