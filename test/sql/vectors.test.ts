import { describe, expect, it } from 'vitest';
import { Random } from '../../src/testing/random.ts';
import { optionType } from '../../src/values/special-types.ts';
import type { AlgebraicType } from '../../src/values/type.ts';
import type { Value } from '../../src/values/value.ts';
import { refusal } from './check-statement.ts';
import { Engine } from './engine.ts';
import { QueryLab } from './query-lab.ts';

const u32: AlgebraicType = { kind: 'u32' };
const string: AlgebraicType = { kind: 'string' };
const vector: AlgebraicType = { kind: 'array', element: { kind: 'f32' } };
const some = (value: Value): Value => ({ tag: 0, value });
const none: Value = { tag: 1, value: [] };

function lab(): QueryLab {
  const made = new QueryLab([
    {
      name: 'place',
      columns: { id: u32, name: string, at: vector, was: optionType(vector), other: vector },
      indexes: ['unique:btree:id'],
    },
  ]);
  made.insert('place', [
    [1, 'a', [0, 0], some([1, 0]), [1]],
    [2, 'bcd', [3, 4], none, [1, 2]],
    [3, '', [-1, 0.5], some([0, 2]), []],
  ]);
  return made;
}

const places = lab();
const plain = { useIndexes: false, optimise: false };
const values = (expression: string, parameters: Record<string, number | readonly number[]> = {}) =>
  places
    .rows(`SELECT ${expression} AS v FROM place ORDER BY id`, { parameters })
    .map((row) => (row as readonly Value[])[0]);

describe('[ease 3.12] distances in SQL', () => {
  it('measure columns, literals and parameters', () => {
    expect(values('distance(at, ARRAY[0, 0])')).toEqual([0, 5, Math.sqrt(1.25)]);
    expect(values('l2_distance(ARRAY[0.0, 4], at)')).toEqual([4, 3, Math.sqrt(13.25)]);
    expect(values('inner_product(at, ARRAY[2, 1])')).toEqual([0, 10, -1.5]);
    expect(values('cosine_distance(at, $1)', { 1: [3, 4] })).toEqual([
      some(Number.NaN),
      some(0),
      some(1 - -1 / Math.sqrt(1.25 * 25)),
    ]);
    expect(values('distance(ARRAY[1, 2], ARRAY[4, 6])')).toEqual([5, 5, 5]);
    expect(values('distance(at, at)')).toEqual([0, 0, 0]);
  });

  it('are null if a vector is', () => {
    expect(values('distance(was, ARRAY[0, 0])')).toEqual([some(1), none, some(2)]);
    expect(values('distance(at, NULL) IS NULL')).toEqual([true, true, true]);
  });

  it('need vectors of one length, and of F32', () => {
    expect(refusal(() => values('distance(other, ARRAY[0, 0])'))).toBe(
      'Vectors of 1 and 2 elements have no distance: both need the same length',
    );
    expect(refusal(() => values('distance(name, at)'))).toBe(
      'The function `distance` does not accept (String, Array<F32>). ' +
        'It is: distance(vector Array<F32>, vector Array<F32>) → F64',
    );
    expect(refusal(() => values("distance(at, ARRAY['x'])"))).toBe(
      'The literal expression `x` cannot be parsed as type `F32`',
    );
  });
});

describe('[ease 3.12] the nearest rows', () => {
  const nearest = (text: string) => places.rows(text).map((row) => (row as readonly Value[])[0]);

  it('come in the order of their distance', () => {
    const order = 'FROM place ORDER BY distance(at, ARRAY[3, 4])';
    expect(nearest(`SELECT id ${order} LIMIT 2`)).toEqual([2, 1]);
    expect(nearest(`SELECT id ${order} DESC LIMIT 2`)).toEqual([3, 1]);
    expect(nearest(`SELECT id ${order} LIMIT 1 OFFSET 1`)).toEqual([1]);
    expect(nearest(`SELECT id ${order} LIMIT 0`)).toEqual([]);
    expect(nearest(`SELECT id ${order}`)).toEqual([2, 1, 3]);
  });

  it('are told apart from rows that a condition or a filter hides', () => {
    const order = 'ORDER BY distance(at, ARRAY[0, 0]), id LIMIT 2';
    expect(nearest(`SELECT id FROM place WHERE id <> 1 ${order}`)).toEqual([3, 2]);
    expect(nearest(`SELECT id FROM place WHERE distance(at, ARRAY[0, 0]) > 0 ${order}`)).toEqual([
      3, 2,
    ]);
    // A row of another length is never measured.
    expect(
      nearest('SELECT id FROM place WHERE id = 2 ORDER BY distance(other, ARRAY[0, 0]) LIMIT 1'),
    ).toEqual([2]);
  });

  it('order NaN behind all distances', () => {
    const order = 'ORDER BY cosine_distance(at, ARRAY[3, 4]) LIMIT 3';
    expect(nearest(`SELECT id FROM place ${order}`)).toEqual([2, 3, 1]);
  });
});

describe('[ease 3.12] the nearest of generated rows', () => {
  it.each([3, 4, 5, 6])('are those of a slow sort, with pauses and without: seed %i', (seed) => {
    const random = new Random(seed);
    const length = 1 + random.below(40);
    // The angle to a vector of zeros is not a number.
    const made = () => {
      const isZero = random.below(20) === 0;
      return Array.from({ length }, () => (isZero ? 0 : Math.fround(random.below(9) / 4 - 1)));
    };
    const rows = Array.from({ length: 300 }, (_, id): Value[] => [
      id,
      'x'.repeat(random.below(30)),
      made(),
    ]);
    const functions = ['distance', 'cosine_distance', 'inner_product'];
    for (const pauses of [false, true]) {
      const engine = new Engine(
        [{ name: 'place', columns: { id: u32, name: string, at: vector } }],
        { useIndexes: true, optimise: true, pauses },
      );
      engine.load('place', rows);
      for (let run = 0; run < 6; run++) {
        const wanted = made();
        const name = functions[run % 3] as string;
        const direction = random.below(2) === 0 ? 'ASC' : 'DESC';
        const where = random.below(2) === 0 ? '' : 'WHERE id % 3 <> 1';
        const among = random.below(2) === 0 ? 'ASC' : 'DESC';
        // The order of a query without LIMIT comes from a sort that measures row by row.
        const text = `SELECT id FROM place ${where} ORDER BY ${name}(at, $1) ${direction}, id ${among}`;
        const all = engine.prepare(text, 1).rows([wanted]);
        const first = engine.prepare(`${text} LIMIT 20`, 1).rows([wanted]);
        expect(first).toEqual(all.slice(0, 20));
        expect(all.length).toBe(rows.filter(([id]) => where === '' || Number(id) % 3 !== 1).length);
      }
    }
  });
});

it('[ease 3.12] plain plans give the same rows', () => {
  const text = 'SELECT id FROM place ORDER BY distance(at, ARRAY[3, 4]) LIMIT 2';
  expect(places.rows(text, plain)).toEqual(places.rows(text));
});
