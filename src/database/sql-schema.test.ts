import { describe, expect, it } from 'vitest';
import { moduleOf, ref, type TableSketch, text, u32 } from '../../test/schema/module-builder.ts';
import { catalogOf } from '../schema/build-catalog.ts';
import type { RawModule } from '../schema/raw-module.ts';
import { validateModule } from '../schema/validate.ts';
import { identityType, product } from '../values/special-types.ts';
import { filterWarnings, RowFilterError } from './row-filters.ts';
import { sqlSchemaOf } from './sql-schema.ts';

const letter: TableSketch = {
  name: 'letter',
  columns: { id: u32, fromWho: identityType, toWho: identityType },
  primaryKey: 'id',
};
const room: TableSketch = { name: 'theRoom', columns: { id: u32, name: text } };
const diary: TableSketch = { name: 'diary', columns: { id: u32 }, access: 'private' };

function schemaOf(parts: Partial<RawModule>) {
  const definition = validateModule(moduleOf([letter, room, diary], parts));
  return sqlSchemaOf(definition, catalogOf(definition));
}

const mine = {
  sourceName: 'myLetters',
  index: 0,
  isPublic: false,
  isAnonymous: false,
  params: product(),
  returnType: { kind: 'array' as const, element: ref(0) },
};
const keyed = [{ viewName: 'myLetters', columns: ['id'] }];
const sent = 'SELECT * FROM letter WHERE from_who = :sender';
const received = 'SELECT * FROM "letter" WHERE "letter"."toWho" = :sender';
const rooms = 'SELECT r.* FROM "theRoom" AS r JOIN diary ON r.id = diary.id';

describe('the schema of statements', () => {
  it('[sql 4] has tables and views under ids of one series and both names', () => {
    const { tables, views } = schemaOf({ views: [mine], viewPrimaryKeys: keyed });
    expect(new Set(tables.map(({ id }) => id)).size).toBe(tables.length);
    const view = tables.find(({ kind }) => kind === 'view');
    expect(view).toMatchObject({
      name: 'my_letters',
      sourceName: 'myLetters',
      access: 'private',
      primaryKey: 0,
      isEvent: false,
      sequences: [],
    });
    expect(view?.columns.map(({ name, sourceName }) => [name, sourceName])).toEqual([
      ['id', 'id'],
      ['from_who', 'fromWho'],
      ['to_who', 'toWho'],
    ]);
    expect([...views]).toEqual([[view?.id, { id: view?.id, isAnonymous: false }]]);
  });

  it('[sql 6.3] has an index on the key of a view, and no other', () => {
    const indexesOf = (parts: Partial<RawModule>) => {
      return schemaOf(parts).tables.find(({ kind }) => kind === 'view')?.indexes;
    };
    expect(indexesOf({ views: [mine], viewPrimaryKeys: keyed })).toMatchObject([
      { columns: [0], isUnique: true },
    ]);
    expect(indexesOf({ views: [mine] })).toEqual([]);
  });

  it('[ease 3.1] has the declared defaults of columns, by table and position', () => {
    const tables = [letter, { ...room, defaults: { name: Uint8Array.of(0, 0, 0, 0) } }];
    const definition = validateModule(moduleOf(tables));
    const { defaults, tables: specs } = sqlSchemaOf(definition, catalogOf(definition));
    const id = specs.find(({ name }) => name === 'the_room')?.id;
    expect(defaults).toEqual(new Map([[id, new Map([[1, Uint8Array.of(0, 0, 0, 0)]])]]));
  });

  it('[sql 10.3] has the filters of each table, by whose rows they return', () => {
    const { filters, tables } = schemaOf({ rowLevelSecurity: [sent, rooms, received] });
    const named = [...filters].map(([id, texts]) => {
      return [tables.find((table) => table.id === id)?.name, texts];
    });
    expect(named).toEqual([
      ['letter', [sent, received]],
      ['the_room', [rooms]],
    ]);
  });

  it.each([
    ['a private table', 'SELECT * FROM diary', 'Cannot define RLS rule on private table: diary. '],
    ['a view', 'SELECT * FROM my_letters', 'Cannot define RLS rule on a view. '],
    ['a table that is not there', 'SELECT * FROM letters', 'no such table: `letters`. '],
    ['two relations', 'SELECT * FROM letter JOIN diary', 'SELECT * is not supported for joins'],
    ['columns', 'SELECT id FROM letter', 'Column projections are not supported in subscriptions; '],
    ['nothing', 'SELECT * FORM letter', 'sql parser error: '],
    ['rows in an order', 'SELECT * FROM letter ORDER BY id', 'Unsupported: '],
    ['rows that are written', 'DELETE FROM letter', 'Unsupported: Non-SELECT queries'],
    ['no condition', 'SELECT * FROM letter WHERE id', 'Unexpected type: '],
  ])('[sql 10.3] refuses a filter for %s', (_, sql, message) => {
    const views = [{ ...mine, isPublic: true }];
    const make = () => schemaOf({ views, rowLevelSecurity: [sql] });
    expect(make).toThrow(RowFilterError);
    expect(make).toThrow(message);
    expect(make).toThrow(` (in the RLS rule \`${sql}\`)`);
  });

  it('[sql 10.3] refuses a filter that is there twice', () => {
    const make = () => schemaOf({ rowLevelSecurity: [sent, received, sent] });
    expect(make).toThrow(`An RLS rule is defined twice (in the RLS rule \`${sent}\`)`);
  });
});

describe('what a publisher should know of filters', () => {
  const joined = 'SELECT r.* FROM "theRoom" AS r JOIN letter ON r.id = letter.id';
  const warned = (...rowLevelSecurity: string[]) => filterWarnings(schemaOf({ rowLevelSecurity }));

  it('[ease 3.9] several of one table cost where one of them joins', () => {
    const [text, ...more] = warned(sent, joined, 'SELECT * FROM "theRoom" WHERE id = 1');
    expect(more).toEqual([]);
    expect(text).toMatch(/^`the_room` has 2 row filters, of which one joins: duplicate rows are/);
  });

  it('[ease 3.9] others do not', () => {
    expect(warned(sent, received)).toEqual([]);
    expect(warned(joined)).toEqual([]);
    expect(warned(joined, 'SELECT * FROM "theRoom"')).toEqual([]);
  });
});
