import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openInn } from './inn.ts';
import type { Running } from './running.ts';

let running: Running;

beforeAll(async () => {
  ({ running } = await openInn());
});
afterAll(() => running.stop());

describe('the schema', () => {
  it('[http 8] must be asked for in a version', async () => {
    const schema = (query: string) => running.ask('GET', `/v1/database/inn/schema${query}`);
    expect((await schema('')).text).toBe(
      'Failed to deserialize query string: missing field `version`',
    );
    expect((await schema('?version=8')).text).toBe(
      'Failed to deserialize query string: unknown variant `8`, expected `9` or `10`',
    );
  });

  it('[http 8, interface 2, tables 10] shows private tables to everybody', async () => {
    const nine = JSON.parse((await running.ask('GET', '/v1/database/inn/schema?version=9')).text);
    expect(nine.tables.map(({ name }: { name: string }) => name)).toEqual([
      'banned',
      'person',
      'secret',
      'visit',
      'wide',
    ]);
    const ten = JSON.parse((await running.ask('GET', '/v1/database/inn/schema?version=10')).text);
    expect(Object.keys(ten.sections[0])).toEqual(['Typespace']);
  });

  it('[http 8] wants exactly one of two versions', async () => {
    const text = async (query: string) =>
      (await running.ask('GET', `/v1/database/inn/schema?${query}`)).text;
    for (const version of ['8', '11', '', '09', '9.0', 'x']) {
      expect(await text(`version=${version}`)).toBe(
        `Failed to deserialize query string: unknown variant \`${version}\`, expected \`9\` or \`10\``,
      );
    }
    expect((await running.ask('GET', '/v1/database/nobody/schema?version=8')).status).toBe(404);
  });

  it('[http 8.1] version 9 has its keys in order', async () => {
    const { headers, text } = await running.ask('GET', '/v1/database/inn/schema?version=9');
    expect(headers.get('content-type')).toBe('application/json');
    const schema = JSON.parse(text);
    expect(Object.keys(schema)).toEqual([
      ...['typespace', 'tables', 'reducers', 'types', 'misc_exports', 'row_level_security'],
    ]);
    const person = schema.tables.find(({ name }: { name: string }) => name === 'person');
    expect(Object.keys(person)).toEqual([
      ...['name', 'product_type_ref', 'primary_key', 'indexes', 'constraints', 'sequences'],
      ...['schedule', 'table_type', 'table_access'],
    ]);
    expect(person).toMatchObject({
      primary_key: [0],
      schedule: { none: [] },
      table_type: { User: [] },
      table_access: { Public: [] },
    });
    expect(Object.keys(person.indexes[0])).toEqual(['name', 'accessor_name', 'algorithm']);
    expect(Object.keys(person.constraints[0])).toEqual(['name', 'data']);
    expect(person.constraints[0].data).toEqual({ Unique: { columns: [0] } });
    expect(Object.keys(person.sequences[0])).toEqual([
      ...['name', 'column', 'start', 'min_value', 'max_value', 'increment'],
    ]);
    const row = schema.typespace.types[person.product_type_ref].Product;
    expect(JSON.stringify(row.elements[0])).toBe(
      '{"name":{"some":"id"},"algebraic_type":{"U32":[]}}',
    );
    expect(schema.types.map(({ name }: { name: object }) => Object.keys(name))).toContainEqual([
      ...['scope', 'name'],
    ]);
  });

  it('[http 8.1] version 9 has tables and types by name, reducers as the module has them', async () => {
    const { text } = await running.ask('GET', '/v1/database/inn/schema?version=9');
    const schema = JSON.parse(text);
    const names = (list: { name: string }[]) => list.map(({ name }) => name);
    expect(names(schema.tables)).toEqual(names(schema.tables).sort());
    const types = schema.types.map(({ name }: { name: { name: string } }) => name.name);
    expect(types).toEqual([...types].sort());
    const reducers = schema.reducers.map(
      ({ name, lifecycle }: { name: string; lifecycle: { some?: object } }) =>
        `${name} ${Object.keys(lifecycle.some ?? {}).join()}`.trim(),
    );
    expect(reducers).toEqual([
      ...['add_person', 'add_wide', 'arrive OnConnect', 'ban_me', 'count_visit', 'crash'],
      ...['leave OnDisconnect', 'refuse', 'set_up Init'],
    ]);
  });

  it('[http 8.2] version 10 has its sections in order', async () => {
    const { text } = await running.ask('GET', '/v1/database/inn/schema?version=10');
    const { sections } = JSON.parse(text);
    expect(sections.map((section: object) => Object.keys(section).join())).toEqual([
      ...['Typespace', 'Types', 'Tables', 'Reducers', 'LifeCycleReducers', 'ExplicitNames'],
    ]);
    const section = (name: string) => sections.find((one: object) => name in one)[name];
    expect(Object.keys(section('Tables')[0])).toEqual([
      ...['source_name', 'product_type_ref', 'primary_key', 'indexes', 'constraints', 'sequences'],
      ...['table_type', 'table_access', 'default_values', 'is_event'],
    ]);
    expect(Object.keys(section('Reducers')[0])).toEqual([
      ...['source_name', 'params', 'visibility', 'ok_return_type', 'err_return_type'],
    ]);
    expect(section('LifeCycleReducers')).toContainEqual({
      lifecycle_spec: { Init: [] },
      function_name: expect.stringMatching(/set_?up/i),
    });
    const named = section('ExplicitNames').entries;
    const kinds = named.map((entry: object) => Object.keys(entry)[0]);
    const count = (kind: string) => kinds.filter((one: string) => one === kind).length;
    expect(count('Table')).toBe(5);
    expect(count('Function')).toBe(9);
  });
});
