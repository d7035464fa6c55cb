import { expect, it } from 'vitest';
import { QueryLab } from '../../../test/sql/query-lab.ts';
import type { Value } from '../../values/value.ts';

/** A small generator of numbers; the seed is printed with every failure. */
class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  below(limit: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) | 0;
    return (this.#state >>> 8) % limit;
  }

  of<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }
}

const u32 = { kind: 'u32' } as const;
const i64 = { kind: 'i64' } as const;
const option = {
  kind: 'sum',
  variants: [
    { name: 'some', type: { kind: 'i64' } },
    { name: 'none', type: { kind: 'product', elements: [] } },
  ],
} as const;

/** Three tables alike but for their indexes; few different values, so that everything joins. */
function makeLab(dice: Dice): QueryLab {
  const columns = { id: u32, k: i64, v: i64, name: { kind: 'string' }, o: option } as const;
  const lab = new QueryLab([
    { name: 'a', columns, indexes: ['unique:btree:id', 'btree:k'] },
    { name: 'b', columns, indexes: ['unique:hash:id', 'btree:k,v'] },
    { name: 'c', columns, indexes: ['hash:name'] },
  ]);
  for (const name of ['a', 'b', 'c']) {
    const count = dice.below(25);
    lab.insert(
      name,
      Array.from({ length: count }, (_, id): Value[] => [
        id,
        BigInt(dice.below(6)),
        BigInt(dice.below(8) - 2),
        dice.of(['', 'x', 'xy', 'é', 'z']),
        dice.below(3) === 0 ? { tag: 1, value: [] } : { tag: 0, value: BigInt(dice.below(4)) },
      ]),
    );
  }
  return lab;
}

/** A condition over the relations `names`. */
function condition(dice: Dice, names: readonly string[], depth = 2): string {
  const relation = dice.of(names);
  const other = dice.of(names);
  const column = dice.of(['k', 'v']);
  if (depth > 0 && dice.below(3) === 0) {
    const left = condition(dice, names, depth - 1);
    const right = condition(dice, names, depth - 1);
    return dice.of([`(${left} AND ${right})`, `(${left} OR ${right})`, `NOT (${left})`]);
  }
  const sign = dice.of(['=', '<>', '<', '<=', '>', '>=']);
  const number = dice.below(7) - 1;
  const inner = dice.of(['a', 'b', 'c']);
  const choices = [
    `${relation}.${column} ${sign} ${number}`,
    `${relation}.${column} = ${number}`,
    `${relation}.id = ${dice.below(20)}`,
    `${relation}.${column} ${sign} ${other}.${dice.of(['k', 'v'])}`,
    `${relation}.${column} IN (${number}, ${dice.below(5)}, ${dice.below(5)})`,
    `${relation}.${column} BETWEEN 1 AND ${dice.below(6)}`,
    `${relation}.o IS NULL`,
    `COALESCE(${relation}.o, 1) ${sign} ${number}`,
    `${relation}.name LIKE '${dice.of(['x%', '%y', '_', '%'])}'`,
    `${relation}.v + ${relation}.k ${sign} ${number}`,
    `EXISTS (SELECT q.id FROM ${inner} AS q WHERE q.${column} = ${relation}.v)`,
    `NOT EXISTS (SELECT q.id FROM ${inner} AS q WHERE q.k = ${relation}.k AND q.v > ${number})`,
    `${relation}.${column} IN (SELECT q.v FROM ${inner} AS q WHERE q.k > ${number})`,
    `${relation}.${column} NOT IN (SELECT q.o.some FROM ${inner} AS q WHERE q.k > ${number})`,
    `${relation}.${column} IN (SELECT q.v FROM ${inner} AS q WHERE q.k = ${other}.k)`,
    `${relation}.v > (SELECT MIN(q.v) AS m FROM ${inner} AS q WHERE q.k = ${relation}.k)`,
    `${relation}.v = (SELECT MAX(q.v) AS m FROM ${inner} AS q)`,
  ];
  return dice.of(choices);
}

function relationText(dice: Dice): string {
  const table = dice.of(['a', 'b', 'c']);
  switch (dice.below(8)) {
    case 0:
      return `(SELECT q.* FROM ${table} AS q WHERE ${condition(dice, ['q'], 1)})`;
    case 1:
      return `(SELECT k, MAX(id) AS id, SUM(v) AS total, MIN(v) AS v, MIN(name) AS name,
        MAX(o) AS o FROM ${table} GROUP BY k)`;
    case 2:
      return `(SELECT id, k, v, name, o FROM a UNION ALL SELECT id, k, v, name, o FROM ${table})`;
    default:
      return table;
  }
}

function select(dice: Dice): string {
  const names = ['r', 's', 't', 'u'].slice(0, 1 + dice.below(4));
  let from = `${relationText(dice)} AS r`;
  names.slice(1).forEach((name, at) => {
    const before = names.slice(0, at + 1);
    const known = [...before, name];
    const equal = `${name}.k = ${dice.of(before)}.${dice.of(['k', 'v'])}`;
    const on = dice.of([
      equal,
      `${equal} AND ${condition(dice, known, 1)}`,
      `${name}.id = ${dice.of(before)}.id`,
      `${name}.k < ${dice.of(before)}.v AND ${equal}`,
    ]);
    const kind = dice.of(['JOIN', 'JOIN', 'LEFT JOIN']);
    from += ` ${kind} ${relationText(dice)} AS ${name} ON ${on}`;
  });
  const where = dice.below(4) === 0 ? '' : ` WHERE ${condition(dice, names)}`;
  const [first = 'r'] = names;
  const last = names[names.length - 1] ?? 'r';
  switch (dice.below(5)) {
    case 0:
      return (
        `SELECT ${first}.k AS g, COUNT(*) AS n, SUM(${last}.v) AS s,` +
        ` COUNT(DISTINCT ${last}.k) AS d,` +
        ` MIN(${last}.name) AS m FROM ${from}${where} GROUP BY ${first}.k`
      );
    case 1:
      return `SELECT DISTINCT ${first}.k AS x, ${last}.v AS y FROM ${from}${where}`;
    case 2:
      return `SELECT COUNT(*) AS n, MAX(${last}.v) AS m FROM ${from}${where}`;
    default:
      return `SELECT ${first}.id AS x, ${last}.k AS y, ${last}.o AS z FROM ${from}${where}`;
  }
}

function statement(dice: Dice): string {
  if (dice.below(6) > 0) return select(dice);
  const operator = dice.of(['UNION', 'UNION ALL', 'INTERSECT', 'EXCEPT', 'EXCEPT ALL']);
  const side = (): string => {
    const table = dice.of(['a', 'b', 'c']);
    return `SELECT r.k AS x, r.v AS y FROM ${table} AS r WHERE ${condition(dice, ['r'])}`;
  };
  return `${side()} ${operator} ${side()}`;
}

function sorted(rows: readonly Value[]): readonly string[] {
  const text = (row: Value): string =>
    JSON.stringify(row, (_key, value) => (typeof value === 'bigint' ? `${value}n` : value));
  return rows.map(text).sort();
}

const seed = Number(process.env.SEED ?? 1);

it('[sql 3] rewriting, joining by index or hash, and pausing never change an answer', () => {
  for (let round = 0; round < 30; round++) {
    const dice = new Dice(seed * 1_000 + round);
    const lab = makeLab(dice);
    for (let count = 0; count < 10; count++) {
      const sql = statement(dice);
      const where = `seed ${seed}, round ${round}: ${sql}`;
      const plain = sorted(lab.rows(sql, { optimise: false, useIndexes: false }));
      expect(sorted(lab.rows(sql)), where).toEqual(plain);
      expect(sorted(lab.rows(sql, { useIndexes: false })), where).toEqual(plain);
      expect(sorted(lab.rows(sql, { isPausing: true })), `paused, ${where}`).toEqual(plain);
    }
  }
}, 60_000);
