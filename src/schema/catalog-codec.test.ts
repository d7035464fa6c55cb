import { describe, expect, it } from 'vitest';
import { moduleOf, named, personModule, ref, text, u32 } from '../../test/schema/module-builder.ts';
import { DecodeError } from '../values/binary-reader.ts';
import { product, sum } from '../values/special-types.ts';
import { catalogOf, emptyCatalog } from './build-catalog.ts';
import type { Catalog, TableSpec, ViewSpec } from './catalog.ts';
import { decodeCatalog, encodeCatalog } from './catalog-codec.ts';
import { indexId, tableId, viewId } from './ids.ts';
import { LaterVersionError } from './later-version.ts';
import { validateModule } from './validate.ts';

const rich = catalogOf(
  validateModule(
    moduleOf(
      [
        {
          name: 'allSorts',
          columns: { id: u32, tree: ref(2), note: text },
          primaryKey: 'id',
          autoInc: ['id'],
          unique: [['note', 'id']],
          indexes: [{ columns: ['id'], algorithm: 'direct' }],
          access: 'private',
        },
        { name: 'news', columns: { id: u32 }, isEvent: true },
      ],
      {
        typespace: { types: [sum(['leaf', u32], ['fork', { kind: 'array', element: ref(2) }])] },
        types: [named('Tree', 2)],
        submodules: [{ namespace: 'n', module: personModule }],
        views: [
          {
            sourceName: 'oldNews',
            index: 0,
            isPublic: true,
            isAnonymous: true,
            params: product(),
            returnType: { kind: 'array', element: ref(1) },
          },
        ],
        viewPrimaryKeys: [{ viewName: 'oldNews', columns: ['id'] }],
      },
    ),
  ),
);

describe('the catalog format', () => {
  it.each([
    ['the empty catalog', emptyCatalog],
    ['a catalog with everything', rich],
  ])('keeps all of %s', (_, catalog) => {
    expect(decodeCatalog(encodeCatalog(catalog))).toEqual(catalog);
  });

  it('has this form', () => {
    const table: TableSpec = {
      id: tableId(4096),
      name: 't',
      sourceName: 'T',
      kind: 'user',
      access: 'private',
      isEvent: true,
      columns: [{ name: 'a', sourceName: 'A', type: u32 }],
      primaryKey: 0,
      indexes: [
        {
          id: indexId(4097),
          name: 'i',
          sourceName: 'I',
          algorithm: 'hash',
          columns: [0],
          isUnique: true,
        },
      ],
      constraints: [{ id: 4098, name: 'c', columns: [0] }],
      derivedIndexes: [],
      sequences: [
        { id: 4099, name: 's', column: 0, start: 1n, minValue: -1n, maxValue: 2n, increment: 3n },
      ],
    };
    const view: ViewSpec = {
      id: viewId(4100),
      name: 'v',
      sourceName: 'V',
      access: 'private',
      isAnonymous: true,
      columns: table.columns,
      primaryKey: undefined,
      indexes: [],
      constraints: [],
    };
    const bytes = encodeCatalog({ tables: [table], views: [view], types: [], nextId: 4101 });
    const hex = `
      02 05100000 00000000 01000000
      00100000 01000000 74 01000000 54 06 0000
      01000000 01000000 61 01000000 41 0b
      01000000 01100000 01000000 69 01000000 49 01 01 01000000 0000
      01000000 02100000 01000000 63 01000000 0000
      01000000 03100000 01000000 73 0000
      01000000000000000000000000000000 ffffffffffffffffffffffffffffffff
      02000000000000000000000000000000 03000000000000000000000000000000
      01000000 04100000 01000000 76 01000000 56 03 ffff
      01000000 01000000 61 01000000 41 0b 00000000 00000000`;
    expect(Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')).toBe(
      hex.replace(/\s/g, ''),
    );
  });

  it('reads what was written before there were views', () => {
    const bytes = encodeCatalog(emptyCatalog);
    const old = bytes.slice(0, -4);
    old[0] = 1;
    expect(decodeCatalog(old)).toEqual(emptyCatalog);
  });

  const labelled = catalogOf(
    validateModule(
      moduleOf(
        [{ name: 'ticket', columns: { id: u32, labels: { kind: 'array', element: text } } }],
        {
          derivedIndexes: [{ tableName: 'ticket', column: 1, kind: 'inverted', options: [] }],
        },
      ),
    ),
  );

  it('[ease 3.3] has derived indexes at its end, and is of version 2 without', () => {
    const bytes = encodeCatalog(labelled);
    const tables = labelled.tables.map((table) => ({ ...table, derivedIndexes: [] }));
    const bare = encodeCatalog({ ...labelled, tables });
    expect([bare[0], bytes[0]]).toEqual([2, 3]);
    expect(bytes.subarray(1, bare.length)).toEqual(bare.subarray(1));
    const name = Buffer.from('ticket_labels_idx_inverted').toString('hex');
    expect(Buffer.from(bytes.subarray(bare.length)).toString('hex')).toBe(
      `01000000 00100000 01100000 1a000000${name} 00 0100 00000000`.replace(/\s/g, ''),
    );
    expect(decodeCatalog(bytes)).toEqual(labelled);
    expect(decodeCatalog(bare)).toEqual({ ...labelled, tables });
    for (let length = bare.length; length < bytes.length; length += 1) {
      expect(() => decodeCatalog(bytes.subarray(0, length))).toThrow(DecodeError);
    }
  });

  it('[ease 3.3] refuses derived indexes of what does not exist', () => {
    const bytes = encodeCatalog(labelled);
    const changed = (fromEnd: number, byte: number) => {
      const other = Uint8Array.from(bytes);
      other[other.length - fromEnd] = byte;
      return () => decodeCatalog(other);
    };
    expect(changed(6, 9)).toThrow('has no column 9');
    expect(changed(7, 9)).toThrow('unknown tag 0x9 for sum type DerivedIndexKind');
    expect(changed(45, 9)).toThrow('table 4105 of an index does not exist');
  });

  it('holds no view among its tables', () => {
    const table: TableSpec = { ...(rich.tables[0] as TableSpec), kind: 'view' };
    expect(() => encodeCatalog({ ...rich, tables: [table] })).toThrow('are not views');
  });

  it('refuses another version, and bytes before or after its end', () => {
    const bytes = encodeCatalog(rich);
    const other = Uint8Array.from(bytes);
    other[0] = 4;
    expect(() => decodeCatalog(other)).toThrow(LaterVersionError);
    expect(() => decodeCatalog(other)).toThrow(
      'its schema has version 4, and this version knows versions up to 3',
    );
    other[0] = 0;
    expect(() => decodeCatalog(other)).toThrow(new DecodeError('unknown catalog version 0'));
    expect(() => decodeCatalog(Uint8Array.of(...bytes, 0))).toThrow('1 bytes after the catalog');
    for (let length = 0; length < bytes.length; length += 1) {
      expect(() => decodeCatalog(bytes.subarray(0, length))).toThrow(DecodeError);
    }
  });
});

describe('a catalog that contradicts itself is refused', () => {
  const [client, ...others] = emptyCatalog.tables;
  const first = client as TableSpec;
  const view = rich.views[0] as ViewSpec;

  it.each([
    ['one table id twice', { tables: [first, first] }, 'id 7 is used twice'],
    [
      'one name twice',
      { tables: [first, { ...first, id: tableId(9), indexes: [], constraints: [] }] },
      'st_client',
    ],
    ['an index id twice', { tables: [withIndexes(first.indexes, first.indexes)] }, 'used twice'],
    ['a next id of the system', { nextId: 5 }, 'next id 5 is a system id'],
    ['an id beyond the next', { tables: [{ ...first, id: tableId(5000) }] }, 'id 5000 is beyond'],
    ['a column that does not exist', { tables: [{ ...first, primaryKey: 2 }] }, 'no column 2'],
    ['an index without columns', { tables: [emptyIndex()] }, 'has no columns'],
    ['a column twice', { tables: [twoColumns()] }, 'is there twice'],
    ['a ref that leads nowhere', { types: [ref(1)] }, 'does not exist'],
    ['a table and a view of one id', { views: [{ ...view, id: viewId(7) }] }, 'id 7 is used twice'],
    ['a table and a view of one name', { views: [{ ...view, name: 'st_var' }] }, 'st_var'],
    [
      'a key that a view does not have',
      { views: [{ ...view, primaryKey: 3 }], nextId: 5000 },
      'no column 3',
    ],
  ] as [string, Partial<Catalog>, string][])('%s', (_, parts, message) => {
    const decode = () => decodeCatalog(encodeCatalog({ ...emptyCatalog, ...parts }));
    expect(decode).toThrow(DecodeError);
    expect(decode).toThrow(message);
  });

  it('but the same parts are fine alone', () => {
    expect(others).toHaveLength(8);
    const catalog = { ...emptyCatalog, tables: others };
    expect(decodeCatalog(encodeCatalog(catalog))).toEqual(catalog);
  });

  function withIndexes(...lists: TableSpec['indexes'][]): TableSpec {
    return { ...first, indexes: lists.flat() };
  }

  function emptyIndex(): TableSpec {
    return { ...first, indexes: first.indexes.map((index) => ({ ...index, columns: [] })) };
  }

  function twoColumns(): TableSpec {
    const [column] = first.columns;
    return { ...first, columns: column === undefined ? [] : [column, column] };
  }
});
