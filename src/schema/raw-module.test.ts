import { describe, expect, it } from 'vitest';
import { moduleOf, personModule, text, u32, u64 } from '../../test/schema/module-builder.ts';
import { DecodeError } from '../values/binary-reader.ts';
import { BinaryWriter } from '../values/binary-writer.ts';
import { product } from '../values/special-types.ts';
import type { AlgebraicType } from '../values/type.ts';
import { encodeType } from '../values/type-codec.ts';
import { decodeRawModule } from './decode-raw-module.ts';
import { encodeRawModuleV10 } from './encode-raw-module.ts';
import { emptyRawModule } from './raw-module.ts';
import { validateModule } from './validate.ts';

/** The description by the official TypeScript library of a table `person` and a reducer `add`. */
const exampleHex = `
02 0f000000
00 02000000 02 02000000 00 02000000 6964 0b  00 04000000 6e616d65 04
            02 01000000 00 04000000 6e616d65 04
01 02000000 00000000 06000000 506572736f6e 00000000 01
            00000000 03000000 416464 01000000 01
02 01000000 06000000 706572736f6e 00000000 01000000 0000
   01000000 00 13000000 706572736f6e5f69645f6964785f6274726565 00 02000000 6964 00 01000000 0000
   01000000 01 00 01000000 0000
   01000000 01 0000 01 01 01 01000000000000000000000000000000
   01 00 00000000 00
03 01000000 03000000 616464 01000000 00 04000000 6e616d65 04 01 02 00000000 04
04 00000000
05 00000000
0d 00000000
06 00000000
07 00000000
0b 00000000
0c 00000000
08 00000000
0a 00000000
09 01
0e 00000000`.replace(/\s/g, '');

const example = bytesOf(exampleHex);

function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

describe('version 10', () => {
  it('[module-def 3, 11] reads the worked example of 285 bytes', () => {
    expect(example.length).toBe(285);
    const withAdd = moduleOf([], {
      ...personModule,
      typespace: { types: [...personModule.typespace.types, product(['name', text])] },
      types: [
        ...personModule.types,
        { scope: [], sourceName: 'Add', ref: 1, customOrdering: true },
      ],
    });
    expect(decodeRawModule(example)).toEqual(withAdd);
  });

  it('[module-def 11] writes the worked example byte for byte', () => {
    expect(hexOf(encodeRawModuleV10(decodeRawModule(example)))).toBe(exampleHex);
  });

  it('[module-def 2] tolerates bytes after the description', () => {
    const longer = bytesOf(`${exampleHex}ffff`);
    expect(decodeRawModule(longer)).toEqual(decodeRawModule(example));
  });

  it('[module-def 3] takes a missing section as empty, and a missing policy as snake case', () => {
    expect(decodeRawModule(bytesOf('0200000000'))).toEqual(emptyRawModule);
  });

  it('[module-def 3] lets the first of two sections of one kind win', () => {
    const twice = bytesOf('02 02000000 09 00 09 01'.replaceAll(' ', ''));
    expect(decodeRawModule(twice).caseConversion).toBe('none');
    const lists = bytesOf('02 02000000 08 00000000 08 01000000 01000000 61'.replaceAll(' ', ''));
    expect(decodeRawModule(lists).rowLevelSecurity).toEqual([]);
  });

  it.each([
    ['an unknown section', '02010000000f', 'unknown tag 0xf for sum type RawModuleDefV10Section'],
    ['an unknown envelope', '03', 'unknown tag 0x3 for sum type RawModuleDef'],
    ['no bytes', '', 'data too short'],
    ['a section that breaks off', exampleHex.slice(0, 400), 'data too short'],
    ['more sections than bytes', '02ffffffff', 'data too short'],
  ])('refuses %s', (_, hex, message) => {
    const decode = () => decodeRawModule(bytesOf(hex));
    expect(decode).toThrow(DecodeError);
    expect(decode).toThrow(message);
  });

  it('[module-def 9] refuses submodules nested without end', () => {
    const level = '01000000 0e 01000000 01000000 61'.replaceAll(' ', '');
    const bytes = bytesOf(`02${level.repeat(5000)}00000000`);
    expect(() => decodeRawModule(bytes)).toThrow('submodules nested deeper than');
  });
});

describe('version 8', () => {
  it('[module-def 2, 5] is refused with a way out', () => {
    const decode = () => decodeRawModule(bytesOf('00'));
    expect(decode).toThrow(DecodeError);
    expect(decode).toThrow(/version 8, which is not supported; rebuild/);
  });
});

describe('version 9', () => {
  const row = product(['scheduledId', u64], ['note', text]);

  it('[module-def 4] moves schedules, lifecycle, defaults to where version 10 has them', () => {
    const raw = decodeRawModule(versionNine({ defaults: [['jobs', 1, '0100000078']] }));
    expect(raw.version).toBe(9);
    expect(raw.caseConversion).toBe('none');
    expect(raw.tables[0]?.defaultValues).toEqual([{ column: 1, value: bytesOf('0100000078') }]);
    expect(raw.tables[0]?.isEvent).toBe(false);
    expect(raw.schedules).toEqual([
      { sourceName: 'my_schedule', tableName: 'jobs', atColumn: 1, functionName: 'runJob' },
    ]);
    expect(raw.lifecycleReducers).toEqual([{ event: 'init', functionName: 'setUp' }]);
    expect(raw.reducers.map(({ visibility }) => visibility)).toEqual(['clientCallable']);
    expect(raw.procedures.map(({ sourceName }) => sourceName)).toEqual(['ask']);
    expect(raw.views).toEqual([
      {
        sourceName: 'look',
        index: 3,
        isPublic: true,
        isAnonymous: false,
        params: { kind: 'product', elements: [] },
        returnType: { kind: 'array', element: { kind: 'ref', ref: 0 } },
      },
    ]);
    expect(raw.rowLevelSecurity).toEqual(['SELECT 1']);
  });

  it('keeps the name of a table that does not exist but has a default', () => {
    const raw = decodeRawModule(versionNine({ defaults: [['nowhere', 0, '00']] }));
    expect(raw.strayDefaultTables).toEqual(['nowhere']);
    expect(() => validateModule(raw)).toThrow('Table nowhere not found');
  });

  /** A description of version 9 with one of each part. */
  function versionNine({ defaults }: { defaults: [string, number, string][] }): Uint8Array {
    const w = new BinaryWriter();
    w.u8(1);
    list(w, [row as AlgebraicType], (type) => encodeType(w, type));
    list(w, ['jobs'], (name) => {
      w.string(name);
      w.u32(0);
      list(w, [0], (column) => w.u16(column));
      list(w, ['named_index'], (index) => {
        some(w, index);
        w.u8(1);
        w.u8(1);
        list(w, [0], (column) => w.u16(column));
      });
      w.u32(0);
      w.u32(0);
      w.u8(0);
      some(w, 'my_schedule');
      w.string('runJob');
      w.u16(1);
      w.u8(1);
      w.u8(1);
    });
    list(w, ['setUp'], (name) => {
      w.string(name);
      w.u32(0);
      w.u8(0);
      w.u8(0);
    });
    w.u32(0);
    w.u32(defaults.length + 2);
    for (const [table, column, hex] of defaults) {
      w.u8(0);
      w.string(table);
      w.u16(column);
      w.bytes(bytesOf(hex));
    }
    w.u8(1);
    w.string('ask');
    w.u32(0);
    encodeType(w, u32);
    w.u8(2);
    w.string('look');
    w.u32(3);
    w.bool(true);
    w.bool(false);
    w.u32(0);
    encodeType(w, { kind: 'array', element: { kind: 'ref', ref: 0 } });
    list(w, ['SELECT 1'], (sql) => w.string(sql));
    return w.finish();
  }

  function list<Item>(w: BinaryWriter, items: readonly Item[], write: (item: Item) => void) {
    w.u32(items.length);
    items.forEach(write);
  }

  function some(w: BinaryWriter, value: string) {
    w.u8(0);
    w.string(value);
  }
});
