import { expect, it } from 'vitest';
import type { RegistryChange } from '../host/replication/registry-change.ts';
import { answerOfRegistry, type RegistryControl } from './registry-link.ts';

function registry(changes: RegistryChange[]): RegistryControl {
  return {
    registryOffset: 4,
    untilRegistry: async (offset) => offset <= 4,
    changeRegistry: async (change) => {
      changes.push(change);
      return { kind: 'done', offset: 5 };
    },
  };
}

it('[replication 7.2, 7.3] a host answers what others ask of its registry', async () => {
  const changes: RegistryChange[] = [];
  const control = registry(changes);
  const asked = (path: string, body?: string) => answerOfRegistry(control, path, body);
  expect(await asked('registry/4')).toEqual({ has: true });
  expect(await asked('registry/5')).toEqual({ has: false });
  const change = { reducer: 'put_grant', args: Buffer.from('abc').toString('base64'), after: 3 };
  expect(await asked('registry/change', JSON.stringify(change))).toEqual({
    kind: 'done',
    offset: 5,
  });
  expect(changes).toEqual([{ ...change, args: new Uint8Array(Buffer.from('abc')) }]);
  const broken = [
    { ...change, reducer: 1 },
    { ...change, after: '3' },
    { ...change, args: null },
  ];
  for (const one of broken) {
    expect(await asked('registry/change', JSON.stringify(one))).toEqual({ kind: 'notLeader' });
  }
  expect(await answerOfRegistry(undefined, 'registry/4', undefined)).toEqual({ has: false });
  const nothing = ['registry', 'registry/', 'registry/-1', 'registry/change', 'registry/1/2', 'x'];
  expect(nothing.map((path) => asked(path))).toEqual(nothing.map(() => undefined));
  expect(changes).toHaveLength(1);
});
