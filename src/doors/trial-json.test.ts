import { expect, it } from 'vitest';
import { moduleOf, text, u32, u64 } from '../../test/schema/module-builder.ts';
import { validateModule } from '../schema/validate.ts';
import { BinaryWriter } from '../values/binary-writer.ts';
import { trialJson } from './trial-json.ts';

const old = validateModule(moduleOf([{ name: 'user', columns: { id: u64, name: text } }]));
const next = validateModule(moduleOf([{ name: 'person', columns: { name: text, age: u32 } }]));

function user(id: bigint, name: string): Uint8Array {
  const writer = new BinaryWriter();
  writer.u64(id);
  writer.string(name);
  return writer.finish();
}

function person(name: string, age: number): Uint8Array {
  const writer = new BinaryWriter();
  writer.string(name);
  writer.u32(age);
  return writer.finish();
}

it('[living 5.10] a trial is JSON with rows before and after by their own definitions', () => {
  const long = 'x'.repeat(20_000);
  const json = trialJson({
    old,
    sampled: next,
    report: {
      tables: [
        {
          before: 'user',
          after: 'person',
          rowsBefore: 2,
          rowsAfter: 2,
          samples: [
            {
              before: user(2n ** 63n, 'Ada'),
              after: [{ table: 'person', row: person('Ada', 36) }],
            },
            { before: user(1n, long), after: [{ table: 'person', row: person(long, 1) }] },
          ],
        },
      ],
      conflicts: [],
      sampledTo: 0,
      assertions: [{ migration: '0001-x', text: 'fine', holds: true }],
      failure: undefined,
      clients: 3,
      memoryBytes: 4096,
      millis: 1.5,
      isOnline: false,
      back: undefined,
    },
    back: {
      ...{ from: next, sampled: old, reason: undefined, losses: [] },
      report: {
        ...{ isTried: true, migrations: ['0001-x'], conflicts: [], assertions: [], sampledTo: -1 },
        ...{ failure: undefined, changed: undefined, millis: 2 },
        tables: [
          {
            ...{ before: 'person', after: 'user', rowsBefore: 2, rowsAfter: 2 },
            samples: [
              { before: person('Ada', 36), after: [{ table: 'user', row: user(1n, 'Ada') }] },
            ],
          },
        ],
      },
    },
  });
  expect(JSON.parse(json)).toEqual({
    tables: [
      {
        before: 'user',
        after: 'person',
        rows_before: 2,
        rows_after: 2,
        samples: [
          {
            before: { id: '9223372036854775808', name: 'Ada' },
            after: [{ table: 'person', row: { name: 'Ada', age: 36 } }],
          },
          { before: null, after: [{ table: 'person', row: null }] },
        ],
      },
    ],
    conflicts: [],
    assertions: [{ migration: '0001-x', text: 'fine', holds: true }],
    failure: null,
    clients_disconnected: 3,
    memory_bytes: 4096,
    seconds: 0.002,
    online: false,
    back: {
      ...{ possible: true, reason: null, tried: true, migrations: ['0001-x'] },
      tables: [
        {
          ...{ before: 'person', after: 'user', rows_before: 2, rows_after: 2 },
          samples: [
            {
              before: { name: 'Ada', age: 36 },
              after: [{ table: 'user', row: { id: 1, name: 'Ada' } }],
            },
          ],
        },
      ],
      ...{ conflicts: [], assertions: [], lost: [], changed: null, seconds: 0.002 },
    },
  });
});
