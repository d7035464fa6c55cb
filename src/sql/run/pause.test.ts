import { describe, expect, it } from 'vitest';
import { QueryLab } from '../../../test/sql/query-lab.ts';
import { QueryBudget } from '../budget.ts';
import { SqlFailure } from '../failure.ts';
import { compileRead, ReadExecution } from './execution.ts';

const u32 = { kind: 'u32' } as const;
const i64 = { kind: 'i64' } as const;

function makeLab(): QueryLab {
  const lab = new QueryLab([
    { name: 'a', columns: { id: u32, k: u32, v: i64 }, indexes: ['unique:btree:id', 'btree:k'] },
    { name: 'b', columns: { id: u32, k: u32 }, indexes: ['unique:hash:id', 'btree:k'] },
  ]);
  lab.insert(
    'a',
    Array.from({ length: 40 }, (_, id) => [id, id % 7, BigInt((id * 13) % 17)]),
  );
  lab.insert(
    'b',
    Array.from({ length: 30 }, (_, id) => [id, id % 11]),
  );
  return lab;
}

const statements = [
  'SELECT * FROM a',
  'SELECT * FROM a WHERE k = 3',
  'SELECT * FROM a WHERE id > 10 AND id < 30',
  'SELECT a.id, b.id AS other FROM a JOIN b ON a.k = b.k',
  'SELECT a.id, b.id AS other FROM a LEFT JOIN b ON a.id = b.id AND b.k > 3',
  'SELECT a.id, b.id AS other FROM a JOIN b ON b.k > a.k AND b.k < a.k + 3',
  'SELECT k, COUNT(*) AS n, SUM(v) AS s FROM a GROUP BY k',
  'SELECT DISTINCT v FROM a',
  'SELECT k FROM a UNION SELECT k FROM b',
  'SELECT k FROM a EXCEPT ALL SELECT k FROM b',
  'SELECT id FROM a WHERE v IN (SELECT CAST(k AS I64) FROM b WHERE id > 5)',
  'SELECT id FROM a WHERE EXISTS (SELECT b.id FROM b WHERE b.k = CAST(a.v AS U32))',
  'SELECT id, (SELECT MAX(b.id) AS m FROM b WHERE b.k = a.k) AS m FROM a',
  'SELECT id, (SELECT b.k FROM b WHERE b.k < a.k + 2 ORDER BY b.k DESC LIMIT 1) AS m FROM a',
  `VALUES ${Array.from({ length: 20 }, (_, at) => `(${at})`).join(', ')}`,
  'WITH w AS (SELECT k, COUNT(*) AS n FROM a GROUP BY k) ' +
    'SELECT x.n FROM w AS x JOIN w AS y ON x.k = y.k',
];
const ordered = [
  'SELECT id FROM a ORDER BY v, id DESC',
  'SELECT id FROM a ORDER BY v DESC, id LIMIT 5 OFFSET 3',
  'SELECT id FROM a ORDER BY id DESC LIMIT 7',
  'SELECT k AS x FROM a UNION ALL SELECT k FROM b ORDER BY x',
];

function texts(rows: readonly unknown[]): readonly string[] {
  return rows.map((row) =>
    JSON.stringify(row, (_key, value) => (typeof value === 'bigint' ? `${value}n` : value)),
  );
}

describe('reads that pause', () => {
  it.each([...statements, ...ordered])('answers the same as without a pause: %s', (sql) => {
    const lab = makeLab();
    const isOrdered = ordered.includes(sql);
    const inOrder = (rows: readonly string[]): readonly string[] =>
      isOrdered ? rows : [...rows].sort();
    const plain = inOrder(texts(lab.rows(sql)));
    expect(inOrder(texts(lab.rows(sql, { isPausing: true })))).toEqual(plain);
    expect(lab.pauseCount).toBeGreaterThan(5);
  });

  it.each([...statements, ...ordered])('sees the rows of its first moment: %s', (sql) => {
    const lab = makeLab();
    const isOrdered = ordered.includes(sql);
    const inOrder = (rows: readonly string[]): readonly string[] =>
      isOrdered ? rows : [...rows].sort();
    const plain = inOrder(texts(lab.rows(sql)));
    let step = 0;
    const duringPause = (): void => {
      step++;
      if (step > 60) return;
      lab.write(`DELETE FROM a WHERE id = ${step}`);
      lab.write(`DELETE FROM b WHERE k = ${step % 11}`);
      lab.write(`INSERT INTO a (id, k, v) VALUES (${1_000 + step}, ${step % 7}, ${step % 17})`);
      lab.write(`UPDATE a SET k = 3, v = 5 WHERE id = ${step * 2}`);
      lab.write(`INSERT INTO b (id, k) VALUES (${500 + step}, ${step % 11})`);
    };
    expect(inOrder(texts(lab.rows(sql, { isPausing: true, duringPause })))).toEqual(plain);
  });
});

describe('budgets', () => {
  it('stops a statement that holds too much, and says what to do', () => {
    const lab = makeLab();
    lab.insert(
      'b',
      Array.from({ length: 5_000 }, (_, at) => [1_000 + at, at % 11]),
    );
    const run = (): unknown =>
      lab.rows('SELECT a.id FROM b AS a JOIN b AS c ON a.id + 0 = c.id + 0 ORDER BY c.k, a.k', {
        memoryBytesMax: 64 * 1024,
      });
    expect(run).toThrow(SqlFailure);
    expect(run).toThrow(/MiB of memory/);
  });
});

describe('null', () => {
  it('[sql 3.1] NOT IN finds nothing once a null is among the values', () => {
    const lab = makeLab();
    const nulls = 'SELECT NULLIF(b.k, 3) FROM b';
    expect(lab.rows(`SELECT id FROM a WHERE k NOT IN (${nulls})`)).toEqual([]);
    expect(lab.rows('SELECT id FROM a WHERE k NOT IN (SELECT k FROM b WHERE FALSE)')).toHaveLength(
      40,
    );
    const rows = `SELECT id FROM a WHERE NULLIF(k, 1) NOT IN (SELECT k FROM b WHERE k > 3)`;
    expect(lab.rows(rows)).toHaveLength(
      [0, 2, 3].map((k) => Math.ceil((40 - k) / 7)).reduce((x, y) => x + y),
    );
  });

  it('[sql 3.1] a condition in ON keeps the outer row, one in WHERE drops it', () => {
    const lab = makeLab();
    const join = 'SELECT a.id FROM a LEFT JOIN b ON a.id = b.id';
    expect(lab.rows(`${join} AND b.k = 2`)).toHaveLength(40);
    expect(lab.rows(`${join} WHERE b.k = 2`)).toHaveLength(3);
    expect(lab.rows(`${join} WHERE b.k IS NULL`)).toHaveLength(10);
    expect(lab.rows(`${join} AND a.id < 5 WHERE b.id IS NULL`)).toHaveLength(35);
  });

  it('[sql 3.1] null comes last unless it is written otherwise', () => {
    const lab = makeLab();
    const sql = 'SELECT DISTINCT NULLIF(k, 0) AS x FROM a ORDER BY';
    const first = (order: string): unknown => lab.rows(`${sql} ${order} LIMIT 1`)[0];
    const none = [{ tag: 1, value: [] }];
    expect(first('x')).toEqual([{ tag: 0, value: 1 }]);
    expect(first('x DESC')).toEqual(none);
    expect(first('x NULLS FIRST')).toEqual(none);
    expect(first('x DESC NULLS LAST')).toEqual([{ tag: 0, value: 6 }]);
  });
});

describe('memory', () => {
  it('is given back when a subquery is asked again', () => {
    const lab = makeLab();
    const top = '(SELECT b.id FROM b WHERE b.k = a.k ORDER BY b.id DESC LIMIT 1)';
    const joined =
      '(SELECT COUNT(*) FROM b JOIN b AS c ON b.k + 0 = c.k + 0 WHERE b.id > a.k AND c.id > a.k)';
    const groups =
      '(SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM b WHERE b.id > a.k GROUP BY b.k) AS g)';
    for (const subquery of [top, joined, groups]) {
      const sql = `SELECT a.id, ${subquery} AS m FROM a JOIN a AS o ON a.v <> o.v`;
      expect(lab.rows(sql, { memoryBytesMax: 64 * 1024 }).length).toBeGreaterThan(1_000);
    }
  });
});

describe('subqueries that are asked again', () => {
  it('see the values of each group', () => {
    const lab = makeLab();
    const sql =
      'SELECT k, COUNT(*) AS n FROM a GROUP BY k HAVING EXISTS (SELECT b.id FROM b JOIN b AS c ' +
      'ON b.k + 0 = c.k + 0 WHERE b.id = a.k + 2 AND c.id > a.k + 20)';
    const plain = texts(lab.rows(sql, { optimise: false, useIndexes: false })).toString();
    expect(texts(lab.rows(sql)).toString()).toBe(plain);
    expect(lab.rows(sql).length).toBeGreaterThan(1);
  });

  it('let the read around them pause between its rows, and stop at none that is quick', () => {
    const lab = makeLab();
    const sql =
      'SELECT id FROM a WHERE NOT EXISTS (SELECT b.id FROM b WHERE b.k + 1 > a.k AND b.id > a.id)';
    const compiled = compileRead(lab.plan(sql, { optimise: false }), { types: lab.schema.types });
    let millis = 0;
    const budget = new QueryBudget({
      now: () => ++millis,
      sliceMillis: 5,
      stallMillisMax: 60,
      rowsPerCheck: 4,
    });
    const { tables } = lab;
    const execution = new ReadExecution(compiled, {
      tables,
      parameters: [],
      budget,
      nowMicros: 0n,
    });
    let pauses = 0;
    while (execution.run() === 'paused') pauses++;
    expect(pauses).toBeGreaterThan(20);
    expect(execution.result().rowCount).toBe(lab.rows(sql).length);
    execution.dispose();
  });
});
