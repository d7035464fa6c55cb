import { describe, expect, it } from 'vitest';
import {
  moduleOf,
  reducer,
  ref,
  type TableSketch,
  text,
  u32,
  u64,
} from '../../test/schema/module-builder.ts';
import { product, sum, unitType } from '../values/special-types.ts';
import { decodeRawModule } from './decode-raw-module.ts';
import { encodeRawModuleV10 } from './encode-raw-module.ts';
import type { RawModule } from './raw-module.ts';
import { readSchemaFile, writeSchemaFile } from './schema-file.ts';
import { schemaHashOf } from './schema-hash.ts';
import { validateModule } from './validate.ts';

const table: TableSketch = {
  name: 'userRow',
  columns: { id: u32, fullName: text, kind: ref(1) },
  primaryKey: 'id',
  autoInc: ['id'],
};
const types = { types: [sum(['A', unitType], ['B', u32])] };
const named = [{ scope: [], sourceName: 'Kind', ref: 1, customOrdering: true }];
const base = moduleOf([table], { typespace: types, types: named });
const hash = (raw: RawModule) => schemaHashOf(validateModule(raw));
const changed = (changes: Partial<TableSketch>) =>
  moduleOf([{ ...table, ...changes }], { typespace: types, types: named });

describe('[living 5.3] the schema hash', () => {
  it('is of tables alone', () => {
    expect(hash(base)).toMatch(/^[0-9a-f]{64}$/);
    expect(hash({ ...base, reducers: [reducer('r')], rowLevelSecurity: ['SELECT 1'] })).toBe(
      hash(base),
    );
    expect(hash(changed({ access: 'private' }))).toBe(hash(base));
    expect(hash(changed({ defaults: { id: new Uint8Array(4) } }))).toBe(hash(base));
    const moved = moduleOf([{ ...table, columns: { ...table.columns, kind: ref(2) } }], {
      typespace: { types: [unitType, ...types.types] },
      types: [{ ...named[0], ref: 2 }] as RawModule['types'],
    });
    expect(hash(moved)).toBe(hash(base));
  });

  it.each<[string, RawModule]>([
    ['a name', changed({ name: 'userRows' })],
    ['the spelling of a name', changed({ columns: { id: u32, full_name: text, kind: ref(1) } })],
    ['a type', changed({ columns: { ...table.columns, id: u64 } })],
    ['an order', changed({ columns: { fullName: text, id: u32, kind: ref(1) } })],
    ['a key', changed({ unique: [['fullName']] })],
    ['an index', changed({ indexes: [{ columns: ['fullName'] }] })],
    ['a sequence', changed({ autoInc: [] })],
    ['an event flag', changed({ isEvent: true })],
    [
      'a variant',
      { ...base, typespace: { types: [...base.typespace.types.slice(0, 1), unitType] } },
    ],
  ])('changes with %s', (_, raw) => {
    expect(hash(raw)).not.toBe(hash(base));
  });

  it('writes a type once, however often others name it', () => {
    const chainOf = (depth: number) => {
      const chain = Array.from({ length: depth }, (_, at) => {
        const next = at === depth - 1 ? u32 : ref(at + 2);
        return product(['a', next], ['b', next]);
      });
      const names = chain.map((_, at) => {
        return { scope: [], sourceName: `T${at}`, ref: at + 1, customOrdering: true };
      });
      const parts = { typespace: { types: chain }, types: names };
      return moduleOf([{ name: 't', columns: { c: ref(1) } }], parts);
    };
    expect(hash(chainOf(14))).not.toBe(hash(chainOf(13)));
    const before = encodeRawModuleV10(chainOf(64));
    const endless = { id: '0001-a', hash: new Uint8Array(32), before, steps: [], down: undefined };
    expect(() => validateModule({ ...base, migrations: [endless] })).toThrow(
      'migration `0001-a` starts from a definition that is not valid',
    );
  });
});

describe('[living 5.2] the file with the schema before', () => {
  const described = encodeRawModuleV10({ ...base, reducers: [reducer('r')] });

  it('gives the tables back exactly, and shows them', () => {
    const file = writeSchemaFile(described);
    const { hash: written, described: bytes, after } = readSchemaFile(file);
    expect(written).toBe(hash(base));
    expect(decodeRawModule(bytes)).toEqual(base);
    expect(after).toBeUndefined();
    expect(JSON.parse(file)).toMatchObject({
      tables: {
        userRow: { id: 'U32 primary key auto-increment', fullName: 'String', kind: 'a | b(U32)' },
      },
    });
    expect(Math.max(...file.split('\n').map((line) => line.length))).toBeLessThan(110);
  });

  it('can hold the schema after', () => {
    const next = encodeRawModuleV10(changed({ name: 'person' }));
    const { after, afterDescribed } = readSchemaFile(writeSchemaFile(described, next));
    expect(after?.tables.map(({ name }) => name)).toEqual(['person']);
    expect(afterDescribed).toEqual(encodeRawModuleV10(decodeRawModule(afterDescribed ?? next)));
  });

  it.each([
    ['', 'it is not JSON'],
    ['7', 'it is not a JSON object'],
    ['{}', 'its `definition` is not a list of lines of Base64'],
    ['{"definition":["AAAA"]}', 'its `definition` is not a definition: '],
    [writeSchemaFile(described).replace(/"hash": "../, '"hash": "zz'), 'its `hash` is not that of'],
  ])('says what is wrong with it: %#', (file, words) => {
    expect(() => readSchemaFile(file)).toThrow(words);
  });
});
