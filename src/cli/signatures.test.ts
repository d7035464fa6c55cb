import { expect, it } from 'vitest';
import { lookUpDefinition } from '../../test/support/procedure-handle.ts';
import { present } from '../assert.ts';
import { schemaJson } from '../schema/schema-json.ts';
import { optionType, sum, timestampType, unitType } from '../values/special-types.ts';
import type { AlgebraicType } from '../values/type.ts';
import type { Api } from './api.ts';
import { callArguments } from './call-arguments.ts';
import { readSignatures, signatureText, usageText, withDefaults } from './signatures.ts';

const definition = lookUpDefinition();
const nested = {
  ...lookUpDefinition(['other']),
  submodules: [{ namespace: 'lib', module: definition }],
};

function apiOf(shown: typeof definition): Api {
  const text = (_: string, path: string) => {
    return Promise.resolve(schemaJson(shown, path.endsWith('version=10') ? 10 : 9));
  };
  return { text } as unknown as Api;
}

it('[cli 3] a call knows the parameters of reducers and procedures', async () => {
  const signatures = await readSignatures(apiOf(definition), 'db', 'look_up');
  expect(signatures.map((each) => [each.kind, signatureText(each)])).toEqual([
    ['reducer', 'add(id: U32)'],
    ['procedure', 'look_up(word: String, count: U32)'],
    ['procedure', 'hidden_look(word: String, count: U32)'],
  ]);
  const lookUp = present(
    signatures.find(({ name }) => name === 'look_up'),
    'look_up',
  );
  expect(callArguments(lookUp, ['green tea', '3'])).toBe('["green tea",3]');
});

it('[cli 3] a call knows those of submodules', async () => {
  const signatures = await readSignatures(apiOf(nested), 'db', 'lib.look_up');
  expect(signatures.map((each) => `${each.kind} ${each.name}`)).toEqual([
    'reducer add',
    'reducer other',
    'reducer lib.add',
    'procedure look_up',
    'procedure hidden_look',
    'procedure lib.look_up',
    'procedure lib.hidden_look',
  ]);
});

it('[ease 1.6] a signature has the words of `describe`, and a usage that of the command', () => {
  const string: AlgebraicType = { kind: 'string' };
  const params = [
    { name: 'room', type: string },
    { name: 'starts_at', type: timestampType },
    { name: 'state', type: sum(['free', unitType], ['held', string]) },
    { name: 'labels', type: { kind: 'array', element: string } },
    { name: 'note', type: optionType(string) },
  ] as const;
  const signature = { kind: 'reducer', name: 'book', params, typespace: { types: [] } } as const;
  expect(signatureText(signature)).toBe(
    'book(room: String, starts_at: Timestamp, state: free | held(String), labels: String[], ' +
      'note: String?)',
  );
  expect(usageText(signature, 'inn')).toBe(
    'reducerdb call inn book <room: String> <starts_at: Timestamp> <state: free | held(String)> ' +
      '<labels: String[]> [note: String?]',
  );
});

it('[ease 2.3] a usage shows the parameters with a default as what can be left out', async () => {
  const two = Uint8Array.of(2, 0, 0, 0);
  const shown: typeof definition = {
    ...definition,
    procedures: definition.procedures.map((one) => {
      return one.name === 'look_up' ? { ...one, paramDefaults: [undefined, two] } : one;
    }),
  };
  const signatures = await readSignatures(apiOf(shown), 'db', 'look_up');
  const given = present(
    signatures.find(({ name }) => name === 'look_up'),
    'look_up',
  );
  const signature = await withDefaults(apiOf(shown), 'db', given);
  expect(signatureText(signature)).toBe('look_up(word: String, count?: U32)');
  expect(usageText(signature, 'db')).toBe('reducerdb call db look_up <word: String> [count?: U32]');
});
