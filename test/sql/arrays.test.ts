import { describe, expect, it } from 'vitest';
import { optionType, sum, unitType } from '../../src/values/special-types.ts';
import type { Value } from '../../src/values/value.ts';
import { refusal } from './check-statement.ts';
import { type LabOptions, QueryLab } from './query-lab.ts';

const u32 = { kind: 'u32' } as const;
const string = { kind: 'string' } as const;
const states = sum(['todo', unitType], ['done', unitType]);
const todo: Value = { tag: 0, value: [] };
const done: Value = { tag: 1, value: [] };
const some = (value: Value): Value => ({ tag: 0, value });
const none: Value = { tag: 1, value: [] };

function lab(): QueryLab {
  const made = new QueryLab([
    {
      name: 'ticket',
      columns: {
        id: u32,
        labels: { kind: 'array', element: string },
        scores: { kind: 'array', element: { kind: 'f64' } },
        past: { kind: 'array', element: states },
        watchers: optionType({ kind: 'array', element: u32 }),
        wanted: string,
        bits: { kind: 'array', element: { kind: 'u8' } },
      },
      indexes: ['unique:btree:id'],
    },
  ]);
  made.insert('ticket', [
    [1, ['a', 'b'], [1.5, 2], [todo, done], some([1, 2]), 'b', Uint8Array.of(1, 2)],
    [2, ['b', 'c', 'b'], [], [todo], none, 'x', Uint8Array.of()],
    [3, [], [-0, Number.NaN], [], some([]), 'a', Uint8Array.of(9)],
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
const values = (expression: string) =>
  tickets
    .rows(`SELECT ${expression} AS v FROM ticket ORDER BY id`)
    .map((row) => (row as readonly Value[])[0]);
const refusedWhere = (condition: string) => refusal(() => ids(condition));

describe('[ease 3.3] arrays in conditions', () => {
  it.each([
    ["'b' = ANY(labels)", [1, 2]],
    ["'b' = any(labels) AND id > 1", [2]],
    ["'b' = SOME(labels)", [1, 2]],
    ["NOT ('b' = ANY(labels))", [3]],
    ["'b' <> ALL(labels)", [3]],
    ["'b' <= ALL(labels)", [2, 3]],
    ["'c' > ANY(labels)", [1, 2]],
    ['wanted = ANY(labels)', [1]],
    ['lower(wanted) = ANY(labels)', [1]],
    ["wanted = ANY(ARRAY['b', 'x'])", [1, 2]],
    ["wanted = ANY(['b', 'x'])", [1, 2]],
    ['id = ANY(ARRAY[1, 3])', [1, 3]],
    ['NULL = ANY(labels)', []],
    ["'todo' = ANY(past)", [1, 2]],
    ["'Done' = ANY(past)", [1]],
    ['1 = ANY(watchers)', [1]],
    ['id = ANY(watchers)', [1]],
    ['NOT (5 = ANY(watchers))', [1, 3]],
    ['(5 = ANY(watchers)) IS NULL', [2]],
    ['0 = ANY(scores)', [3]],
    ["labels @> ARRAY['b']", [1, 2]],
    ["labels @> ['b', 'c']", [2]],
    ["labels @> ['b', 'b']", [1, 2]],
    ["ARRAY['a', 'b', 'z'] @> labels", [1, 3]],
    ["labels <@ ARRAY['a', 'b', 'z']", [1, 3]],
    ["labels && ARRAY['c', 'a']", [1, 2]],
    ["NOT labels && ARRAY['c', 'a']", [3]],
    ['labels @> ARRAY[wanted]', [1]],
    ["past @> ARRAY['done']", [1]],
    ['watchers @> ARRAY[1]', [1]],
    ['scores @> ARRAY[0, 1.5]', []],
    ['scores && ARRAY[0, 1.5]', [1, 3]],
    ["labels[1] = 'b'", [2]],
    ["labels[3] = 'b'", [2]],
    ['labels[0] IS NULL AND labels[-1] IS NULL AND labels[9] IS NULL', [1, 2, 3]],
    ['labels[id] IS NOT NULL', [1, 2]],
    ['labels[array_length(labels)] = wanted', [1]],
    ["past[1] = 'todo'", [1, 2]],
    ['watchers[2] + 1 = 3', [1]],
    ['2 = ANY(bits) AND bits[1] = 1', [1]],
    ["labels[1] || '!' = 'a!'", [1]],
    ['array_length(labels) > 1', [1, 2]],
  ] as const)('%s', (condition, expected) => {
    expect(ids(condition)).toEqual(expected);
    expect(ids(condition, plain)).toEqual(expected);
    expect(ids(condition, { isPausing: true })).toEqual(expected);
  });

  it('takes parameters as elements and values', () => {
    expect(ids('$1 = ANY(labels)', { parameters: { 1: 'c' } })).toEqual([2]);
    expect(ids('labels @> ARRAY[$1, $2]', { parameters: { 1: 'c', 2: 'b' } })).toEqual([2]);
    expect(ids('labels @> $1', { parameters: { 1: ['c', 'b'] } })).toEqual([2]);
    expect(ids('id = ANY($1)', { parameters: { 1: [1, 3] } })).toEqual([1, 3]);
    expect(ids('id <> ALL($1)', { parameters: { 1: [1, 3] } })).toEqual([2]);
  });

  it.each([
    ["'x' = ANY(wanted)", 'Expected an array, not `String`'],
    ["labels @> 'b'", 'The literal expression `b` cannot be parsed as type `Array<String>`'],
    ['labels @> ARRAY[id]', 'Unexpected type: (expected) U32 != String (inferred)'],
    ["'sent' = ANY(past)", "'sent' is not a variant of this enum: it is one of 'todo', 'done'"],
    ["'x' = ANY(watchers)", 'The literal expression `x` cannot be parsed as type `U32`'],
    ['labels = labels', 'Invalid binary operator `=` for type `Array<String>`'],
    ['ARRAY[] && ARRAY[]', 'Cannot resolve the type of an array without elements'],
    ['labels[1, 2] = 1', 'A subscript is one position, as in `column[1]`'],
    ['id = ALL(SELECT id FROM ticket)', undefined],
  ] as const)('refuses %s', (condition, expected) => {
    const message = refusedWhere(condition);
    if (expected === undefined) expect(message).not.toBe('ok');
    else expect(message).toBe(expected);
  });
});

describe('[ease 3.3] arrays and indexes', () => {
  it('a list of values that is written out is looked up', () => {
    const explained = (condition: string) =>
      tickets.explain(`SELECT wanted FROM ticket WHERE ${condition}`);
    const expected = 'look up ticket by ticket_id_idx_btree (1; 3)';
    expect(explained('id = ANY(ARRAY[1, 3])')).toContain(expected);
    expect(explained('id = SOME([1, 3])')).toContain(expected);
  });
});

describe('[ease 3.3] arrays as values', () => {
  it('are written out, and taken apart', () => {
    expect(values("ARRAY['x', wanted]")).toEqual([
      ['x', 'b'],
      ['x', 'x'],
      ['x', 'a'],
    ]);
    expect(values('ARRAY[id, 2]')).toEqual([
      [1, 2],
      [2, 2],
      [3, 2],
    ]);
    expect(values('labels[2]')).toEqual([some('b'), some('c'), none]);
    expect(values('array_length(watchers)')).toEqual([some(2n), none, some(0n)]);
    expect(values('ARRAY[watchers[1], 7]')).toEqual([some([1, 7]), none, none]);
  });

  it('are stored', () => {
    const db = lab();
    db.write("UPDATE ticket SET labels = ARRAY['n', wanted], watchers = ARRAY[5] WHERE id = 1");
    db.write("UPDATE ticket SET past = ['done', 'Todo'], labels = [] WHERE id = 2");
    expect(db.rows('SELECT labels, past, watchers FROM ticket ORDER BY id')).toEqual([
      [['n', 'b'], [todo, done], some([5])],
      [[], [done, todo], none],
      [[], [], some([])],
    ]);
  });
});

describe('[ease 3.3] unnest', () => {
  const rows = (sql: string): unknown[] => {
    const found = tickets.rows(sql);
    for (const options of [plain, { isPausing: true }]) {
      expect(tickets.rows(sql, options)).toEqual(found);
    }
    return found;
  };

  it.each([
    [
      'SELECT t.id, u.label FROM ticket AS t, unnest(labels) AS u(label) ORDER BY t.id, u.label',
      [
        [1, 'a'],
        [1, 'b'],
        [2, 'b'],
        [2, 'b'],
        [2, 'c'],
      ],
    ],
    ["SELECT t.id FROM ticket t CROSS JOIN LATERAL unnest(t.labels) u WHERE u.u = 'c'", [[2]]],
    [
      'SELECT t.id, u.label FROM ticket t LEFT JOIN unnest(t.labels) AS u(label) ' +
        "ON u.label <> 'b' ORDER BY t.id",
      [
        [1, some('a')],
        [2, some('c')],
        [3, none],
      ],
    ],
    [
      'SELECT u.w, u.ordinality FROM ticket t JOIN unnest(t.watchers) WITH ORDINALITY AS u(w) ' +
        'ON TRUE ORDER BY u.w DESC',
      [
        [2, 2n],
        [1, 1n],
      ],
    ],
    [
      "SELECT * FROM unnest(ARRAY['x', 'y']) WITH ORDINALITY",
      [
        ['x', 1n],
        ['y', 2n],
      ],
    ],
    ['SELECT COUNT(*) AS n FROM unnest([1, 2, 3]) AS u(n) WHERE n > 1', [[2n]]],
    [
      'SELECT label, COUNT(*) AS n FROM (SELECT u.label FROM ticket t, unnest(t.labels) u(label)) ' +
        'GROUP BY label ORDER BY n DESC, label',
      [
        ['b', 3n],
        ['a', 1n],
        ['c', 1n],
      ],
    ],
    ["SELECT id FROM ticket WHERE 'c' IN (SELECT x FROM unnest(ticket.labels) AS u(x))", [[2]]],
    [
      'SELECT id, (SELECT MAX(x) FROM unnest(ticket.labels) AS u(x)) AS m FROM ticket ORDER BY id',
      [
        [1, some('b')],
        [2, some('c')],
        [3, none],
      ],
    ],
    [
      'SELECT d.id, u.s FROM (SELECT id, scores FROM ticket WHERE id < 3) AS d, unnest(d.scores) AS u(s)' +
        ' ORDER BY u.s',
      [
        [1, 1.5],
        [1, 2],
      ],
    ],
    [
      'SELECT a.id, b.id AS other FROM ticket a, unnest(a.labels) AS u(x) JOIN ticket b ON b.wanted = u.x ' +
        'ORDER BY a.id, b.id',
      [
        [1, 1],
        [1, 3],
        [2, 1],
        [2, 1],
      ],
    ],
    ["SELECT u.p FROM ticket t, unnest(t.past) AS u(p) WHERE u.p = 'done'", [[done]]],
  ])('%s', (sql, expected) => {
    expect(rows(sql)).toEqual(expected);
  });

  it('is read as it was written whatever comes first', () => {
    const sql =
      'SELECT a.id, u.x FROM ticket a LEFT JOIN ticket b ON b.id = a.id + 1, unnest(b.labels) AS u(x) ' +
      'ORDER BY a.id, u.x';
    expect(rows(sql)).toEqual([
      [1, 'b'],
      [1, 'b'],
      [1, 'c'],
    ]);
  });

  it('is explained', () => {
    const sql = 'SELECT t.id FROM ticket AS t, unnest(t.labels) AS u(label)';
    expect(tickets.explain(sql)).toContain('join for each row');
    expect(tickets.explain(sql)).toContain('elements of t.labels');
  });

  it.each([
    ['SELECT * FROM unnest(1)', 'Expected an array, not `I64`'],
    ['SELECT t.id FROM unnest(t.labels) AS u(x) JOIN ticket AS t ON TRUE', '`t` is not in scope'],
    ['SELECT * FROM unnest([1], [2])', 'Unsupported FROM expression: unnest([1],[2])'],
    ['SELECT * FROM unnest([1]) AS u(a, b)', 'There are 2 names for 1 columns'],
    [
      'SELECT * FROM ticket AS t RIGHT JOIN unnest(t.labels) AS u ON TRUE',
      'Non-inner joins are not supported',
    ],
  ])('refuses %s', (sql, expected) => {
    expect(refusal(() => tickets.rows(sql))).toBe(expected);
  });
});

describe('[ease 3.3] array_agg', () => {
  const one = (list: string, rest = ''): Value => {
    const sql = `SELECT array_agg(${list} FROM ticket${rest}`;
    const [row] = tickets.rows(sql);
    expect(tickets.rows(sql, plain)).toEqual([row]);
    expect(tickets.rows(sql, { isPausing: true })).toEqual([row]);
    return (row as readonly Value[])[0] as Value;
  };

  it.each([
    ['id) AS a', '', some([1, 2, 3])],
    ['wanted ORDER BY id DESC) AS a', '', some(['a', 'x', 'b'])],
    ['wanted) AS a', '', some(['a', 'b', 'x'])],
    ['id ORDER BY wanted DESC) FILTER (WHERE id <> 2) AS a', '', some([1, 3])],
    ['id) FILTER (WHERE id > 5) AS a', '', none],
    ['id) AS a', ' WHERE id > 5', none],
    ['labels[1] ORDER BY id) AS a', '', some([some('a'), some('b'), none])],
    ['labels[2]) AS a', '', some([some('b'), some('c'), none])],
    ['labels[1]) FILTER (WHERE id = 3) AS a', '', some([none])],
    [
      'labels ORDER BY id) AS a',
      ' WHERE id < 3',
      some([
        ['a', 'b'],
        ['b', 'c', 'b'],
      ]),
    ],
    ['past[1] ORDER BY id) AS a', ' WHERE id < 3', some([some(todo), some(todo)])],
    ['DISTINCT past[1]) AS a', ' WHERE id < 3', some([some(todo)])],
    ['watchers[1] ORDER BY watchers[1] NULLS FIRST) AS a', '', some([none, none, some(1)])],
  ] as const)('array_agg(%s%s', (list, rest, expected) => {
    expect(one(list, rest)).toEqual(expected);
  });

  it('gathers what unnest has taken apart', () => {
    const sql =
      'SELECT t.id, array_agg(DISTINCT u.x ORDER BY u.x DESC) AS a FROM ticket AS t, ' +
      'unnest(t.labels) AS u(x) GROUP BY t.id ORDER BY t.id';
    expect(tickets.rows(sql)).toEqual([
      [1, some(['b', 'a'])],
      [2, some(['c', 'b'])],
    ]);
    const within =
      'SELECT id FROM ticket WHERE id = ANY((SELECT array_agg(id) FROM ticket AS s WHERE s.id > 1))';
    expect(tickets.rows(`${within} ORDER BY id`)).toEqual([[2], [3]]);
  });

  it('over windows', () => {
    const sql =
      'SELECT id, array_agg(id) OVER (ORDER BY id DESC ROWS 1 PRECEDING) AS a FROM ticket ORDER BY id';
    expect(tickets.rows(sql)).toEqual([
      [1, some([1, 2])],
      [2, some([2, 3])],
      [3, some([3])],
    ]);
  });

  it.each([
    ['array_agg(*)', 'Only COUNT accepts *, and only without DISTINCT'],
    ['array_agg(id, 1)', 'The function `array_agg` expects one argument'],
    [
      'array_agg(DISTINCT id ORDER BY wanted)',
      'With DISTINCT, an aggregate can be ordered only by its arguments',
    ],
  ])('refuses %s', (call, expected) => {
    expect(refusal(() => tickets.rows(`SELECT ${call} AS a FROM ticket`))).toBe(expected);
  });
});
