import { describe, expect, it } from 'vitest';
import { type LabWrite, QueryLab } from '../../../test/sql/query-lab.ts';
import { Random } from '../../testing/random.ts';
import type { Value } from '../../values/value.ts';
import { SqlFailure } from '../failure.ts';

const u32 = { kind: 'u32' } as const;
const u64 = { kind: 'u64' } as const;
const i64 = { kind: 'i64' } as const;
const string = { kind: 'string' } as const;

const rowCount = 40;
const seedCount = 8;

/** Two of them are alike: one runs in slices, the other in one go. */
function makeLab(): QueryLab {
  const lab = new QueryLab([
    {
      name: 't',
      columns: { id: u32, k: u32, v: i64 },
      indexes: ['unique:hash:id', 'btree:k', 'btree:k,v'],
    },
    {
      name: 'pair',
      columns: { id: u32, code: u32 },
      indexes: ['unique:btree:id', 'unique:btree:code'],
    },
    { name: 'bag', columns: { k: u32, v: i64 } },
    {
      name: 'numbered',
      columns: { id: u64, text: string },
      indexes: ['unique:btree:id'],
      autoIncrement: 'id',
    },
  ]);
  const ids = Array.from({ length: rowCount }, (_, id) => id);
  lab.insert(
    't',
    ids.map((id) => [id, id % 7, BigInt((id * 13) % 17)]),
  );
  lab.insert(
    'pair',
    ids.map((id) => [id, id + 1_000]),
  );
  lab.insert(
    'bag',
    ids.map((id) => [id % 9, BigInt(id)]),
  );
  lab.insert(
    'numbered',
    ids.map((id) => [0n, `text ${id}`]),
  );
  return lab;
}

/** Writes in which each row decides on its own. */
const byRow = [
  'UPDATE t SET v = v + 1',
  'UPDATE t SET v = v + 1 RETURNING *',
  'UPDATE t SET v = 5 WHERE k < 5',
  'UPDATE t SET k = k + 1, v = v * 2 WHERE k = 3',
  'UPDATE t SET v = 0 WHERE k > 1 AND k < 5 RETURNING id, v',
  'UPDATE t SET v = v + 1 WHERE id = 30',
  'UPDATE t SET v = 1 WHERE k = 2 OR k = 4',
  'UPDATE pair SET code = code + 1',
  'UPDATE bag SET v = v / 2',
  "UPDATE numbered SET text = text || '!' RETURNING id, text",
  "UPDATE numbered SET id = 0 WHERE text = 'text 7' RETURNING text",
  'DELETE FROM t WHERE v > 8',
  'DELETE FROM t WHERE k = 3 RETURNING *',
  'DELETE FROM t WHERE k > 2 AND k < 6',
  'DELETE FROM bag WHERE v > 20',
  'DELETE FROM numbered',
] as const;

/** Writes in which other rows decide, too. */
const byMore = [
  'UPDATE t SET v = v + 1 WHERE k IN (SELECT k FROM bag WHERE v > 30)',
  'DELETE FROM bag WHERE EXISTS (SELECT t.id FROM t WHERE t.k = bag.k AND t.v > 14)',
  'INSERT INTO bag (k, v) SELECT k + 100, v FROM t',
] as const;

type Interruption = (lab: QueryLab) => void;

function interruption(random: Random): Interruption {
  const id = random.below(rowCount + 20);
  const k = random.below(9);
  const statement = random.pick([
    `DELETE FROM t WHERE id = ${id}`,
    `DELETE FROM t WHERE k = ${k}`,
    `UPDATE t SET v = ${k}, k = ${random.below(9)} WHERE id = ${id}`,
    `INSERT INTO t (id, k, v) VALUES (${100 + id}, ${k}, ${id})`,
    `UPDATE pair SET code = ${random.below(3) * 500 + id} WHERE id = ${id}`,
    `DELETE FROM pair WHERE id = ${id}`,
    `INSERT INTO pair (id, code) VALUES (${200 + id}, ${1_040 + random.below(60)})`,
    `INSERT INTO bag (k, v) VALUES (${k}, ${id})`,
    `DELETE FROM bag WHERE k = ${k}`,
    `INSERT INTO numbered (id, text) VALUES (0, 'new ${id}')`,
    `DELETE FROM numbered WHERE id = ${id}`,
    'DELETE FROM bag',
  ]);
  return (lab) => void tried(() => lab.write(statement));
}

/** The outcome, or the text of the error. */
function tried<Result>(work: () => Result): Result | string {
  try {
    return work();
  } catch (error) {
    if (error instanceof SqlFailure) return error.message;
    throw error;
  }
}

function shown(value: unknown): string {
  return JSON.stringify(value, (_key, inner) => (typeof inner === 'bigint' ? `${inner}n` : inner));
}

function sorted(rows: readonly Value[]): readonly string[] {
  return rows.map((row) => shown(row)).sort();
}

function contentsOf(lab: QueryLab): unknown {
  return ['t', 'pair', 'bag', 'numbered'].map((name) => sorted(lab.rows(`SELECT * FROM ${name}`)));
}

/** RETURNING returns rows in any order; sequences hand out their values in that order. */
function comparable(outcome: LabWrite | string): unknown {
  if (typeof outcome === 'string') return outcome.replace(/value: .*/, 'value');
  return { ...outcome, returned: sorted(outcome.returned) };
}

interface Round {
  readonly sql: string;
  readonly seed: number;
  readonly interruptions: number;
}

function run({ sql, seed, interruptions }: Round): 'done' | 'failed' | 'again' {
  const random = new Random(seed);
  const sliced = makeLab();
  const whole = makeLab();
  const times = Array.from({ length: interruptions }, () => random.below(rowCount));
  let pauses = 0;
  const duringPause = (): void => {
    for (const _ of times.filter((time) => time === pauses)) {
      const interrupt = interruption(random);
      interrupt(sliced);
      interrupt(whole);
    }
    pauses++;
  };
  const outcome = tried(() => sliced.slicedWrite(sql, { duringPause }));
  if (outcome === undefined) {
    expect(contentsOf(sliced)).toEqual(contentsOf(whole));
    return 'again';
  }
  expect(comparable(outcome)).toEqual(comparable(tried(() => whole.write(sql))));
  expect(contentsOf(sliced)).toEqual(contentsOf(whole));
  expect(sliced.store.heldBytes).toBe(0);
  return typeof outcome === 'string' ? 'failed' : 'done';
}

describe('a write in slices, beside others', () => {
  it.each(byRow)('[ease 3.8] does what it would have done after them: %s', (sql) => {
    for (let seed = 1; seed <= seedCount; seed++) {
      expect(run({ sql, seed, interruptions: seed % 8 })).toBe('done');
    }
  });

  it.each(byMore)('[ease 3.8] does that or nothing: %s', (sql) => {
    let doneCount = 0;
    for (let seed = 1; seed <= seedCount; seed++) {
      if (run({ sql, seed, interruptions: seed % 3 }) === 'done') doneCount++;
    }
    expect(doneCount).toBeGreaterThan(seedCount / 4);
    expect(doneCount).toBeLessThan(seedCount);
    expect(run({ sql, seed: 1, interruptions: 0 })).toBe('done');
  });

  it('[ease 3.8] looks at few rows again, and at all when they are many', () => {
    for (const [rows, laterRowsMax] of [
      [3, 3],
      [4, 3],
    ] as const) {
      const lab = makeLab();
      let pauses = 0;
      const duringPause = (): void => {
        if (pauses++ >= rows) return;
        lab.write(`INSERT INTO t (id, k, v) VALUES (${900 + pauses}, 1, 1)`);
      };
      const outcome = lab.slicedWrite('UPDATE t SET v = 99', { duringPause, laterRowsMax });
      expect(outcome?.updated).toBe(rows > laterRowsMax ? undefined : rowCount + rows);
    }
  });

  it('[ease 3.8] fails like one in one go, and has done nothing', () => {
    const lab = makeLab();
    const before = contentsOf(lab);
    const duringPause = (): void => void lab.write('UPDATE t SET v = -1 WHERE id = 39');
    expect(() => lab.slicedWrite('UPDATE pair SET code = 7')).toThrow(
      'Unique constraint violation',
    );
    expect(() => lab.slicedWrite('UPDATE t SET v = 1 / (v - 5)')).toThrow('ivision by zero');
    expect(contentsOf(lab)).toEqual(before);
    expect(() => lab.slicedWrite('UPDATE t SET v = 1 / (v + 1)', { duringPause })).toThrow(
      'ivision by zero',
    );
    expect(lab.store.heldBytes).toBe(0);
  });
});
