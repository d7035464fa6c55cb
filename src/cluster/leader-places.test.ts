import { expect, it } from 'vitest';
import type { DatabaseRole } from '../host/replication/database-role.ts';
import type { SeenHost } from '../shared-log/directory.ts';
import { bootId, hostId } from '../shared-log/host-ids.ts';
import { databaseIdentity } from '../values/identity-roles.ts';
import { LeaderPlaces } from './leader-places.ts';

const other: SeenHost = {
  ...{ host: hostId(2n), boot: bootId(2n), name: 'b', address: 'b:1', clientAddress: '' },
  ...{ state: 'up', version: '0.1.0', formats: [1, 1], zone: '', memoryBytes: 1, ageMillis: 0 },
};
const opening: DatabaseRole = { kind: 'opening' };
const broken: DatabaseRole = { kind: 'broken', reason: 'its disk' };
const leader: DatabaseRole = { kind: 'leader', term: 1 };

it.each([
  ['has no copy, and is alone', undefined, [], [], [false, 'unknown']],
  ['opens its copy, and is alone', opening, [], [], [false, 'unknown']],
  [
    'opens its copy, and has not heard of others for a while',
    opening,
    [],
    [other],
    [true, 'unknown'],
  ],
  ['has no copy, and has not heard of others', undefined, [], [other], [true, 'unknown']],
  ['has a broken copy, and has not heard of others', broken, [], [other], [true, 'unknown']],
  ['opens its copy beside others', opening, [other], [other], [true, 'elsewhere']],
  ['leads, and has not heard of others', leader, [], [other], [false, 'unknown']],
] as const)('[replication 8.9] a host that %s', (_, role, others, mayLive, expected) => {
  const places = new LeaderPlaces({
    roleOf: () => role,
    lastLeadOf: () => undefined,
    isGone: () => false,
    others: () => others,
    mayLive: () => mayLive,
    hintOf: () => undefined,
  });
  const database = databaseIdentity(7n);
  const way = role === leader ? 'unknown' : places.wayTo(database).kind;
  expect([places.isElsewhere(database), way]).toEqual(expected);
});
