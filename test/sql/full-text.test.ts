import { describe, expect, it } from 'vitest';
import { strangerRights } from '../../src/sql/rights.ts';
import { callerIdentity } from '../../src/values/identity-roles.ts';
import { identityType, optionType } from '../../src/values/special-types.ts';
import type { Value } from '../../src/values/value.ts';
import { refusal } from './check-statement.ts';
import { type LabOptions, QueryLab } from './query-lab.ts';

const u32 = { kind: 'u32' } as const;
const string = { kind: 'string' } as const;
const some = (value: Value): Value => ({ tag: 0, value });
const none: Value = { tag: 1, value: [] };
const [ann, bob] = [0xa1n, 0xb2n];

type Note = readonly [id: number, owner: bigint, body: string, title: string | undefined];
const notes: readonly Note[] = [
  [1, ann, 'The red fox and the blue fox', 'Foxes'],
  [2, ann, 'A red cat', undefined],
  [3, bob, 'fox fox fox fox', 'Only foxes'],
  [4, bob, 'Nothing about animals, but a very long text about the red colour', 'Red'],
  [5, ann, '', undefined],
  [6, bob, 'The red fox', 'A fox'],
];

function lab(filters: readonly string[] = []): QueryLab {
  const columns = { id: u32, owner: identityType, body: string, title: optionType(string) };
  const made = new QueryLab(
    [
      { name: 'note', columns, indexes: ['unique:btree:id'] },
      { name: 'tag', columns: { note: u32, label: string }, indexes: ['btree:note'] },
    ],
    { note: filters },
  );
  made.insert(
    'note',
    notes.map(([id, owner, body, title]) => {
      return [id, [owner], body, title === undefined ? none : some(title)];
    }),
  );
  made.insert('tag', [
    [1, 'fox'],
    [2, 'cat'],
    [3, 'red'],
  ]);
  return made;
}

const wordsOf = (text: string): string[] => text.toLowerCase().match(/\w+/g) ?? [];

/** BM25 by its formula, over all texts. */
function scores(texts: readonly string[], wanted: readonly string[]): number[] {
  const all = texts.map(wordsOf);
  const average = all.reduce((sum, words) => sum + words.length, 0) / all.length;
  return all.map((words) => {
    let score = 0;
    for (const word of wanted) {
      const having = all.filter((other) => other.includes(word)).length;
      const count = words.filter((one) => one === word).length;
      const rarity = Math.log(1 + (all.length - having + 0.5) / (having + 0.5));
      score += (rarity * count * 2.2) / (count + 1.2 * (0.25 + (0.75 * words.length) / average));
    }
    return wanted.every((word) => words.includes(word)) ? score : 0;
  });
}

/** A number, or what an option holds. */
function number(value: Value | undefined): Value | undefined {
  const held = value as { readonly tag: number; readonly value: Value } | number | undefined;
  return typeof held === 'object' ? held.value : held;
}

const db = lab();
const columns = (sql: string, options: LabOptions = {}) =>
  db.rows(sql, options).map((row) => row as readonly Value[]);
const first = (sql: string, options: LabOptions = {}) => columns(sql, options).map(([id]) => id);
const ids = (condition: string, options?: LabOptions) =>
  first(`SELECT id FROM note WHERE ${condition} ORDER BY id`, options);

describe('[ease 3.11] search in statements', () => {
  it('finds rows by literals, parameters and columns', () => {
    expect(ids("search(body, 'red fox')")).toEqual([1, 6]);
    expect(ids('search(body, $1)', { parameters: { 1: '"red fox" OR cat' } })).toEqual([1, 2, 6]);
    expect(ids("search(body, 'foxes', 'english') AND NOT search(body, 'blue')")).toEqual([3, 6]);
    const joined = 'SELECT n.id FROM note AS n JOIN tag AS t ON t.note = n.id';
    expect(first(`${joined} WHERE search(n.body, t.label) ORDER BY n.id`)).toEqual([1, 2]);
  });

  it('is unknown where an option has no value', () => {
    expect(ids("search(title, 'fox*')")).toEqual([1, 3, 6]);
    expect(ids("NOT search(title, 'fox*')")).toEqual([4]);
    expect(ids("search(title, 'fox') IS NULL")).toEqual([2, 5]);
  });

  it('marks, updates and deletes', () => {
    const shown = "SELECT highlight(body, 'red -fox', '<', '>') AS s FROM note WHERE id <= 2";
    expect(columns(shown)).toEqual([['The <red> fox and the blue fox'], ['A <red> cat']]);
    const own = lab();
    expect(own.write("UPDATE note SET body = 'gone' WHERE search(body, 'fox')").updated).toBe(3);
    expect(own.write("DELETE FROM note WHERE search(body, 'gone OR cat')").deleted).toBe(4);
  });
});

describe('[ease 3.11] rank', () => {
  const texts = notes.map(([, , body]) => body);

  it.each([
    ['fox', ['fox']],
    ['red fox', ['red', 'fox']],
    ['"fox red"', undefined],
    ['zebra', ['zebra']],
  ])('of %j is BM25 over the table', (query, wanted) => {
    const rows = columns(`SELECT id, rank(body, $1) AS r FROM note ORDER BY id`, {
      parameters: { 1: query },
    });
    const expected = wanted === undefined ? texts.map(() => 0) : scores(texts, wanted);
    for (const [at, [, rank]] of rows.entries())
      expect(number(rank)).toBeCloseTo(expected[at] ?? -1, 12);
  });

  it('orders, compares, and is the same in pauses and without the planner', () => {
    const best = "SELECT id FROM note WHERE search(body, 'fox') ORDER BY rank(body, 'fox') DESC";
    expect(first(best)).toEqual([3, 1, 6]);
    expect(first(`${best} LIMIT 1`)).toEqual([3]);
    expect(first(best, { isPausing: true })).toEqual([3, 1, 6]);
    expect(first(best, { useIndexes: false, optimise: false })).toEqual([3, 1, 6]);
    expect(ids("rank(body, 'fox') > 0")).toEqual([1, 3, 6]);
    expect(ids("rank(body, 'NOT fox') > 0")).toEqual([]);
  });

  it('leaves out rows without a text', () => {
    const ranks = columns("SELECT id, rank(title, 'foxes') AS r FROM note ORDER BY id");
    const given = notes.flatMap(([, , , title]) => title ?? []);
    const [one, two] = scores(given, ['foxes']);
    expect(ranks[1]).toEqual([2, none]);
    expect(number(ranks[0]?.[1])).toBeCloseTo(one ?? -1, 12);
    expect(number(ranks[2]?.[1])).toBeCloseTo(two ?? -1, 12);
  });

  it('compares with the whole table in joins, queries in queries, groups and writes', () => {
    const [expected] = scores(texts, ['fox']);
    const joined = columns(
      "SELECT t.label, rank(n.body, 'fox') AS r FROM tag AS t LEFT JOIN note AS n " +
        'ON n.id = t.note AND n.id = 1 ORDER BY t.note',
    );
    expect(number(joined[0]?.[1])).toBeCloseTo(expected ?? -1, 12);
    expect(joined[1]?.[1]).toEqual(none);
    const inner =
      "SELECT n.id, (SELECT max(rank(n.body, t.label)) FROM tag AS t WHERE t.label = 'fox') AS r " +
      'FROM note AS n WHERE n.id = 1';
    expect(refusal(() => db.check(inner))).toMatch(/must be the same for all rows/);
    const outer = "SELECT (SELECT rank(n.body, 'fox') FROM tag AS t LIMIT 1) AS r FROM note AS n";
    expect(number(columns(outer)[0]?.[0])).toBeCloseTo(expected ?? -1, 12);
    const most = "SELECT max(rank(body, 'fox')) AS r FROM note WHERE id = 1 GROUP BY owner";
    expect(number(columns(most)[0]?.[0])).toBeCloseTo(expected ?? -1, 12);
    const own = lab();
    const { updated } = own.write("UPDATE note SET body = '' WHERE rank(body, 'fox') > 0");
    expect(updated).toBe(3);
    expect(own.rows("SELECT id FROM note WHERE rank(body, 'fox') > 0")).toEqual([]);
  });

  it.each([
    ['SELECT * FROM note WHERE owner = :sender', [1, 2]],
    ['SELECT note.* FROM note JOIN tag ON note.id = tag.note WHERE tag.note = 2', [2]],
  ])('counts only what the caller can read: %s', (filter, visible) => {
    const guarded = lab([filter]);
    const caller = { identity: callerIdentity(ann), rights: strangerRights };
    const rows = guarded.rows("SELECT id, rank(body, 'red') AS r FROM note WHERE id < 5", {
      caller,
    });
    const seen = notes.filter(([id, owner]) => (visible.length === 1 ? id === 2 : owner === ann));
    const expected = scores(
      seen.map(([, , body]) => body),
      ['red'],
    );
    const ranks = rows.map((row) => row as readonly [number, number]);
    expect(ranks.map(([id]) => id).sort()).toEqual(visible);
    for (const [id, rank] of ranks) {
      expect(rank).toBeCloseTo(expected[seen.findIndex(([one]) => one === id)] ?? -1, 12);
    }
  });

  it.each([
    ['SELECT rank(body) AS r FROM note', 'does not accept 1 arguments'],
    ["SELECT rank(id, 'fox') AS r FROM note", 'does not accept U32'],
    ["SELECT rank('a text', 'fox') AS r FROM note", 'must be a column of a table'],
    [
      "SELECT rank(x.body, 'fox') AS r FROM (SELECT body FROM note) AS x",
      'must be a column of a table',
    ],
    ['SELECT rank(body, body) AS r FROM note', 'must be the same for all rows'],
    ['SELECT rank() AS r FROM note', '`rank` is a window function: write OVER (…) behind it'],
  ])('refuses %s', (sql, message) => {
    expect(refusal(() => db.check(sql))).toContain(message);
  });

  it('is a window function with OVER', () => {
    expect(first('SELECT rank() OVER (ORDER BY id) AS r FROM note')).toEqual([
      1n,
      2n,
      3n,
      4n,
      5n,
      6n,
    ]);
  });
});
