import { describe, expect, it } from 'vitest';
import { callerIdentity } from '../../src/values/identity-roles.ts';
import { identityType, optionType } from '../../src/values/special-types.ts';
import type { Value } from '../../src/values/value.ts';
import { refusal } from './check-statement.ts';
import { type LabOptions, labOwner, QueryLab } from './query-lab.ts';

const u32 = { kind: 'u32' } as const;
const some = (value: Value): Value => ({ tag: 0, value });
const none: Value = { tag: 1, value: [] };
const ann = 0xabn;

function lab(): QueryLab {
  const made = new QueryLab([
    {
      name: 'ticket',
      columns: {
        id: u32,
        assignee: optionType(identityType),
        points: optionType(u32),
        title: optionType({ kind: 'string' }),
        urgent: optionType({ kind: 'bool' }),
        other: u32,
      },
      indexes: ['unique:btree:id', 'btree:assignee', 'btree:points', 'hash:other,title'],
    },
    { name: 'person', columns: { id: u32, who: identityType }, indexes: ['unique:btree:id'] },
  ]);
  made.insert('ticket', [
    [1, some([ann]), some(3), some('red'), some(true), 3],
    [2, some([0xcdn]), none, some('blue'), none, 5],
    [3, none, some(5), none, some(false), 5],
    [4, some([ann]), some(8), some('redder'), some(true), 8],
    [5, none, none, none, none, 1],
  ]);
  made.insert('person', [
    [1, [ann]],
    [2, [0xcdn]],
  ]);
  return made;
}

const tickets = lab();
const plain = { useIndexes: false, optimise: false };
const ids = (condition: string, options: LabOptions = {}) =>
  tickets
    .rows(`SELECT id FROM ticket WHERE ${condition}`, options)
    .map((row) => (row as readonly Value[])[0])
    .sort();

describe('[ease 3.2] options in conditions', () => {
  it.each([
    ['assignee = :sender', [1, 4]],
    [':sender = assignee', [1, 4]],
    ['assignee <> :sender', [2]],
    ['NOT (assignee = :sender)', [2]],
    ['assignee IS NULL', [3, 5]],
    ['assignee IS NOT NULL', [1, 2, 4]],
    ['assignee IS NOT NULL AND assignee <> :sender', [2]],
    ['assignee IS NULL OR assignee = :sender', [1, 3, 4, 5]],
    ['points = 5', [3]],
    ['points = NULL', []],
    ['points > 3', [3, 4]],
    ['points >= 3 AND points < 8', [1, 3]],
    ['points < 5', [1]],
    ['points BETWEEN 4 AND 8', [3, 4]],
    ['points NOT BETWEEN 4 AND 8', [1]],
    ['points IN (3, 8)', [1, 4]],
    ['points IN (3, NULL)', [1]],
    ['points NOT IN (3, 8)', [3]],
    ['points = 3 OR points = 8', [1, 4]],
    ['points + 1 = 4', [1]],
    ['points = other', [1, 3, 4]],
    ['points = points', [1, 3, 4]],
    ['points IN (SELECT points FROM ticket WHERE id = 3)', [3]],
    ['points = (SELECT MAX(points) FROM ticket)', [4]],
    ['id IN (SELECT points FROM ticket)', [3, 5]],
    ["title LIKE 'red%'", [1, 4]],
    ["title IN ('red', 'blue')", [1, 2]],
    ["title = 'blue' AND other = 5", [2]],
    ["CASE title WHEN 'red' THEN TRUE ELSE FALSE END", [1]],
    ['urgent', [1, 4]],
    ['NOT urgent', [3]],
    ['urgent = TRUE AND points > 3', [4]],
    ['urgent IS NOT TRUE', [2, 3, 5]],
  ] as const)('%s', (condition, expected) => {
    expect(ids(condition)).toEqual(expected);
    expect(ids(condition, plain)).toEqual(expected);
    expect(ids(condition, { isPausing: true })).toEqual(expected);
  });

  it('takes parameters, of which null is unknown', () => {
    const asked = (value: Value) => ids('points = $1', { parameters: { 1: value } });
    expect(asked(5)).toEqual([3]);
    expect(ids('title = $1', { parameters: { 1: 'red' } })).toEqual([1]);
  });

  it('joins what options hold', () => {
    const sql = 'SELECT t.id, p.id AS who FROM ticket AS t JOIN person AS p ON t.assignee = p.who';
    const rows = [
      [1, 1],
      [2, 2],
      [4, 1],
    ];
    expect(tickets.rows(sql).sort()).toEqual(rows);
    expect(tickets.rows(sql, plain).sort()).toEqual(rows);
  });

  it('refuses what is no value of what it holds', () => {
    expect(refusal(() => ids("points = 'x'"))).toBe(
      'The literal expression `x` cannot be parsed as type `U32`',
    );
  });
});

describe('[ease 3.2] options and indexes', () => {
  it.each([
    ['assignee = :sender', 'look up ticket by ticket_assignee_idx_btree'],
    ['assignee IS NULL', 'look up ticket by ticket_assignee_idx_btree (NULL)'],
    ['points = 5', 'look up ticket by ticket_points_idx_btree (5)'],
    ['points IN (3, 5)', 'look up ticket by ticket_points_idx_btree (3; 5)'],
    ['points > 3', 'range of ticket by ticket_points_idx_btree (ticket.points > 3'],
    ["other = 5 AND title = 'blue'", 'look up ticket by ticket_other_title_idx_hash'],
  ])('EXPLAIN shows the index of %s', (condition, expected) => {
    expect(tickets.explain(`SELECT id FROM ticket WHERE ${condition}`)).toContain(expected);
  });
});

it('[ease 3.2] the answers of a subquery are looked up in the index of an option', () => {
  const many = new QueryLab([
    { name: 't', columns: { id: u32, k: optionType(u32) }, indexes: ['btree:k'] },
    { name: 's', columns: { k: optionType(u32) } },
  ]);
  const row = (id: number): Value[] => [id, id % 5 === 0 ? none : some(id % 40)];
  many.insert(
    't',
    Array.from({ length: 200 }, (_, id) => row(id)),
  );
  many.insert('s', [[some(7)], [some(9)], [none], [some(1_000)]]);
  const sql = 'SELECT id FROM t WHERE k IN (SELECT k FROM s) ORDER BY id';
  expect(many.explain(sql)).toContain('t_k_idx_btree');
  const expected = many.rows(sql, plain);
  expect(expected).toHaveLength(10);
  expect(many.rows(sql)).toEqual(expected);
  expect(many.rows(sql, { isPausing: true })).toEqual(expected);
});

describe('[ease 3.2] options that are written', () => {
  it('take the bare value or NULL', () => {
    const db = lab();
    db.write(
      `INSERT INTO ticket (id, assignee, points, title, urgent, other)
       VALUES (9, 0x${'00'.repeat(31)}ab, 7, 'x', TRUE, 0), (10, NULL, NULL, NULL, NULL, 0)`,
    );
    db.write('UPDATE ticket SET points = points + 1 WHERE points IS NOT NULL');
    db.write('UPDATE ticket SET points = NULL WHERE assignee = :sender AND id = 9', {
      caller: { ...labOwner, identity: callerIdentity(ann) },
    });
    expect(db.rows('SELECT id, points FROM ticket ORDER BY id')).toEqual([
      [1, some(4)],
      [2, none],
      [3, some(6)],
      [4, some(9)],
      [5, none],
      [9, none],
      [10, none],
    ]);
  });
});

describe('[ease 3.2] a unique key of options', () => {
  const columns = { id: u32, nick: optionType({ kind: 'string' }), room: optionType(u32), n: u32 };
  const guests = (): QueryLab => {
    const indexes = ['hash:room', 'unique:hash:nick', 'unique:btree:room,nick'];
    const made = new QueryLab([{ name: 'guest', columns, indexes }]);
    made.insert('guest', [
      [1, some('ann'), some(1), 0],
      [2, none, some(1), 0],
      [3, none, some(1), 0],
      [4, none, none, 0],
    ]);
    return made;
  };
  const all = 'SELECT id, nick, n FROM guest ORDER BY id';

  it('ignores rows without a value', () => {
    const db = guests();
    const insert = 'INSERT INTO guest (id, nick, room, n) VALUES';
    expect(db.write(`${insert} (5, NULL, 1, 0), (6, 'bob', NULL, 0)`).inserted).toBe(2);
    expect(() => db.write(`${insert} (7, 'ann', NULL, 0)`)).toThrow(
      "IndexError: Unique constraint violation 'guest_nick_idx_hash' in table 'guest'",
    );
    db.write("UPDATE guest SET nick = NULL WHERE nick = 'ann'");
    expect(() => db.write("UPDATE guest SET nick = 'x'")).toThrow('Unique constraint violation');
    db.write('UPDATE guest SET n = n + 1');
    expect(db.rows('SELECT COUNT(*) AS c FROM guest WHERE nick IS NULL AND n = 1')).toEqual([[5n]]);
    expect(db.write('DELETE FROM guest WHERE nick IS NULL').deleted).toBe(5);
  });

  it.each([
    ['nick IS NULL', [2, 3, 4]],
    ["nick IS NULL OR nick = 'ann'", [1, 2, 3, 4]],
    ['nick IS NULL AND room = 1', [2, 3]],
    ['nick IS NULL AND room IS NULL', [4]],
    ["nick = 'ann'", [1]],
    ["nick = 'ann' AND room = 1", [1]],
    ['nick = NULL', []],
    ["nick IN ('ann', NULL)", [1]],
    ['nick IN (SELECT nick FROM guest)', [1]],
    ['nick IS NOT DISTINCT FROM NULL', [2, 3, 4]],
  ])('finds each row with %s', (condition, expected) => {
    const db = guests();
    const sql = `SELECT id FROM guest WHERE ${condition} ORDER BY id`;
    const rows = expected.map((id) => [id]);
    for (const options of [{}, plain, { isPausing: true }]) {
      expect(db.rows(sql, options)).toEqual(rows);
    }
    const qualified = condition.replaceAll(/\b(nick|room)\b/g, 'g.$1');
    const joined = `SELECT g.id FROM (VALUES (1)) AS v JOIN guest AS g ON ${qualified}`;
    expect(db.rows(`${joined} ORDER BY g.id`)).toEqual(rows);
  });

  it('orders rows that share a key by the rest of the list', () => {
    const sql = 'SELECT id FROM guest ORDER BY room DESC, nick DESC, id DESC';
    expect(guests().rows(sql)).toEqual(guests().rows(sql, plain));
  });

  it('is a conflict for rows with a value only', () => {
    const db = guests();
    const sql =
      "INSERT INTO guest (id, nick, room, n) VALUES (8, NULL, 1, 5), (9, 'ann', 1, 5) " +
      'ON CONFLICT (nick) DO UPDATE SET n = excluded.n';
    expect(db.write(sql)).toMatchObject({ inserted: 1, updated: 1 });
    expect(db.rows(all)).toEqual([
      [1, some('ann'), 5],
      [2, none, 0],
      [3, none, 0],
      [4, none, 0],
      [8, none, 5],
    ]);
    expect(
      db.write(
        "INSERT INTO guest (id, nick, room, n) VALUES (10, NULL, 1, 0), (11, 'ann', 2, 0) ON CONFLICT DO NOTHING",
      ).inserted,
    ).toBe(1);
  });
});
