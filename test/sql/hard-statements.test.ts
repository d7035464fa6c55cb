import { describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.ts';
import { SqlFailure } from '../../src/sql/failure.ts';
import { cpuMillis } from '../support/cpu-millis.ts';
import { QueryLab } from './query-lab.ts';

/** Short texts that stand for very much. Each is answered or refused at once. */

const i64 = { kind: 'i64' } as const;
const u32 = { kind: 'u32' } as const;

const lab = new QueryLab([
  { name: 't', columns: { id: u32, v: i64 }, indexes: ['unique:btree:id'] },
]);
lab.insert(
  't',
  [1, 2, 3].map((id) => [id, BigInt(id)]),
);

/** What happens, and that it does not last. */
function outcome(sql: string): string {
  const startedAt = cpuMillis();
  try {
    return `${lab.rows(sql).length} rows`;
  } catch (error) {
    if (!(error instanceof SqlFailure)) throw error;
    return error.message;
  } finally {
    expect(cpuMillis() - startedAt).toBeLessThan(3_000);
  }
}

function common(depth: number, next: (before: string) => string): string {
  let text = 'WITH w0 AS (SELECT v AS x FROM t)';
  for (let at = 1; at < depth; at++) text += `, w${at} AS (${next(`w${at - 1}`)})`;
  return `${text} SELECT COUNT(*) AS n FROM w${depth - 1}`;
}

const tooOften = 'The statement is too large: its common tables are used too often';

describe('common tables that name each other', () => {
  it.each([
    ['joined', (w: string) => `SELECT a.x FROM ${w} AS a JOIN ${w} AS b ON a.x = b.x`],
    ['one after the other', (w: string) => `SELECT x FROM ${w} UNION ALL SELECT x FROM ${w}`],
    ['in subqueries', (w: string) => `SELECT x FROM ${w} WHERE x IN (SELECT x FROM ${w}) OR x > 5`],
    ['without effect', (w: string) => `SELECT x FROM ${w} WHERE EXISTS (SELECT x FROM ${w})`],
  ])('are bounded when they double: %s', (_, next) => {
    for (const depth of [20, 60]) expect(outcome(common(depth, next))).toBe(tooOften);
    expect(outcome(common(5, next))).toBe('1 rows');
  });

  it('may form a long chain', () => {
    expect(outcome(common(150, (w) => `SELECT x + 1 AS x FROM ${w}`))).toBe('1 rows');
    expect(outcome(common(150, (w) => `SELECT DISTINCT x FROM ${w}`))).toBe('1 rows');
  });

  it('may not form one that later stages could not follow', () => {
    const tooDeep = 'The statement is too deep: its chain of common tables is too long';
    const sum = `v${' + 1'.repeat(60)}`;
    for (const next of [
      (w: string) => `SELECT DISTINCT x FROM ${w}`,
      (w: string) => `SELECT x FROM ${w} GROUP BY x`,
      (w: string) => `SELECT (SELECT MAX(x) AS x FROM ${w})${' + 1'.repeat(60)} AS x FROM t`,
      (w: string) => `SELECT ${sum} AS x FROM t WHERE v IN (SELECT x FROM ${w})`,
    ]) {
      expect([tooDeep, '1 rows']).toContain(outcome(common(140, next)));
    }
    expect(outcome(common(480, (w) => `SELECT x FROM ${w} GROUP BY x`))).toBe(tooDeep);
  });

  it('may be named a hundred times', () => {
    const many = Array.from({ length: 100 }, () => 'SELECT x FROM w').join(' UNION ALL ');
    expect(outcome(`WITH w AS (SELECT v AS x FROM t) ${many}`)).toBe('300 rows');
  });
});

describe('derived queries within each other', () => {
  function nested(depth: number, outer: (inner: string) => string): string {
    let text = 'SELECT v AS x FROM t';
    for (let at = 0; at < depth; at++) text = outer(text);
    return text;
  }

  it('do not double what they compute', () => {
    const doubled = nested(45, (inner) => `SELECT d.x + d.x AS x FROM (${inner}) AS d`);
    expect(outcome(doubled)).toBe('3 rows');
    expect(lab.rows(doubled)).toEqual([1n, 2n, 3n].map((v) => [v * 2n ** 45n]));
  });

  it('do not double the conditions that go into them', () => {
    const inner = nested(40, (one) => `SELECT DISTINCT d.x - d.x / 2 AS x FROM (${one}) AS d`);
    const sql = `SELECT d.x FROM (${inner}) AS d WHERE d.x + d.x > 0 AND d.x = d.x`;
    expect(outcome(sql)).toBe('1 rows');
  });

  it('are chains of unions too', () => {
    const sql = Array.from({ length: 300 }, () => 'SELECT id FROM t').join(' UNION ');
    expect(sql.length).toBeLessThan(limits.sqlBytesMax);
    expect(outcome(sql)).toBe('3 rows');
  });
});

describe('a join by ranges of an index that has paused', () => {
  const count = 10_000;

  function filled(): QueryLab {
    const ranges = new QueryLab([
      { name: 'o', columns: { id: u32, k: u32 } },
      { name: 'r', columns: { id: u32, k: u32 }, indexes: ['unique:btree:id', 'btree:k'] },
    ]);
    const ids = Array.from({ length: count }, (_, id) => [id, id]);
    ranges.insert('o', ids);
    ranges.insert('r', ids);
    return ranges;
  }

  const sql = 'SELECT o.id AS a, r.id AS b FROM o JOIN r ON r.k >= o.k AND r.k <= o.id';

  it('looks at no more rows than before', () => {
    const startedAt = cpuMillis();
    expect(filled().rows(sql, { isPausing: true })).toHaveLength(count);
    expect(cpuMillis() - startedAt).toBeLessThan(5_000);
  }, 90_000);

  it('goes on with the rows of its first moment', () => {
    const ranges = filled();
    let pauses = 0;
    const duringPause = (): void => {
      if (++pauses === 50) ranges.write('DELETE FROM r WHERE id >= 5000');
      if (pauses === 60) ranges.insert('r', [[20_000, 70]]);
    };
    const rows = ranges.rows(sql, { isPausing: true, duringPause });
    expect(rows).toEqual(Array.from({ length: count }, (_, id) => [id, id]));
    expect(ranges.store.heldBytes).toBe(0);
  }, 90_000);

  it('keeps the order of the index when rows of the range have gone', () => {
    const ranges = filled();
    let pauses = 0;
    const duringPause = (): void => {
      if (++pauses === 5) ranges.write('DELETE FROM r WHERE id % 3 = 0');
    };
    const from = 'SELECT r.id FROM o JOIN r ON r.k >= o.k AND r.k <= 9 WHERE o.id < 9';
    const rows = ranges.rows(from, { isPausing: true, duringPause });
    expect(rows).toEqual(filled().rows(from));
    expect(rows).toHaveLength(54);
  });
});

describe('patterns of LIKE', () => {
  it('have a length beyond which they are refused', () => {
    const length = limits.sqlPatternCharactersMax + 2;
    expect(outcome(`SELECT id FROM t WHERE 'a' LIKE repeat('%a', ${length / 2})`)).toBe(
      `A LIKE pattern of ${length} characters is too long: at most ${length - 2} are allowed`,
    );
  });
});
