import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Person, Running } from './running.ts';

let running: Running;
let owner: Person;

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
  for (const name of ['spelling', 'spelling-snake']) {
    expect(await running.publish(name, name, owner)).toMatchObject({ status: 200 });
  }
});
afterAll(() => running.stop());

/** Names in a schema, as clients see it. */
async function schemaOf(database: string) {
  const where = `/v1/database/${database}/schema?version=9`;
  const { tables, reducers, types, typespace } = JSON.parse((await running.ask('GET', where)).text);
  const nameOf = ({ name }: { name: { some: string } }) => name.some;
  return {
    tables: tables.map(({ name }: { name: string }) => name).sort(),
    indexes: tables.flatMap(({ indexes }: { indexes: [] }) => indexes.map(nameOf)).sort(),
    accessors: tables
      .flatMap(({ indexes }: { indexes: { accessor_name: { some: string } }[] }) => indexes)
      .map((index: { accessor_name: { some: string } }) => index.accessor_name.some)
      .sort(),
    constraints: tables.flatMap(({ constraints }: { constraints: [] }) => constraints.map(nameOf)),
    sequences: tables.flatMap(({ sequences }: { sequences: [] }) => sequences.map(nameOf)),
    reducers: reducers.map(({ name }: { name: string }) => name),
    parameters: reducers.flatMap((reducer: { params: { elements: [] } }) =>
      reducer.params.elements.map(nameOf),
    ),
    types: types
      .map(({ name }: { name: { scope: string[]; name: string } }) =>
        [...name.scope, name.name].join('.'),
      )
      .sort(),
    fields: typespace.types
      .slice(0, 3)
      .flatMap(({ Product, Sum }: { Product?: { elements: [] }; Sum?: { variants: [] } }) =>
        (Product?.elements ?? Sum?.variants ?? []).map(nameOf),
      ),
  };
}

async function logged(database: string): Promise<string[]> {
  return (await running.messages(database, owner)).filter((line) => !line.startsWith('Error'));
}

describe('names under the policy None', () => {
  it('[module-def 7] are left as they are', async () => {
    expect(await schemaOf('spelling')).toEqual({
      tables: ['Shelf_of2', 'paintTin'],
      indexes: ['ShelfByRow', 'paintTin_tinId_idx_btree'],
      accessors: ['byRow', 'tinId'],
      constraints: ['Shelf_of2_rowNo_spot_key', 'paintTin_tinId_key'],
      sequences: ['paintTin_tinId_seq'],
      reducers: ['addTin', 'aGrouped', 'Put_ish'],
      parameters: ['tinOf', 'heldBy2', 'name', 'rowNo'],
      types: ['AGrouped', 'AddTin', 'PaintTin', 'Put', 'ShelfOf2', 'paint.tinOf', 'paintColour'],
      fields: [
        ...['tinId', 'Tin', 'userIDs', 'heldBy2', 'litresLeft', 'Colour', 'DarkRed', 'paleBlue2'],
      ],
    });
  });

  it('[module-def 7.3] are those of calls, of JSON and of SQL', async () => {
    const tin = { litresLeft: 2, Colour: { paleBlue2: [] } };
    const put = (reducer: string) =>
      running.call('spelling', reducer, { tinOf: tin, heldBy2: 'me' }).then(({ status }) => status);
    expect([await put('addTin'), await put('add_tin')]).toEqual([200, 404]);
    const rows = await running.rows('spelling', 'SELECT tinId, heldBy2, Tin FROM paintTin');
    expect(rows).toEqual([[1, 'me', [2, [1, []]]]]);
    expect((await running.sql('spelling', 'SELECT * FROM paint_tin')).status).toBe(400);
  });
});

describe('names under the usual policy', () => {
  it('[module-def 7, 7.2] are snake case, with options taken word for word', async () => {
    expect(await schemaOf('spelling-snake')).toEqual({
      tables: ['Shelf_of2', 'paint_tin'],
      indexes: ['ShelfByRow', 'paint_tin_tin_id_idx_btree'],
      accessors: ['byRow', 'tinId'],
      constraints: ['Shelf_of2_row_no_spot_key', 'paint_tin_tin_id_key'],
      sequences: ['paint_tin_tin_id_seq'],
      reducers: ['add_tin', 'a_grouped', 'Put_ish'],
      parameters: ['tinOf', 'heldBy2', 'name', 'rowNo'],
      types: ['AGrouped', 'AddTin', 'Paint.TinOf', 'PaintColour', 'PaintTin', 'Put', 'ShelfOf2'],
      fields: [
        ...['tin_id', 'tin', 'user_i_ds', 'held_by_2', 'litres_left', 'colour'],
        ...['darkRed', 'paleBlue2'],
      ],
    });
  });

  it('[module-def 7.3, ease 2.1] are those of calls, JSON and SQL, as are the written ones', async () => {
    const tin = { litres_left: 2, colour: { paleBlue2: [] } };
    const put = (reducer: string, tinOf: unknown) =>
      running
        .call('spelling-snake', reducer, { tinOf, heldBy2: 'me' })
        .then(({ status }) => status);
    expect([await put('add_tin', tin), await put('addTin', tin)]).toEqual([200, 200]);
    expect(await put('add_tin', { litresLeft: 2, Color: { paleBlue2: [] } })).toBe(400);
    for (const columns of ['tinId, heldBy2', 'tin_id, held_by_2', '"tinId", "held_by_2"']) {
      for (const table of ['paintTin', 'paint_tin', '"paintTin"']) {
        const rows = await running.rows('spelling-snake', `SELECT ${columns} FROM ${table}`);
        expect(rows).toEqual([
          [1, 'me'],
          [2, 'me'],
        ]);
      }
    }
  });
});

describe.each(['spelling', 'spelling-snake'])('explicit names in %s', (database) => {
  it('[module-sdk 3, 6, ease 2.1] name tables, indexes and reducers', async () => {
    const call = async (reducer: string, args: unknown) =>
      (await running.call(database, reducer, args)).status;
    expect([await call('Put_ish', [1]), await call('putish', [1])]).toEqual([200, 404]);
    expect(await running.rows(database, 'SELECT * FROM Shelf_of2')).toEqual([[1, 1, [1, []]]]);
    const row = database === 'spelling' ? 'rowNo' : 'row_no';
    expect(await logged(database)).toContain(`Info: Shelf_of2 ShelfByRow ${row},spot`);
  });

  it('[module-sdk 5] members of a group go by their own keys', async () => {
    const name = database === 'spelling' ? 'aGrouped' : 'a_grouped';
    expect(await running.call(database, name, { name: 'n' })).toMatchObject({ status: 200 });
    expect((await running.call(database, 'nameless', ['n'])).status).toBe(404);
    expect((await running.call(database, 'group', ['n'])).status).toBe(404);
    expect(await logged(database)).toContain('Info: n 1n');
  });
});
