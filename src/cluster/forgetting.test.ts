import { afterEach, beforeEach, expect, it } from 'vitest';
import type { DatabaseRole } from '../host/replication/database-role.ts';
import { limits } from '../limits.ts';
import type { SeenHost } from '../shared-log/directory.ts';
import { bootId, hostId } from '../shared-log/host-ids.ts';
import { Forgetting } from './forgetting.ts';

const day = limits.hostForgottenMillis;

function seen(id: bigint, name: string, ageMillis: number): SeenHost {
  return {
    ...{ host: hostId(id), boot: bootId(id), name, address: `${name}:3001`, clientAddress: '' },
    ...{ state: 'up', version: '', formats: [1, 1], memoryBytes: 1, zone: '', ageMillis },
  };
}

let hosts: readonly SeenHost[];
let roles: DatabaseRole[];
let around: { leads: boolean; isReached: boolean };
let forgotten: bigint[];
let lines: string[];
let forgetting: Forgetting;

beforeEach(() => {
  hosts = [seen(1n, 'me', 2 * day), seen(2n, 'late', day - 1), seen(3n, 'lost', day)];
  roles = [{ kind: 'leader', term: 1 }];
  around = { leads: true, isReached: true };
  forgotten = [];
  lines = [];
  forgetting = new Forgetting({
    me: hostId(1n),
    hosts: () => hosts,
    isEngineReached: () => around.isReached,
    leadsRegistry: () => around.leads,
    roles: () => roles,
    forget: async (host) => void forgotten.push(host),
    report: ({ message }) => void lines.push(message),
  });
});
afterEach(() => forgetting.close());

it('[replication 9.6] the leader of the registry forgets who was silent for a day', async () => {
  await forgetting.look();
  expect(forgotten).toEqual([3n]);
  expect(lines).toEqual(['host lost was silent for 24 h and is taken off the list']);
});

it('[replication 9.6] nobody else does, nor a host that does not reach the engine', async () => {
  around.leads = false;
  await forgetting.look();
  around = { leads: true, isReached: false };
  await forgetting.look();
  expect(forgotten).toEqual([]);
});

it('[replication 9.6] nobody is forgotten who may have what the engine has lost', async () => {
  roles.push({ kind: 'broken', reason: 'log.diverged: it lacks entries' });
  await forgetting.look();
  expect(forgotten).toEqual([]);
});
