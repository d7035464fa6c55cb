import { describe, expect, it } from 'vitest';
import { Random } from '../../src/testing/random.ts';
import { optionType, sum, unitType } from '../../src/values/special-types.ts';
import type { Value } from '../../src/values/value.ts';
import { someSeeds } from '../support/share.ts';
import { type LabOptions, QueryLab } from './query-lab.ts';

const u32 = { kind: 'u32' } as const;
const string = { kind: 'string' } as const;
const states = sum(['todo', unitType], ['done', unitType]);

function labOf(rows: readonly (readonly Value[])[], indexes: readonly string[]): QueryLab {
  const lab = new QueryLab([
    {
      name: 'ticket',
      columns: {
        id: u32,
        labels: { kind: 'array', element: string },
        past: { kind: 'array', element: states },
        note: optionType(string),
      },
      indexes,
    },
    { name: 'tag', columns: { name: string, weight: u32 }, indexes: ['unique:btree:name'] },
  ]);
  lab.insert('ticket', rows);
  lab.insert('tag', [
    ['rare 7', 1],
    ['open', 2],
    ['none', 3],
  ]);
  return lab;
}

const indexes = ['unique:btree:id', 'inverted:labels', 'inverted:past'];
const state = (tag: number): Value => ({ tag, value: [] });

/** 400 rows: `open` is in half of them, `rare 7` in two, `state` of 300 in one. */
const tickets = labOf(
  Array.from({ length: 400 }, (_, id) => [
    id,
    [...(id % 2 === 0 ? ['open'] : []), `rare ${id % 200}`, `rare ${id % 200}`],
    id === 300 ? [state(1), state(0)] : [state(0)],
    id % 3 === 0 ? state(1) : { tag: 0, value: `rare ${id % 5}` },
  ]),
  indexes,
);

const planOf = (where: string, options: LabOptions = {}) =>
  tickets.explain(`SELECT id FROM ticket WHERE ${where}`, options);
const ids = (where: string, options: LabOptions = {}) =>
  tickets
    .rows(`SELECT id FROM ticket WHERE ${where}`, options)
    .map((row) => (row as readonly Value[])[0]);

describe('[ease 3.3] an inverted index', () => {
  it.each([
    ["'rare 7' = ANY(labels)", [7, 207]],
    ["'rare 7' = SOME(labels) AND id > 100", [207]],
    ["labels @> ARRAY['rare 8', 'open']", [8, 208]],
    ["ARRAY['rare 8'] <@ labels", [8, 208]],
    ["labels && ARRAY['rare 9', 'rare 10', 'rare 9']", [9, 10, 209, 210]],
    ["ARRAY['rare 9'] && labels", [9, 209]],
    ["'done' = ANY(past)", [300]],
    ["past @> ['done', 'todo']", [300]],
    ["'rare 7' = ANY(labels) AND 'open' = ANY(labels)", []],
  ])('serves %s', (where, expected) => {
    expect(planOf(where)).toContain('search ticket by ticket_');
    expect(ids(where)).toEqual(expected);
    expect(ids(where, { isPausing: true })).toEqual(expected);
    expect(ids(where, { useIndexes: false })).toEqual(expected);
  });

  it('says what it looks for', () => {
    expect(planOf("'rare 7' = ANY(labels)")).toContain(
      'search ticket by ticket_labels_idx_inverted ("rare 7"): = any("rare 7", ticket.labels)',
    );
  });

  it.each([
    "'rare 7' <> ANY(labels)",
    "'rare 7' = ALL(labels)",
    "NOT ('rare 7' = ANY(labels))",
    "'rare 7' < ANY(labels)",
    "labels <@ ARRAY['rare 7', 'open']",
    'labels[1] = ANY(labels)',
    "'rare 7' = ANY(labels) OR id = 3",
  ])('does not serve %s', (where) => {
    expect(planOf(where)).toContain('scan ticket');
  });

  it('leaves many rows to a scan, in the order of a scan', () => {
    const scanned = ids("'open' = ANY(labels)", { useIndexes: false });
    expect(ids("'open' = ANY(labels)")).toEqual(scanned);
    expect(ids("labels && ARRAY['open', 'rare 3']")).toEqual(
      ids("labels && ARRAY['open', 'rare 3']", { useIndexes: false }),
    );
    expect(ids('labels @> :none', { parameters: { none: [] } })).toHaveLength(400);
    expect(ids('labels && :none', { parameters: { none: [] } })).toEqual([]);
    expect(planOf('labels @> ARRAY[note.some]')).toContain('scan ticket');
  });

  it('takes parameters, and a null finds nothing', () => {
    expect(planOf(':x = ANY(labels)', { parameters: { x: 'a' } })).toContain('($x)');
    expect(ids(':x = ANY(labels)', { parameters: { x: 'rare 7' } })).toEqual([7, 207]);
    expect(ids('labels && :list', { parameters: { list: ['rare 7'] } })).toEqual([7, 207]);
    expect(ids('labels @> ARRAY[NULLIF(:x, :x)]', { parameters: { x: 'a' } })).toEqual([]);
  });

  it('finds the rows of writes', () => {
    const lab = labOf([[1, ['a', 'b'], [], state(1)]], indexes);
    const labelled = (label: string) =>
      lab.rows(`SELECT id FROM ticket WHERE '${label}' = ANY(labels)`).length;
    const more = Array.from({ length: 28 }, (_, at) => [at + 2, ['x'], [], state(1)]);
    lab.insert('ticket', more);
    lab.write("UPDATE ticket SET labels = ['c'] WHERE 'a' = ANY(labels)");
    expect([labelled('a'), labelled('c'), labelled('x')]).toEqual([0, 1, 28]);
    lab.write("DELETE FROM ticket WHERE labels && ['c']");
    expect([labelled('c'), labelled('x')]).toEqual([0, 28]);
  });

  it('finds the rows of a join for each row beside it', () => {
    const sql =
      'SELECT g.name, t.id FROM tag AS g JOIN ticket AS t ON g.name = ANY(t.labels) AND g.weight = 1';
    expect(tickets.explain(sql)).toContain('search ticket as t by ticket_labels_idx_inverted');
    const rows = tickets.rows(sql);
    expect(rows).toEqual([
      ['rare 7', 7],
      ['rare 7', 207],
    ]);
    expect(tickets.rows(sql, { useIndexes: false, optimise: false })).toEqual(rows);
  });
});

/** Rows with few different labels, so that conditions meet. */
function randomLab(random: Random): QueryLab {
  const labels = () => Array.from({ length: random.below(4) }, () => random.pick(words));
  return labOf(
    Array.from({ length: random.below(120) }, (_, id) => [
      id,
      labels(),
      Array.from({ length: random.below(3) }, () => state(random.below(2))),
      random.chance(0.3) ? state(1) : { tag: 0, value: random.pick(words) },
    ]),
    indexes,
  );
}

const words = ['a', 'b', 'c', 'd', 'rare', 'e', 'f', 'g', 'h', 'i', 'j'];

function condition(random: Random, depth = 2): string {
  const word = () => `'${random.pick(words)}'`;
  const list = () => `ARRAY[${Array.from({ length: 1 + random.below(3) }, word).join(', ')}]`;
  if (depth > 0 && random.chance(0.4)) {
    const [left, right] = [condition(random, depth - 1), condition(random, depth - 1)];
    return random.pick([`(${left} AND ${right})`, `(${left} OR ${right})`, `NOT (${left})`]);
  }
  return random.pick([
    `${word()} = ANY(r.labels)`,
    `r.note = ANY(r.labels)`,
    `r.labels @> ${list()}`,
    `r.labels && ${list()}`,
    `r.labels <@ ${list()}`,
    `'done' = ANY(r.past)`,
    `r.past @> ['todo', 'done']`,
    `r.id < ${random.below(100)}`,
  ]);
}

it('[ease 3.3] the answers are the same with and without the index', () => {
  for (const seed of someSeeds(1, 60)) {
    const random = new Random(seed);
    const lab = randomLab(random);
    for (let count = 0; count < 12; count++) {
      const where = condition(random);
      const sql = random.pick([
        `SELECT r.id FROM ticket AS r WHERE ${where}`,
        `SELECT g.name, r.id FROM tag AS g JOIN ticket AS r ON g.name = ANY(r.labels) AND ${where}`,
        `SELECT s.id AS a, r.id AS b FROM ticket AS s LEFT JOIN ticket AS r ON s.labels && r.labels AND ${where}`,
        `SELECT COUNT(*) AS n FROM ticket AS r WHERE ${where}`,
      ]);
      const plain = lab.rows(sql, { optimise: false, useIndexes: false }).map(textOf).sort();
      const where2 = `seed ${seed}: ${sql}`;
      expect(lab.rows(sql).map(textOf).sort(), where2).toEqual(plain);
      expect(lab.rows(sql, { isPausing: true }).map(textOf).sort(), where2).toEqual(plain);
    }
  }
}, 60_000);

function textOf(row: Value): string {
  return JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? String(value) : value));
}
