import { expect, it } from 'vitest';
import { QueryLab } from '../../../test/sql/query-lab.ts';
import { someSeeds } from '../../../test/support/share.ts';
import { Random } from '../../testing/random.ts';
import type { Value } from '../../values/value.ts';

const u32 = { kind: 'u32' } as const;
const i64 = { kind: 'i64' } as const;
const option = {
  kind: 'sum',
  variants: [
    { name: 'some', type: { kind: 'i64' } },
    { name: 'none', type: { kind: 'product', elements: [] } },
  ],
} as const;

/** Three tables that differ only in their indexes; few different values, so that joins match. */
function makeLab(random: Random): QueryLab {
  const columns = { id: u32, k: i64, v: i64, name: { kind: 'string' }, o: option } as const;
  const lab = new QueryLab([
    { name: 'a', columns, indexes: ['unique:btree:id', 'btree:k'] },
    { name: 'b', columns, indexes: ['unique:hash:id', 'btree:k,v'] },
    { name: 'c', columns, indexes: ['hash:name'] },
  ]);
  for (const name of ['a', 'b', 'c']) {
    const count = random.below(25);
    lab.insert(
      name,
      Array.from({ length: count }, (_, id): Value[] => [
        id,
        BigInt(random.below(6)),
        BigInt(random.below(8) - 2),
        random.pick(['', 'x', 'xy', 'é', 'z']),
        random.below(3) === 0 ? { tag: 1, value: [] } : { tag: 0, value: BigInt(random.below(4)) },
      ]),
    );
  }
  return lab;
}

/** A condition over the relations `names`. */
function condition(random: Random, names: readonly string[], depth = 2): string {
  const relation = random.pick(names);
  const other = random.pick(names);
  const column = random.pick(['k', 'v']);
  if (depth > 0 && random.below(3) === 0) {
    const left = condition(random, names, depth - 1);
    const right = condition(random, names, depth - 1);
    return random.pick([`(${left} AND ${right})`, `(${left} OR ${right})`, `NOT (${left})`]);
  }
  const sign = random.pick(['=', '<>', '<', '<=', '>', '>=']);
  const number = random.below(7) - 1;
  const inner = random.pick(['a', 'b', 'c']);
  const choices = [
    `${relation}.${column} ${sign} ${number}`,
    `${relation}.${column} = ${number}`,
    `${relation}.id = ${random.below(20)}`,
    `${relation}.${column} ${sign} ${other}.${random.pick(['k', 'v'])}`,
    `${relation}.${column} IN (${number}, ${random.below(5)}, ${random.below(5)})`,
    `${relation}.${column} BETWEEN 1 AND ${random.below(6)}`,
    `${relation}.o IS NULL`,
    `COALESCE(${relation}.o, 1) ${sign} ${number}`,
    `${relation}.name LIKE '${random.pick(['x%', '%y', '_', '%'])}'`,
    `${relation}.v + ${relation}.k ${sign} ${number}`,
    `EXISTS (SELECT q.id FROM ${inner} AS q WHERE q.${column} = ${relation}.v)`,
    `NOT EXISTS (SELECT q.id FROM ${inner} AS q WHERE q.k = ${relation}.k AND q.v > ${number})`,
    `${relation}.${column} IN (SELECT q.v FROM ${inner} AS q WHERE q.k > ${number})`,
    `${relation}.${column} NOT IN (SELECT q.o.some FROM ${inner} AS q WHERE q.k > ${number})`,
    `${relation}.${column} IN (SELECT q.v FROM ${inner} AS q WHERE q.k = ${other}.k)`,
    `${relation}.v > (SELECT MIN(q.v) AS m FROM ${inner} AS q WHERE q.k = ${relation}.k)`,
    `${relation}.v = (SELECT MAX(q.v) AS m FROM ${inner} AS q)`,
  ];
  return random.pick(choices);
}

function relationText(random: Random): string {
  const table = random.pick(['a', 'b', 'c']);
  switch (random.below(8)) {
    case 0:
      return `(SELECT q.* FROM ${table} AS q WHERE ${condition(random, ['q'], 1)})`;
    case 1:
      return `(SELECT k, MAX(id) AS id, SUM(v) AS total, MIN(v) AS v, MIN(name) AS name,
        MAX(o) AS o FROM ${table} GROUP BY k)`;
    case 2:
      return `(SELECT id, k, v, name, o FROM a UNION ALL SELECT id, k, v, name, o FROM ${table})`;
    default:
      return table;
  }
}

function select(random: Random): string {
  const names = ['r', 's', 't', 'u'].slice(0, 1 + random.below(4));
  let from = `${relationText(random)} AS r`;
  names.slice(1).forEach((name, at) => {
    const before = names.slice(0, at + 1);
    const known = [...before, name];
    const equal = `${name}.k = ${random.pick(before)}.${random.pick(['k', 'v'])}`;
    const on = random.pick([
      equal,
      `${equal} AND ${condition(random, known, 1)}`,
      `${name}.id = ${random.pick(before)}.id`,
      `${name}.k < ${random.pick(before)}.v AND ${equal}`,
    ]);
    const kind = random.pick(['JOIN', 'JOIN', 'LEFT JOIN']);
    from += ` ${kind} ${relationText(random)} AS ${name} ON ${on}`;
  });
  const where = random.below(4) === 0 ? '' : ` WHERE ${condition(random, names)}`;
  const [first = 'r'] = names;
  const last = names[names.length - 1] ?? 'r';
  switch (random.below(5)) {
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

function statement(random: Random): string {
  if (random.below(6) > 0) return select(random);
  const operator = random.pick(['UNION', 'UNION ALL', 'INTERSECT', 'EXCEPT', 'EXCEPT ALL']);
  const side = (): string => {
    const table = random.pick(['a', 'b', 'c']);
    return `SELECT r.k AS x, r.v AS y FROM ${table} AS r WHERE ${condition(random, ['r'])}`;
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
  for (const round of someSeeds(0, 30)) {
    const random = new Random(seed * 1_000 + round);
    const lab = makeLab(random);
    for (let count = 0; count < 10; count++) {
      const sql = statement(random);
      const where = `seed ${seed}, round ${round}: ${sql}`;
      const plain = sorted(lab.rows(sql, { optimise: false, useIndexes: false }));
      expect(sorted(lab.rows(sql)), where).toEqual(plain);
      expect(sorted(lab.rows(sql, { useIndexes: false })), where).toEqual(plain);
      expect(sorted(lab.rows(sql, { isPausing: true })), `paused, ${where}`).toEqual(plain);
    }
  }
}, 90_000);
