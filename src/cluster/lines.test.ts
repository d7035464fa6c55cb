import { expect, it } from 'vitest';
import { bootId } from '../shared-log/host-ids.ts';
import { connectionNumber } from '../values/connection-number.ts';
import { identityToHex } from '../values/identity.ts';
import { databaseIdentity } from '../values/identity-roles.ts';
import { Lines, type LinesOptions } from './lines.ts';
import { UnknownPathError } from './link-client.ts';

const database = databaseIdentity(5n);
const [here, there] = [bootId(1n), bootId(2n)];

function linesWith(client: Partial<LinesOptions['client']>): Lines {
  const hosts = [{ name: 'b', address: 'b.test:3001', boot: there }];
  return new Lines({
    client: {
      line: () => new Promise(() => undefined),
      askHost: async () => undefined,
      ...client,
    },
    me: { boot: here, name: 'a' },
    now: () => performance.now(),
    membership: { hosts, hasEnded: () => false } as unknown as LinesOptions['membership'],
    silentMillis: () => 0,
    leaseMillis: 1_000,
    leaderOf: () => ({ boot: there, address: 'b.test:3001' }),
    registryOffset: () => 0,
    untilKnown: () => undefined,
  });
}

it('[replication 12.6] knows of a host of an earlier version that takes no clients', async () => {
  const old = linesWith({
    line: async () => {
      throw new UnknownPathError('404');
    },
  });
  expect(old.leaderLine.reaches(database)).toBe(true);
  old.changed(database);
  await new Promise((resolve) => setImmediate(resolve));
  expect(old.leaderLine.reaches(database)).toBe(false);
  old.close();
});

it('[replication 12.6] asks other hosts what they know of their clients', async () => {
  const traffic = { queuedBytes: 7, sentBytesPerSecond: 8, queries: 9 };
  const other = linesWith({});
  other.attach(
    { admit: () => expect.fail('nobody arrives') },
    {
      of: (one) => (one === database ? [{ id: connectionNumber(3n), ...traffic }] : []),
    },
  );
  const path = `clients/${identityToHex(database)}`;
  const answer = JSON.parse(JSON.stringify(other.answer(path))) as unknown[];
  expect(other.answer('clients/nonsense')).toBeUndefined();
  expect(other.answer('places')).toBeUndefined();
  const asked: string[] = [];
  const lines = linesWith({
    askHost: async (address, question) => {
      asked.push(`${address} ${question}`);
      return [...answer, 'nonsense', ['x', 1, 2, 3], [...(answer[0] as unknown[]).slice(0, 2)]];
    },
  });
  expect(await lines.ask(database, ['b', 'nobody'])).toEqual(
    new Map([[connectionNumber(3n), traffic]]),
  );
  expect(asked).toEqual([`b.test:3001 ${path}`]);
  const silent = linesWith({
    askHost: async () => {
      throw new Error('silent');
    },
  });
  expect((await silent.ask(database, ['b'])).size).toBe(0);
  for (const one of [other, lines, silent]) one.close();
});
