import { describe, expect, it } from 'vitest';
import { optionType, sum, unitType } from '../../src/values/special-types.ts';
import type { Value } from '../../src/values/value.ts';
import { refusal } from './check-statement.ts';
import { type LabOptions, QueryLab } from './query-lab.ts';

const names = ['todo', 'inProgress', 'done'];
const status = sum(...names.map((name) => [name, unitType] as const));
const of = (name: string): Value => ({ tag: names.indexOf(name), value: [] });
const some = (value: Value): Value => ({ tag: 0, value });
const none: Value = { tag: 1, value: [] };

function lab(): QueryLab {
  const made = new QueryLab([
    {
      name: 'ticket',
      columns: {
        id: { kind: 'u32' },
        status,
        before: optionType(status),
        note: { kind: 'string' },
      },
      indexes: ['unique:btree:id', 'btree:status', 'hash:note,status'],
    },
  ]);
  made.insert('ticket', [
    [1, of('done'), some(of('inProgress')), 'done'],
    [2, of('todo'), none, 'x'],
    [3, of('inProgress'), some(of('todo')), 'inProgress'],
    [4, of('done'), none, 'y'],
  ]);
  return made;
}

const tickets = lab();
const ids = (condition: string, options: LabOptions = {}) =>
  tickets
    .rows(`SELECT id FROM ticket WHERE ${condition}`, options)
    .map((row) => (row as readonly Value[])[0])
    .sort();
const column = (sql: string) => tickets.rows(sql).map((row) => (row as readonly Value[])[0]);
const refusedWhere = (condition: string, options: LabOptions = {}) =>
  refusal(() => ids(condition, options));

const listed = "it is one of 'todo', 'inProgress', 'done'";
const notVariant = (text: string) => `'${text}' is not a variant of this enum: ${listed}`;

describe('[ease 3.1] enums in conditions', () => {
  it.each([
    ["status = 'done'", [1, 4]],
    ["'done' = status", [1, 4]],
    ["status <> 'done'", [2, 3]],
    ["status IN ('todo', 'inProgress')", [2, 3]],
    ["status NOT IN ('todo', 'inProgress')", [1, 4]],
    ["status > 'todo'", [1, 3, 4]],
    ["status BETWEEN 'inProgress' AND 'done'", [1, 3, 4]],
    ["CASE status WHEN 'done' THEN id > 1 ELSE FALSE END", [4]],
    ["CASE WHEN id = 1 THEN status ELSE 'todo' END = 'done'", [1]],
    ["COALESCE(before, 'done') = 'done'", [2, 4]],
    ["before.some = 'todo'", [3]],
    ["before IS DISTINCT FROM 'todo'", [1, 2, 4]],
    ['before IS NULL', [2, 4]],
    ["status LIKE '%o%'", [1, 2, 3, 4]],
    ["status LIKE 'in%'", [3]],
    ["status || '!' = 'done!'", [1, 4]],
    ["CAST(status AS String) = 'done'", [1, 4]],
    ['CAST(status AS String) = note', [1, 3]],
    ["variant_name(status) = 'inProgress'", [3]],
    ['status = (SELECT status FROM ticket WHERE id = 4)', [1, 4]],
    ['status IN (SELECT status FROM ticket WHERE id < 3)', [1, 2, 4]],
    ['status = status', [1, 2, 3, 4]],
    ['status.done IS NOT NULL', [1, 4]],
    ['(CASE WHEN id > 1 THEN status END).done IS NOT NULL', [4]],
  ] as const)('%s', (condition, expected) => {
    expect(ids(condition)).toEqual(expected);
    expect(ids(condition, { useIndexes: false, optimise: false })).toEqual(expected);
  });

  it('takes a variant by its name, by the spelling of the module, and in any case', () => {
    for (const text of ['inProgress', 'InProgress', 'in_progress', 'INPROGRESS', 'IN_PROGRESS']) {
      expect(ids(`status = '${text}'`), text).toEqual([3]);
    }
  });

  it('takes the spelling of clients, also where the module keeps its own', () => {
    const kept = new QueryLab([
      { name: 'k', columns: { v: sum(['in_progress', unitType], ['DONE', unitType]) } },
    ]);
    kept.insert('k', [[{ tag: 0, value: [] }]]);
    for (const text of ['in_progress', 'InProgress', 'inProgress']) {
      expect(kept.rows(`SELECT * FROM k WHERE v = '${text}'`), text).toHaveLength(1);
    }
    expect(kept.rows("SELECT * FROM k WHERE v = 'Done'")).toHaveLength(0);
  });

  it('takes the more exact of two names', () => {
    const close = new QueryLab([
      {
        name: 'c',
        columns: { id: { kind: 'u32' }, v: sum(['Ab', unitType], ['ab', unitType]) },
      },
    ]);
    close.insert('c', [[1, { tag: 0, value: [] }]]);
    expect(close.rows("SELECT id FROM c WHERE v = 'Ab'")).toEqual([[1]]);
    expect(close.rows("SELECT id FROM c WHERE v = 'ab'")).toEqual([]);
    expect(refusal(() => close.rows("SELECT id FROM c WHERE v = 'AB'"))).toBe(
      "'AB' is not a variant of this enum: it is one of 'Ab', 'ab'",
    );
  });

  it('takes parameters', () => {
    expect(ids('status = $1', { parameters: { 1: of('done') } })).toEqual([1, 4]);
  });

  it('refuses a text that is no variant, and lists those there are', () => {
    for (const condition of [
      "status = 'shipped'",
      "status <> 'shipped'",
      "status IN ('done', 'shipped')",
      "status > 'shipped'",
      "CASE status WHEN 'shipped' THEN TRUE ELSE FALSE END",
      "COALESCE(before, 'shipped') = 'done'",
    ]) {
      expect(refusedWhere(condition), condition).toBe(notVariant('shipped'));
    }
    expect(refusedWhere('status = 5')).toBe(notVariant('5'));
  });

  it('refuses to compare it with a text that a row holds', () => {
    expect(refusedWhere('status = note')).toMatch(/^Unexpected type: /);
  });
});

describe('[ease 3.1] enums in answers', () => {
  it('are ordered as they are declared', () => {
    const ordered = ['todo', 'inProgress', 'done', 'done'];
    const sql = 'SELECT CAST(status AS String) AS s FROM ticket ORDER BY status';
    expect(column(sql)).toEqual(ordered);
    expect(column(`${sql} DESC`)).toEqual(ordered.toReversed());
    expect(tickets.rows('SELECT MIN(status) AS a, MAX(status) AS b FROM ticket')).toEqual([
      [some(of('todo')), some(of('done'))],
    ]);
  });

  it('are grouped, counted and told apart', () => {
    const sql = 'SELECT status, COUNT(*) AS n FROM ticket GROUP BY status ORDER BY status';
    expect(tickets.rows(sql)).toEqual([
      [of('todo'), 1n],
      [of('inProgress'), 1n],
      [of('done'), 2n],
    ]);
    expect(tickets.rows('SELECT COUNT(DISTINCT status) AS n FROM ticket')).toEqual([[3n]]);
  });

  it('are the name of their variant as a text', () => {
    expect(column('SELECT CAST(status AS String) AS s FROM ticket WHERE id = 3')).toEqual([
      'inProgress',
    ]);
    expect(column('SELECT CAST(before AS String) AS s FROM ticket WHERE id = 3')).toEqual([
      some('todo'),
    ]);
  });

  it('join what has the same variant', () => {
    const sql = 'SELECT a.id FROM ticket AS a JOIN ticket AS b ON a.status = b.before.some';
    expect(column(sql).sort()).toEqual([2, 3]);
  });
});

describe('[ease 3.1] enums and indexes', () => {
  it.each([
    ["status = 'done'", "look up ticket by ticket_status_idx_btree ('done')"],
    ["status IN ('done', 'todo')", "look up ticket by ticket_status_idx_btree ('done'; 'todo')"],
    ["status > 'todo'", "range of ticket by ticket_status_idx_btree (ticket.status > 'todo')"],
    [
      "note = 'x' AND status = 'todo'",
      `look up ticket by ticket_note_status_idx_hash ("x", 'todo')`,
    ],
  ])('EXPLAIN shows the index of %s', (condition, expected) => {
    expect(tickets.explain(`SELECT id FROM ticket WHERE ${condition}`)).toContain(expected);
  });
});

describe('[ease 3.1] enums that are written', () => {
  it('are inserted and updated by the names of variants', () => {
    const db = lab();
    db.write(
      "INSERT INTO ticket (id, status, before, note) VALUES (9, 'InProgress', 'done', 'n'), (10, 'todo', NULL, 'n')",
    );
    db.write("UPDATE ticket SET status = 'done' WHERE id = 2");
    db.write(
      "UPDATE ticket SET status = CASE WHEN id = 3 THEN 'todo' ELSE 'done' END WHERE id > 2",
    );
    db.write('UPDATE ticket SET before = status, status = $1 WHERE id = 1', {
      parameters: { 1: of('todo') },
    });
    expect(db.rows('SELECT id, status, before FROM ticket ORDER BY id')).toEqual([
      [1, of('todo'), some(of('done'))],
      [2, of('done'), none],
      [3, of('todo'), some(of('todo'))],
      [4, of('done'), none],
      [9, of('done'), some(of('done'))],
      [10, of('done'), none],
    ]);
  });

  it('are refused with the list of variants when the text is none', () => {
    const db = lab();
    for (const sql of [
      "UPDATE ticket SET status = 'shipped'",
      "UPDATE ticket SET before = 'shipped'",
      "INSERT INTO ticket (id, status, before, note) VALUES (9, 'shipped', NULL, '')",
      "UPDATE ticket SET status = CASE WHEN id = 1 THEN 'shipped' ELSE 'done' END",
    ]) {
      expect(
        refusal(() => db.write(sql)),
        sql,
      ).toBe(notVariant('shipped'));
    }
  });
});
