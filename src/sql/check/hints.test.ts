import { describe, expect, it } from 'vitest';
import { checked, errorOf, sampleSchema, scopeFor } from '../../../test/sql/check-statement.ts';
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
    expect(hint('INSERT INTO booking VALUES (1, 2, 3, 4, 5, 6)')).toBe(
      'Name the columns that get the values: ' +
        'INSERT INTO booking (id, room, starts_at, length, note, state) …',
    );
  });

  it('name no column twice', () => {
    const list = 'id, room, starts_at, length, note, state';
    expect(hint(`INSERT INTO booking (${list}, id) VALUES (1)`)).toBe(
      `Name each column once: INSERT INTO booking (${list}) …`,
    );
  });
});
