import { describe, expect, it } from 'vitest';
import {
  anyone,
  askedType,
  failed,
  lookUpDefinition,
  ProcedureHandle,
  returned,
} from '../../test/support/procedure-handle.ts';
import { temporaryConnection } from '../host/supervision/temporary-connection.ts';
import { decodeValue } from '../values/decode.ts';
import { type JsonShape, parseJson } from '../values/json.ts';
import { callWithJson } from './json-call.ts';

const neverLeaves = () => new AbortController().signal;

function callOf(
  { handle }: ProcedureHandle,
  name: string,
  args: string,
  shape: JsonShape = 'named',
) {
  const connection = temporaryConnection();
  const call = { caller: anyone, connection, name, args: parseJson(args), confirmed: false };
  return callWithJson(handle, call, { signal: neverLeaves, procedureShape: shape });
}

describe('a call with JSON', () => {
  it('[living 2.9] reaches a procedure with its arguments by position or by name', async () => {
    const fake = new ProcedureHandle();
    for (const args of ['["tea",3]', '{"count":3,"word":"tea"}']) {
      const { kind, outcome } = await callOf(fake, 'look_up', args);
      expect([kind, outcome.kind]).toEqual(['procedure', 'returned']);
    }
    expect(fake.called).toEqual([]);
    for (const { procedure, args, schemaVersion } of fake.procedures) {
      expect([procedure, schemaVersion]).toEqual(['look_up', 1]);
      expect(args instanceof Uint8Array && decodeValue(askedType, args)).toEqual(['tea', 3]);
    }
    expect(fake.procedures).toHaveLength(2);
  });

  it.each([
    ['named', '{"word":"tea","total":1152921504606846976}'],
    ['positional', '["tea",1152921504606846976]'],
  ] as const)('[http 9.2] gives its value: %s', async (shape, expected) => {
    const { json } = await callOf(new ProcedureHandle(), 'look_up', '["tea",3]', shape);
    expect(json).toBe(expected);
  });

  it('[http 9.1] means a reducer, where there is one; and where there is neither', async () => {
    const fake = new ProcedureHandle();
    expect((await callOf(fake, 'add', '[1]')).kind).toBe('reducer');
    expect((await callOf(fake, 'ad', '[1]')).kind).toBe('reducer');
    expect(fake.procedures).toEqual([]);
    expect(fake.called.map(({ args }) => args)).toEqual([
      Uint8Array.of(1, 0, 0, 0),
      { fault: 'no such reducer' },
    ]);
  });

  it('[http 9.3] hands on why arguments do not fit', async () => {
    const fake = new ProcedureHandle();
    await callOf(fake, 'look_up', '["tea"]');
    const fault = 'the parameter `count` is missing: 1 value was given for 2 parameters; ';
    expect(fake.procedures).toMatchObject([{ args: { fault: expect.stringContaining(fault) } }]);
  });

  it('[ease 2.1] means a function by the name that it has in the module, too', async () => {
    const fake = new ProcedureHandle();
    const { reducers, procedures, ...others } = fake.definition;
    fake.definition = {
      ...others,
      reducers: reducers.map((one) => ({ ...one, sourceName: `${one.name}InTheModule` })),
      procedures: procedures.map((one) => ({ ...one, sourceName: `${one.name}InTheModule` })),
    } as typeof fake.definition;
    expect((await callOf(fake, 'look_upInTheModule', '["tea",3]')).kind).toBe('procedure');
    expect((await callOf(fake, 'addInTheModule', '[1]')).kind).toBe('reducer');
    expect(fake.procedures.map(({ procedure }) => procedure)).toEqual(['look_up']);
    expect(fake.called.map(({ reducer }) => reducer)).toEqual(['add']);
  });

  it('[http 9.1] is made again, as what the name means by then', async () => {
    const fake = new ProcedureHandle();
    fake.answer = ({ schemaVersion }) => {
      if (schemaVersion === 3) return returned();
      fake.schemaVersion += 1;
      return failed({ code: 'schema.changed' });
    };
    expect(await callOf(fake, 'look_up', '["tea",3]')).toMatchObject({ kind: 'procedure' });
    expect(fake.procedures.map(({ schemaVersion }) => schemaVersion)).toEqual([1, 2, 3]);

    fake.answer = () => {
      const { procedures: _, ...others } = lookUpDefinition(['look_up_2']);
      const [add, other] = others.reducers;
      const reducers = [add, { ...other, name: 'look_up' }];
      fake.definition = { ...others, reducers, procedures: [] } as typeof fake.definition;
      return failed({ code: 'schema.changed' });
    };
    expect(await callOf(fake, 'look_up', '["tea",3]')).toMatchObject({ kind: 'reducer' });
  });

  it('[http 9.1] is made five times at most', async () => {
    const fake = new ProcedureHandle();
    fake.answer = () => failed({ code: 'schema.changed' });
    const { outcome } = await callOf(fake, 'look_up', '["tea",3]');
    expect(outcome).toMatchObject({ error: { code: 'schema.changed' } });
    expect(fake.procedures).toHaveLength(5);
  });
});
