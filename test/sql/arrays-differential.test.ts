import { PGlite } from '@electric-sql/pglite';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Random } from '../../src/testing/random.ts';
import type { Value } from '../../src/values/value.ts';
import { QueryLab } from './query-lab.ts';

let postgres: PGlite;

beforeAll(async () => {
  postgres = await PGlite.create();
}, 90_000);
afterAll(() => postgres.close());

const texts = ['', 'a', 'b', 'ab', 'B', "it's"];
const numbers = [0, 1, 2, 5];

interface Row {
  readonly id: number;
  readonly labels: readonly string[];
  readonly scores: readonly number[];
  readonly label: string;
  readonly score: number;
}

function randomRows(random: Random): readonly Row[] {
  const some = <Item>(items: readonly Item[]): readonly Item[] =>
    Array.from({ length: random.below(4) }, () => random.pick(items));
  return Array.from({ length: 12 }, (_, id) => ({
    id,
    labels: some(texts),
    scores: some(numbers),
    label: random.pick(texts),
    score: random.pick(numbers),
  }));
}

/** A condition in both dialects. */
interface Both {
  readonly ours: string;
  readonly theirs: string;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function randomCondition(random: Random, depth = 2): Both {
  if (depth > 0 && random.chance(0.4)) {
    const [a, b] = [randomCondition(random, depth - 1), randomCondition(random, depth - 1)];
    const both = (make: (a: string, b: string) => string): Both => {
      return { ours: make(a.ours, b.ours), theirs: make(a.theirs, b.theirs) };
    };
    switch (random.below(3)) {
      case 0:
        return both((x) => `NOT (${x})`);
      case 1:
        return both((x, y) => `(${x}) AND (${y})`);
      default:
        return both((x, y) => `(${x}) OR (${y})`);
    }
  }
  const isText = random.chance(0.5);
  const [column, value] = isText ? ['labels', 'label'] : ['scores', 'score'];
  const literal = () => (isText ? quoted(random.pick(texts)) : String(random.pick(numbers)));
  const list = Array.from({ length: random.between(0, 3) }, literal).join(', ');
  const type = isText ? 'text[]' : 'numeric[]';
  const [ours, theirs] = random.chance(0.6)
    ? [`ARRAY[${list}]`, `ARRAY[${list}]::${type}`]
    : [column, column];
  const one = random.pick([literal(), value, 'NULL']);
  const both = (make: (array: string) => string): Both => {
    return { ours: make(ours), theirs: make(theirs) };
  };
  switch (random.below(6)) {
    case 0:
    case 1: {
      const operator = random.pick(['=', '<>', '<', '<=', '>', '>=']);
      // A value alone does not say what the elements of an empty array are.
      const operand = list === '' && ours !== column ? value : one;
      const word = random.pick(['ANY', 'SOME', 'ALL']);
      return both((array) => `${operand} ${operator} ${word}(${array})`);
    }
    case 2:
      return both((array) => `${column} @> ${array}`);
    case 3:
      return both((array) => `${column} <@ ${array}`);
    case 4:
      return both((array) => `${column} && ${array}`);
    default: {
      const at = random.pick(['1', '2', 'score', '0', '-1']);
      const theirAt = at === 'score' ? 'score::int' : at;
      const operator = random.pick(['=', '<', 'IS DISTINCT FROM']);
      return {
        ours: `${column}[${at}] ${operator} ${value}`,
        theirs: `${column}[${theirAt}] ${operator} ${value}`,
      };
    }
  }
}

/** A statement with the elements of an array beside its row. */
function randomUnnest(random: Random): Both {
  const [column, value] = random.chance(0.5) ? ['labels', 'label'] : ['scores', 'score'];
  const operator = random.pick(['=', '<>', '<', '>=']);
  const { ours, theirs } = randomCondition(random, 1);
  const isNumber = column === 'scores';
  const shown = (x: string) => (isNumber ? `CAST(${x} AS String)` : x);
  const qualified = (text: string) =>
    text.replaceAll(/\b(labels?|scores?)\b(?!')/g, (name) => `t.${name}`);
  const join = random.pick([
    `, unnest(t.${column}) AS u(x)`,
    ` JOIN unnest(t.${column}) AS u(x) ON u.x ${operator} t.${value}`,
    ` JOIN LATERAL unnest(t.${column}) AS u(x) ON TRUE`,
    ` LEFT JOIN unnest(t.${column}) AS u(x) ON u.x ${operator} t.${value}`,
    ` JOIN t AS s ON s.id = t.id, unnest(s.${column}) AS u(x)`,
  ]);
  const condition = random.chance(0.5) ? `u.x ${operator} t.${value}` : undefined;
  const sql = (list: string, where: string) =>
    `SELECT t.id AS id, ${list} AS x FROM t${join} WHERE ${condition ?? where} ORDER BY t.id, u.x`;
  return {
    ours: sql(shown('u.x'), qualified(ours)),
    theirs: sql(isNumber ? 'u.x::text' : 'u.x', qualified(theirs)),
  };
}

/** A statement with `array_agg`. */
function randomGathering(random: Random): Both {
  const value = random.pick(['id', 'label', 'score', 'labels[1]', 'scores[2]']);
  const end = random.pick(['', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST']);
  const isDistinct = random.chance(0.4);
  const order = isDistinct
    ? `${value}${end}`
    : random.pick([`${value}${end}, id`, `id${end}`, 'score, id']);
  const { ours, theirs } = randomCondition(random, 1);
  const isFiltered = random.chance(0.4);
  const sql = (wrap: (array: string) => string, condition: string) => {
    const filter = isFiltered ? ` FILTER (WHERE ${condition})` : '';
    const array = `array_agg(${isDistinct ? 'DISTINCT ' : ''}${value} ORDER BY ${order})${filter}`;
    return `SELECT label AS k, ${wrap(array)} AS a FROM t GROUP BY label ORDER BY label`;
  };
  return {
    ours: sql((array) => array, ours),
    theirs: sql((array) => `array_to_string(${array}, '|', 'null')`, theirs),
  };
}

/** A value as PostgreSQL has it; an option as what it holds. */
function plainOf(value: Value): unknown {
  if (typeof value !== 'object' || !('tag' in value)) return value;
  return value.tag === 0 ? value.value : 'null';
}

const seed = 20_261_128;

it(`[ease 3.3] arrays have the same answers here and in PostgreSQL (seed ${seed})`, async () => {
  const random = new Random(seed);
  let found = 0;
  let unnested = 0;
  let gathered = 0;
  for (let schema = 0; schema < 6; schema++) {
    const rows = randomRows(random);
    const lab = new QueryLab([
      {
        name: 't',
        columns: {
          id: { kind: 'u32' },
          labels: { kind: 'array', element: { kind: 'string' } },
          scores: { kind: 'array', element: { kind: 'i64' } },
          label: { kind: 'string' },
          score: { kind: 'i64' },
        },
        indexes: ['unique:btree:id'],
      },
    ]);
    lab.insert(
      't',
      rows.map(({ id, labels, scores, label, score }): readonly Value[] => {
        return [id, labels, scores.map(BigInt), label, BigInt(score)];
      }),
    );
    const values = rows.map(({ id, labels, scores, label, score }) => {
      const list = labels.map(quoted).join(', ');
      return `(${id}, ARRAY[${list}]::text[], ARRAY[${scores.join(', ')}]::numeric[],
        ${quoted(label)}, ${score})`;
    });
    await postgres.exec(`
      DROP TABLE IF EXISTS t;
      CREATE TABLE t (id int, labels text[] COLLATE "C", scores numeric[],
        label text COLLATE "C", score numeric);
      INSERT INTO t VALUES ${values.join(', ')};`);
    for (let count = 0; count < 30; count++) {
      const { ours, theirs } = randomUnnest(random);
      const { rows: answer } = await postgres.query<{ id: number; x: string }>(theirs);
      const expected = answer.map(({ id, x }) => [id, typeof x === 'string' ? x : `${x}`]);
      const found = lab.rows(ours).map((row) => (row as readonly Value[]).map(plainOf));
      expect(found, theirs).toEqual(expected);
      unnested += expected.length;
    }
    for (let count = 0; count < 20; count++) {
      const { ours, theirs } = randomGathering(random);
      const { rows: answer } = await postgres.query<{ k: string; a: string | null }>(theirs);
      const found = lab.rows(ours).map((row) => {
        const [key, array] = row as readonly [
          Value,
          { readonly tag: number; readonly value: Value },
        ];
        const elements = (array.value as readonly Value[]).map(plainOf);
        return { k: key, a: array.tag === 0 ? elements.join('|') : null };
      });
      expect(found, theirs).toEqual(answer);
      gathered += found.length;
    }
    for (let count = 0; count < 80; count++) {
      const { ours, theirs } = randomCondition(random);
      const sql = `SELECT id FROM t WHERE ${theirs} ORDER BY id`;
      const expected = (await postgres.query<{ id: number }>(sql)).rows.map(({ id }) => [id]);
      expect(lab.rows(`SELECT id FROM t WHERE ${ours} ORDER BY id`), theirs).toEqual(expected);
      found += expected.length;
    }
  }
  expect(found).toBeGreaterThan(500);
  expect(unnested).toBeGreaterThan(500);
  expect(gathered).toBeGreaterThan(300);
}, 90_000);
