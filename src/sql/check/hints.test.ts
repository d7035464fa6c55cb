import { describe, expect, it } from 'vitest';
import { checked, errorOf, sampleSchema, scopeFor } from '../../../test/sql/check-statement.ts';
import { QueryLab } from '../../../test/sql/query-lab.ts';
import type { SampleTable } from '../../../test/sql/sample-tables.ts';
import {
  identityType,
  optionType,
  product,
  scheduleAtType,
  sum,
  timeDurationType,
  timestampType,
  unitType,
  uuidType,
} from '../../values/special-types.ts';
import type { AlgebraicType } from '../../values/type.ts';

const string: AlgebraicType = { kind: 'string' };
const u32: AlgebraicType = { kind: 'u32' };
const f32: AlgebraicType = { kind: 'f32' };

/** The tables of someone who tries SQL for the first time. */
const tables: readonly SampleTable[] = [
  {
    name: 'booking',
    columns: {
      id: u32,
      room: string,
      starts_at: timestampType,
      length: timeDurationType,
      note: optionType(string),
      state: string,
      due: optionType({ kind: 'u8' }),
    },
    indexes: ['unique:btree:id'],
    autoIncrement: 'id',
    primaryKey: 'id',
    defaults: { state: 'open' },
  },
  {
    name: 'guest',
    columns: {
      id: u32,
      who: identityType,
      ticket: uuidType,
      key: { kind: 'array', element: { kind: 'u8' } },
      vip: { kind: 'bool' },
      contact: sum(['walkin', unitType], ['mail', string]),
      priority: sum(['low', unitType], ['high', unitType]),
      place: product(['x', u32], ['y', u32]),
      labels: { kind: 'array', element: string },
      embedding: { kind: 'array', element: f32 },
      meta: string,
      at: scheduleAtType,
      stay: timeDurationType,
    },
  },
];

const schema = sampleSchema({ tables });
const error = (sql: string) => errorOf(() => checked(sql, scopeFor(schema)));
const hint = (sql: string) => error(sql)?.hint;

describe('[ease 1.6] hints of INSERT', () => {
  it('name the columns that need a value', () => {
    expect(hint("INSERT INTO booking (room, starts_at) VALUES ('a', 'b')")).toBe(
      'These columns need a value: length. Write INSERT INTO booking (room, starts_at, length) …',
    );
    expect(hint('INSERT INTO booking (id) SELECT 1')).toBe(
      'These columns need a value: room, starts_at, length. ' +
        'Write INSERT INTO booking (id, room, starts_at, length) …',
    );
  });

  it('give the list that VALUES alone lacks', () => {
    expect(hint("INSERT INTO booking VALUES ('a', 'b', 'c')")).toBe(
      'Name the columns that get the values: INSERT INTO booking (room, starts_at, length) …',
    );
    expect(hint('INSERT INTO booking VALUES (1, 2, 3, 4, 5, 6, 7)')).toBe(
      'Name the columns that get the values: ' +
        'INSERT INTO booking (id, room, starts_at, length, note, state, due) …',
    );
  });

  it('name no column twice', () => {
    const list = 'id, room, starts_at, length, note, state, due';
    expect(hint(`INSERT INTO booking (${list}, id) VALUES (1)`)).toBe(
      `Name each column once: INSERT INTO booking (${list}) …`,
    );
  });
});

describe('[ease 1.6] numbers of arrays', () => {
  it('are read from a text in brackets', () => {
    expect(error("SELECT id FROM guest ORDER BY distance(embedding, '[0, 1.5]') LIMIT 1")).toBe(
      undefined,
    );
    expect(checked("UPDATE guest SET embedding = ' [1,2] '", scopeFor(schema))).toEqual(
      checked('UPDATE guest SET embedding = ARRAY[1, 2]', scopeFor(schema)),
    );
    expect(error("UPDATE guest SET embedding = '[]'")).toBe(undefined);
  });

  it('have an example of numbers', () => {
    const numbers = "Write an array of numbers as ARRAY[0, 1] or '[0, 1]'";
    expect(hint("SELECT distance(embedding, '0, 1') AS d FROM guest")).toBe(numbers);
    expect(hint("SELECT distance(embedding, '[0, x]') AS d FROM guest")).toBe(numbers);
    expect(hint("UPDATE guest SET embedding = '[[1]]'")).toBe(numbers);
    expect(hint("SELECT id FROM guest WHERE labels = 'tea'")).toBe(
      "Write an array as ARRAY['a', 'b'], and a test of one element as 'a' = ANY(column)",
    );
  });

  it('and others are not compared as a whole', () => {
    expect(error("SELECT id FROM guest WHERE labels = ARRAY['tea']")).toMatchObject({
      message: 'Invalid binary operator `=` for type `Array<String>`',
      hint:
        "Lists cannot be compared: write list @> ARRAY['a', 'b'] (it has all), " +
        "list && ARRAY['a', 'b'] (it has one of them) or 'a' = ANY(list)",
    });
    expect(hint('SELECT id FROM guest WHERE embedding = ARRAY[0, 1]')).toContain(
      'list @> ARRAY[0, 1]',
    );
  });
});

describe('[ease 1.6] texts that are stored', () => {
  const set = (assignment: string) => `UPDATE guest SET ${assignment}`;

  it('are durations, and variants that carry nothing', () => {
    const bytes = (assignment: string) =>
      checked(set(assignment), scopeFor(schema)) as { assignments?: unknown };
    expect(bytes("contact = 'Walkin'").assignments).toMatchObject([
      { value: { kind: 'constant', bytes: Uint8Array.of(0) } },
    ]);
    expect(bytes("stay = '2h'").assignments).toMatchObject([
      { value: { kind: 'constant', bytes: Uint8Array.of(0, 0x48, 0x27, 0xad, 1, 0, 0, 0) } },
    ]);
    expect(error("SELECT id FROM guest WHERE stay > '1 day 2 hours'")).toBe(undefined);
  });

  it.each([
    ["who = 'c200'", 'Write an identity as 0x and its 64 hex digits, without quotes'],
    ["ticket = 'x'", "Write a UUID as UUID '018867c5-d400-7321-8a9b-0c1d2e3f4051'"],
    ["key = 'abcd'", 'Write bytes as 0x and their hex digits, without quotes'],
    ["id = '5'", 'Expected a whole number from 0 to 4294967295, without quotes'],
    ["vip = 'yes'", 'Expected TRUE or FALSE'],
    ["stay = '90'", "Write a duration as INTERVAL '1 day 2 hours'"],
    [
      "contact = 'mail'",
      'SQL has no literal for variants with a value, only for those without: ' +
        "one of 'walkin'. Else call a reducer that writes it",
    ],
    ["place = '(1, 2)'", 'SQL has no literal for a product: call a reducer that writes it'],
    ['place = 5', 'SQL has no literal for a product: call a reducer that writes it'],
    [
      "at = '2025-02-17T10:30:45Z'",
      'SQL has no literal for a ScheduleAt: call a reducer that writes it',
    ],
    ['at = now()', 'SQL has no literal for a ScheduleAt: call a reducer that writes it'],
  ])('have a hint: %s', (assignment, expected) => {
    expect(hint(set(assignment))).toBe(expected);
  });

  it('have it for an option too', () => {
    expect(hint('UPDATE booking SET starts_at = 5')).toBe(
      "Write a timestamp as TIMESTAMP '2025-02-17T10:30:45Z'",
    );
    expect(hint('UPDATE booking SET due = TRUE')).toBe(
      'Expected a whole number from 0 to 255, without quotes',
    );
  });
});

describe('[ease 3.6] schedules and durations in conditions', () => {
  it('are compared by what they hold', () => {
    const held = 'Compare what it holds: `column."Time" < now()`';
    expect(hint('SELECT id FROM guest WHERE at < now()')).toContain(held);
    expect(hint("SELECT id FROM guest WHERE at < '2025-02-17T10:30:45Z'")).toContain(held);
    expect(hint('SELECT id FROM guest WHERE at = at')).toContain(held);
    expect(error('SELECT id FROM guest WHERE at."Time" < now()')).toBe(undefined);
    expect(error(`SELECT id FROM guest WHERE at."Interval" < INTERVAL '1 hour'`)).toBe(undefined);
  });

  it('need one that is computed', () => {
    expect(hint('SELECT id FROM guest WHERE stay = stay')).toBe(
      "Add a duration to one of two columns to compare them: a = b + INTERVAL '0 seconds'",
    );
    expect(error("SELECT id FROM guest WHERE stay = stay + INTERVAL '0 seconds'")).toBe(undefined);
  });
});

describe('[ease 3.6] hints for what other databases have', () => {
  it.each([
    ['SELECT lenght(room) FROM booking', 'There is no function `lenght`. Did you mean `length`?'],
    ['SELECT id, lenght(room) AS n FROM booking', 'Did you mean `length`?'],
    [
      "SELECT id, json_extract(meta, '$.a') AS a FROM guest",
      "Write text ->> 'key', or text -> 'key' ->> 'other'",
    ],
    [
      'SELECT id FROM booking WHERE starts_at > CURRENT_DATE',
      "now() is the time, and date_trunc('day', now()) the day. " +
        'A column of this name needs quotes: "CURRENT_DATE"',
    ],
    [
      'SELECT user FROM booking',
      ':sender is the identity of the caller. A column of this name needs quotes: "user"',
    ],
    [
      'SELECT id, user FROM booking',
      ':sender is the identity of the caller. A column of this name needs quotes: "user"',
    ],
    ['SELECT meta.a FROM guest', "`meta` is a column of text. If it is JSON, write meta ->> 'a'"],
    ['SELECT id FROM booking WHERE note.a = 5', "If the text is JSON, write text ->> 'a'"],
    ['SELECT vip.a FROM guest', '`vip` is a column, and its type has no parts'],
    ['SELECT id FROM booking LIMIT 1, 2', 'Write LIMIT 2 OFFSET 1'],
    ['SELECT TOP 2 id FROM booking', 'Write LIMIT 2 at the end of the query'],
    ['SELECT TOP(2) id FROM booking', 'Write LIMIT 2 at the end of the query'],
    ['SELECT id FROM booking FETCH FIRST 3 ROWS ONLY', 'Write LIMIT 3'],
    ['TRUNCATE booking', 'Write DELETE FROM table: without WHERE it deletes all rows'],
    ['BEGIN', 'Each statement is a transaction of its own; several changes together are a reducer'],
    ['CREATE TABLE a (b INT)', 'Tables are declared in the module: change it and publish it again'],
    [
      "SELECT id FROM guest ORDER BY embedding <=> '[0, 1]' LIMIT 1",
      'Write cosine_distance(a, b) for vectors, a IS NOT DISTINCT FROM b for other values',
    ],
    ["SELECT id, embedding <-> '[0, 1]' AS d FROM guest", 'Write distance(a, b)'],
    [
      'SELECT id FROM booking WHERE room = "attic"',
      "Texts stand in single quotes: 'attic'. Double quotes are for names",
    ],
    [
      'UPDATE booking SET room = "notes"',
      "Texts stand in single quotes: 'notes'. Double quotes are for names",
    ],
    ['SELECT id FROM booking WHERE rom = 1', 'Did you mean `room`?'],
    [
      'SELECT b.id FROM booking AS b JOIN guest AS g ON g.id = b.id WHERE b.room = "attic"',
      "Qualify the column, as in `relation.column`; texts stand in single quotes: 'attic'",
    ],
  ])('%s', (sql, expected) => {
    expect(hint(sql)).toBe(expected);
  });
});

it('[ease 3.6] a unit of time that does not exist is answered with all units', () => {
  const lab = new QueryLab([{ name: 'one', columns: { at: timestampType } }]);
  lab.insert('one', [[[0n]]]);
  const run = () => lab.rows("SELECT date_trunc('weekday', at) AS day FROM one");
  expect(errorOf(run)?.hint).toContain('day, week, month');
});
