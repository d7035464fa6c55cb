import { beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.ts';
import { Random } from '../../src/testing/random.ts';
import type { AlgebraicType } from '../../src/values/type.ts';
import type { Value } from '../../src/values/value.ts';
import { Engine, type EngineMode } from './engine.ts';
import type { SampleTable } from './sample-tables.ts';

const u32: AlgebraicType = { kind: 'u32' };
const floats: AlgebraicType = { kind: 'array', element: { kind: 'f32' } };
const length = 16;
const rowCount = 2_000;
const mode: EngineMode = { useIndexes: true, optimise: true, pauses: false };

const random = new Random(12);
const centres = Array.from({ length: 40 }, () => vectorAround(undefined));

/** Around one of a few centres, as vectors of texts are. */
function vectorAround(centre: readonly number[] | undefined): number[] {
  return Array.from({ length }, (_, at) =>
    Math.fround((centre?.[at] ?? 0) * 4 + (random.below(2_000) - 1_000) / 1_000),
  );
}

const rows = Array.from({ length: rowCount }, (_, id): Value[] => [
  id,
  id % 10,
  vectorAround(centres[random.below(centres.length)]),
]);

function tablesWith(metric: string): readonly SampleTable[] {
  return [
    {
      name: 'place',
      columns: { id: u32, kind: u32, at: floats },
      indexes: ['unique:btree:id', `vector:at:${metric}:${length}`],
    },
  ];
}

function engineWith(metric: string, kind: EngineMode): Engine {
  const engine = new Engine(tablesWith(metric), kind);
  engine.load('place', rows);
  return engine;
}

const orders = [
  ['l2', 'distance(at, $1)'],
  ['cosine', 'cosine_distance(at, $1)'],
  ['innerProduct', 'inner_product($1, at) DESC'],
] as const;

describe.each(orders)('[ease 3.12] an index by %s', (metric, order) => {
  const scan = engineWith(metric, { ...mode, useIndexes: false });
  const engine = engineWith(metric, mode);
  const pausing = engineWith(metric, { ...mode, pauses: true });
  const ids = (asked: Engine, text: string, wanted: readonly number[]) =>
    asked
      .prepare(text, 1)
      .rows([wanted])
      .map(([id]) => Number(id));
  beforeAll(() => {
    // Searches take the rows into the graph.
    const wanted = vectorAround(undefined);
    for (const one of [engine, pausing]) {
      for (let left = rowCount; left > 0; left -= limits.vectorSearchRows) {
        ids(one, `SELECT id FROM place ORDER BY ${order} LIMIT 1`, wanted);
      }
    }
  });

  it('is used, and finds 95 of 100 of the nearest', () => {
    const text = `SELECT id FROM place ORDER BY ${order} LIMIT 10`;
    const plan = engine.run(`EXPLAIN ${text.replace('$1', `ARRAY[${centres[0]}]`)}`);
    expect(JSON.stringify(plan)).toContain('nearest of place by place_at_idx_vector');
    let hits = 0;
    for (let run = 0; run < 40; run++) {
      const wanted = vectorAround(centres[run % centres.length]);
      const nearest = new Set(ids(scan, text, wanted));
      const found = ids(run % 2 === 0 ? engine : pausing, text, wanted);
      expect(found).toHaveLength(10);
      hits += found.filter((id) => nearest.has(id)).length;
    }
    expect(hits).toBeGreaterThanOrEqual(380);
  });

  it.each(['kind = 3', 'kind = 3 AND id < 300', 'id = 17', 'id < 0'])(
    'gives as many rows as a scan where %s',
    (condition) => {
      const text = `SELECT id FROM place WHERE ${condition} ORDER BY ${order} LIMIT 12`;
      let [hits, total] = [0, 0];
      for (let run = 0; run < 6; run++) {
        const wanted = vectorAround(centres[run]);
        const nearest = ids(scan, text, wanted);
        const found = ids(run % 2 === 0 ? engine : pausing, text, wanted);
        expect(found).toHaveLength(nearest.length);
        hits += found.filter((id) => nearest.includes(id)).length;
        total += nearest.length;
      }
      expect(hits).toBeGreaterThanOrEqual(total * 0.9);
    },
  );

  it('is not used for another order, nor without LIMIT', () => {
    const list = `ARRAY[${centres[1]}]`;
    const plans = [
      `SELECT id FROM place ORDER BY ${order.replace('$1', list)}`,
      `SELECT id FROM place ORDER BY l2_distance(${list}, at) DESC LIMIT 3`,
      `SELECT id FROM place ORDER BY id LIMIT 3`,
    ].map((text) => JSON.stringify(engine.run(`EXPLAIN ${text}`)));
    for (const plan of plans) expect(plan).not.toContain('nearest of');
  });

  it('is not used for another metric, nor for few rows, and EXPLAIN says so', () => {
    const list = `ARRAY[${centres[1]}]`;
    const [, otherOrder] = orders.find(([one]) => one !== metric) ?? orders[0];
    const planOf = (asked: Engine, by: string) =>
      JSON.stringify(
        asked.run(`EXPLAIN SELECT id FROM place ORDER BY ${by.replace('$1', list)} LIMIT 3`),
      );
    const passed = 'scan place, not by place_at_idx_vector: ';
    expect(planOf(engine, otherOrder)).toContain(`${passed}its metric is ${metric}`);
    const few = new Engine(tablesWith(metric), mode);
    few.load('place', rows.slice(0, 10));
    expect(planOf(few, order)).toContain(`${passed}the table has fewer than 1000 rows`);
  });

  it('refuses vectors of another length, as a scan does', () => {
    const text = `SELECT id FROM place ORDER BY ${order.replace('$1', 'ARRAY[1]')} LIMIT 3`;
    expect(engine.run(text)).toEqual({
      kind: 'refused',
      message: 'Vectors of 16 and 1 elements have no distance: both need the same length',
    });
  });

  it('follows what statements write', () => {
    const near = `SELECT id FROM place ORDER BY ${order} LIMIT 1`;
    const wanted = vectorAround(centres[2]);
    const best = metric === 'innerProduct' ? wanted.map((element) => element * 50) : wanted;
    engine.run(`INSERT INTO place (id, kind, at) VALUES (9000, 1, ARRAY[${best}])`);
    expect(ids(engine, near, wanted)).toEqual([9_000]);
    engine.run('UPDATE place SET kind = 5 WHERE id = 9000');
    expect(ids(engine, near.replace('ORDER', 'WHERE kind = 5 ORDER'), wanted)).toEqual([9_000]);
    engine.run('DELETE FROM place WHERE id = 9000');
    expect(ids(engine, near, wanted)).not.toEqual([9_000]);
  });
});
