import { describe, expect, it } from 'vitest';
import {
  cronModule,
  moduleOf,
  personModule,
  reducer,
  ref,
  u64,
} from '../../test/schema/module-builder.ts';
import { DecodeError } from '../values/binary-reader.ts';
import { scheduleAtType } from '../values/special-types.ts';
import { decodeRawModule } from './decode-raw-module.ts';
import { encodeRawModuleV10 } from './encode-raw-module.ts';
import type { RawModule } from './raw-module.ts';

/** What a peer's host reads of a module: its sections. */
const sectionsOf = (raw: RawModule) => {
  const lists = { schedulePolicies: [], scheduleDeliveries: [], crons: [] };
  return encodeRawModuleV10({
    ...raw,
    ...lists,
    handlerAuth: [],
    env: [],
    derivedIndexes: [],
    vectors: [],
    paramDefaults: [],
  });
};

const bytesOf = (hex: string) => Uint8Array.from(Buffer.from(hex.replace(/\s/g, ''), 'hex'));

/** The module `cronModule` with other bytes behind its sections. */
const decode = (hex: string) => {
  return decodeRawModule(Uint8Array.of(...sectionsOf(cronModule), ...bytesOf(hex)));
};

const crons = `02 32000000 01000000
  07000000 6e696768746c79 09000000 302033202a202a202a 00 03000000 555443 01
  00 03000000 40420f0000000000`;

describe('the extension of a description', () => {
  it('[living 1.10, 1.11, module-def 3] follows the sections, which stay as they are', () => {
    const bytes = encodeRawModuleV10(cronModule);
    const sections = sectionsOf(cronModule);
    expect(bytes.subarray(0, sections.length)).toEqual(sections);
    expect(Buffer.from(bytes.subarray(sections.length)).toString('hex')).toBe(
      `
      52444258 01
      02 3c000000 01000000
      07000000 6e696768746c79  09000000 302033202a202a202a
      00 0d000000 4575726f70652f4265726c696e
      01 00 03000000 40420f0000000000
      `.replace(/\s/g, ''),
    );
    expect(decodeRawModule(bytes)).toEqual(cronModule);
  });

  it('[living 4.2, module-def 3] has the names of the configuration', () => {
    const env = [
      { name: 'KEY', type: { kind: 'string' }, isSecret: true, isOptional: false },
      { name: 'PORT', type: { kind: 'u16' }, isSecret: false, isOptional: true },
    ] as const;
    const raw = { ...personModule, env };
    const bytes = encodeRawModuleV10(raw);
    const extension = `52444258 01  04 19000000 02000000
      03000000 4b4559 04 01 00
      04000000 504f5254 09 00 01`;
    expect(bytes.subarray(sectionsOf(raw).length)).toEqual(bytesOf(extension));
    expect(decodeRawModule(bytes)).toEqual(raw);
  });

  it('[ease 3.3, module-def 3] has the derived indexes', () => {
    const raw: RawModule = {
      ...personModule,
      derivedIndexes: [
        {
          tableName: 'a',
          column: 2,
          kind: 'inverted',
          options: [{ name: 'b', value: 'cd' }],
        },
      ],
    };
    const bytes = encodeRawModuleV10(raw);
    const extension = `52444258 01  06 1b000000 01000000
      01000000 61 0200 00 01000000 01000000 62 02000000 6364`;
    expect(bytes.subarray(sectionsOf(raw).length)).toEqual(bytesOf(extension));
    expect(decodeRawModule(bytes)).toEqual(raw);
  });

  it('[module-def 3] has the policies of scheduled functions', () => {
    const jobs = { name: 'jobs', columns: { id: u64, at: scheduleAtType }, primaryKey: 'id' };
    const raw = moduleOf([jobs], {
      reducers: [reducer('run', { job: ref(0) })],
      schedules: [{ sourceName: undefined, tableName: 'jobs', atColumn: 1, functionName: 'run' }],
      schedulePolicies: [{ functionName: 'run', policy: { catchUp: 'all', retry: undefined } }],
    });
    const bytes = encodeRawModuleV10(raw);
    const extension = '52444258 01  01 0d000000 01000000 03000000 72756e 02 01';
    expect(bytes.subarray(sectionsOf(raw).length)).toEqual(bytesOf(extension));
    expect(decodeRawModule(bytes)).toEqual(raw);
  });

  it('[living 3.2, module-def 3] has how handlers look at tokens', () => {
    const raw = moduleOf([], {
      httpHandlers: ['a', 'b'],
      httpRoutes: [{ handler: 'a', method: 'GET', path: '/a/:id' }],
      handlerAuth: [
        { handler: 'a', auth: 'optional' },
        { handler: 'b', auth: 'required' },
      ],
    });
    const bytes = encodeRawModuleV10(raw);
    const extension = '52444258 01  03 10000000 02000000 01000000 61 00 01000000 62 01';
    expect(bytes.subarray(sectionsOf(raw).length)).toEqual(bytesOf(extension));
    expect(decodeRawModule(bytes)).toEqual(raw);
    expect(() => decode('52444258 01  03 0a000000 01000000 01000000 61 02')).toThrow(DecodeError);
  });

  it('[living 1.12, module-def 3] has the deliveries of scheduled procedures', () => {
    const raw: RawModule = {
      ...personModule,
      scheduleDeliveries: [{ functionName: 'run', delivery: 'atLeastOnce' }],
    };
    const bytes = encodeRawModuleV10(raw);
    const extension = '52444258 01  05 0c000000 01000000 03000000 72756e 01';
    expect(bytes.subarray(sectionsOf(raw).length)).toEqual(bytesOf(extension));
    expect(decodeRawModule(bytes)).toEqual(raw);
  });

  it('is absent where a module needs none', () => {
    expect(encodeRawModuleV10(personModule)).toEqual(sectionsOf(personModule));
  });

  it('[module-def 2, 3] is ignored if it begins otherwise; unknown blocks are skipped', () => {
    const expected = { ...cronModule, crons: [] };
    for (const other of ['52', '524442', '52444259 01 02', 'ff52444258 09']) {
      expect(decode(other)).toEqual(expected);
    }
    expect(decode('52444258 01')).toEqual(expected);
    expect(decode('52444258 01 63 03000000 010203')).toEqual(expected);
    const [cron] = decode(`52444258 01 63 00000000 ${crons}`).crons;
    expect(cron).toEqual({
      functionName: 'nightly',
      expression: '0 3 * * *',
      timeZone: 'UTC',
      policy: { catchUp: 'once', retry: { attempts: 3, backoffMicros: 1_000_000n } },
    });
  });

  it.each([
    ['no version', '52444258', 'data too short'],
    ['another version', '52444258 02', "the module's extension has version 2, which is not"],
    ['a block that breaks off', '52444258 01 09 04000000 010203', 'data too short'],
    ['a cron that breaks off', '52444258 01 02 06000000 01000000 0700', 'data too short'],
    ['a block that is too long', '52444258 01 02 05000000 00000000 07', 'block 2 of the module'],
    ['a block twice', `52444258 01 ${crons} ${crons}`, "block 2 of the module's extension occurs"],
    [
      'a policy that there is not',
      '52444258 01 01 0d000000 01000000 03000000 72756e 03 01',
      'unknown tag 0x3 for sum type CatchUp',
    ],
    [
      'a delivery that there is not',
      '52444258 01 05 0c000000 01000000 03000000 72756e 02',
      'unknown tag 0x2 for sum type Delivery',
    ],
  ])('[module-def 2, 3] is refused with %s', (_, hex, message) => {
    expect(() => decode(hex)).toThrow(DecodeError);
    expect(() => decode(hex)).toThrow(message);
  });

  it('is not read in version 9', () => {
    const nine = `01 ${'00000000'.repeat(6)} 52444258 09`;
    expect(decodeRawModule(bytesOf(nine)).crons).toEqual([]);
  });
});
