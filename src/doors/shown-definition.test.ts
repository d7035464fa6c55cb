import { expect, it } from 'vitest';
import { ada } from '../../test/support/agent-host.ts';
import { lookUpDefinition } from '../../test/support/procedure-handle.ts';
import type { Rights } from '../database/outcome.ts';
import type { HostCaller } from '../host/registry/host-caller.ts';
import { ownerRights, strangerRights } from '../sql/rights.ts';
import { shownDefinition, usableDefinition } from './shown-definition.ts';

const definition = lookUpDefinition();
const nested = {
  ...lookUpDefinition(['other']),
  procedures: [],
  submodules: [{ namespace: 'lib', module: definition }],
};

const namesIn = ({ procedures }: typeof definition) => procedures.map(({ name }) => name);

it.each<[string, Partial<Rights>, string[]]>([
  ['a stranger', {}, ['look_up']],
  ['who may call private reducers', { callsPrivateReducers: true }, ['look_up', 'hidden_look']],
  ['whose token lists it', { reducers: new Set(['look_up']) }, ['look_up']],
  ['whose token lists others', { reducers: new Set(['add']) }, []],
  ['whose token lists a private one', { reducers: new Set(['hidden_look']) }, []],
])('[living 2.9] the procedures that exist for %s', (_, rights, expected) => {
  const usable = usableDefinition(definition, { ...strangerRights, ...rights });
  expect(namesIn(usable)).toEqual(expected);
  // Their types are shown with them alone.
  expect(usable.types.some(({ name }) => name === 'Answer')).toBe(expected.length > 0);
});

it('[living 2.9] a token lists a procedure of a submodule by its full name', () => {
  const listing = (...names: string[]) => {
    const rights = { ...strangerRights, reducers: new Set(names) };
    return usableDefinition(nested, rights).submodules.map(({ module }) => namesIn(module));
  };
  expect(listing('lib.look_up')).toEqual([['look_up']]);
  // The submodule has nothing else for them.
  expect(listing('look_up')).toEqual([]);
});

it('[sql 10.2] views with parameters are declared, and not among what can be read', () => {
  const columns = { name: 'n', sourceName: 'n', type: { kind: 'u64' } } as const;
  const view = {
    ...{ name: 'best', sourceName: 'best', index: 0, isPublic: true, isAnonymous: true },
    returnType: { kind: 'array', element: { kind: 'ref', ref: 0 } },
    ...{ columns: [columns], primaryKey: undefined },
  } as const;
  const params = { kind: 'product', elements: [columns] } as const;
  const more = { ...view, name: 'more', index: 1, params };
  const views = [{ ...view, params: { kind: 'product', elements: [] } as const }, more];
  const usable = usableDefinition({ ...definition, views }, ownerRights);
  expect(usable.views.map(({ name }) => name)).toEqual(['best']);
  const shown = shownDefinition({ ...definition, views }, ada, strangerRights);
  expect(shown.views.map(({ name }) => name)).toEqual(['best', 'more']);
});

it('[http 8] schemas show a whole identity the procedures that it can call', () => {
  const whole: HostCaller = ada;
  const shownTo = (rights: Rights) => namesIn(shownDefinition(definition, whole, rights));
  expect(shownTo(strangerRights)).toEqual(['look_up']);
  expect(shownTo(ownerRights)).toEqual(['look_up', 'hidden_look']);
});
