import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { identityToHex } from '../../src/values/identity.ts';
import type { DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { program } from '../service/built-program.ts';
import { ask, newCaller } from '../support/asking.ts';
import {
  type ClusterService,
  ClusterServices,
  identityOf,
  kill,
  roleAt,
  until,
} from '../support/cluster-services.ts';

let services: ClusterServices;
beforeEach(() => {
  services = new ClusterServices(2);
});
afterEach(() => services.close());

/** The hosts that have a copy, by their own word. */
function holders(hosts: readonly ClusterService[], database: DatabaseIdentity): string[] {
  const has = ({ part }: ClusterService) => part.roles.has(database);
  return hosts.filter(has).map(({ name }) => name);
}

it('[replication 9.1, 9.2, 8.1] two of three hosts have a database; when one dies, the third takes a copy', async () => {
  const hosts: ClusterService[] = [];
  for (const name of ['a', 'b', 'c']) hosts.push(await services.start(name));
  const [a] = hosts;
  if (a === undefined) throw new Error('three hosts');
  for (const { part } of hosts) await until(() => part.membership.living.length === 3);
  const ada = await newCaller(a);
  const body = await program('porter');
  const made = await ask(a, 'PUT', '/v1/database/porter?host_type=Js', { as: ada, body });
  expect(made.text).toContain('"Success"');
  const porter = identityOf(a, 'porter');
  const where = `/v1/database/${identityToHex(porter)}`;
  const checkIn = (at: ClusterService, name: string) => {
    const headers = { 'content-type': 'application/json' };
    const asked = { as: ada, body: JSON.stringify([name]), headers };
    return ask(at, 'POST', `${where}/call/check_in`, asked);
  };
  const hasHint = ({ part }: ClusterService) => part.hintOf(porter)?.wishes.length === 2;
  await until(() => hosts.every(hasHint) && holders(hosts, porter).length === 2);
  const [absent] = hosts.filter(({ part }) => !part.roles.has(porter));
  const [second] = hosts.filter((host) => host !== a && host !== absent);
  if (absent === undefined || second === undefined) throw new Error('two of three have it');
  const folder = path.join(services.folderOf(absent.name), 'databases', identityToHex(porter));
  await until(() => roleAt(second, porter) === 'follower');
  // It passes on what it has no copy of, reads included.
  const through = await checkIn(absent, 'through');
  expect([through.status, through.headers.get('reducerdb-leader')]).toEqual([200, 'http://a.test']);
  const sql = `${where}/sql?consistency=any`;
  const read = await ask(absent, 'POST', sql, { as: ada, body: 'SELECT name FROM guest' });
  expect(JSON.parse(read.text)[0].rows.flat()).toEqual(['through']);
  expect([existsSync(path.join(folder, 'log-1')), roleAt(absent, porter)]).toEqual([
    false,
    'opening',
  ]);
  // Nobody waits a minute here: an operator says that the leader will not come back.
  await kill(a, porter);
  await until(() => roleAt(second, porter) === 'leader');
  expect((await checkIn(absent, 'after')).status).toBe(200);
  await until(
    () =>
      second.part.operations?.forget('a').then(
        () => true,
        () => false,
      ) ?? false,
  );
  await until(() => roleAt(absent, porter) === 'follower');
  await until(() => hosts.slice(1).every((one) => one.part.roles.has(porter)));
  const reading = { as: ada, body: 'SELECT name FROM guest' };
  const seen = async () => {
    const { headers, text } = await ask(absent, 'POST', sql, reading);
    return [headers.get('reducerdb-role'), ...JSON.parse(text)[0].rows.flat().sort()];
  };
  // Until its program is loaded, the leader answers; a copy without a bound may then be behind.
  await expect.poll(seen).toEqual(['follower', 'after', 'through']);
});

it('[replication 9.1, 9.2] an operator says how many copies there are; one that is not wished goes', async () => {
  const hosts: ClusterService[] = [];
  for (const name of ['a', 'b']) hosts.push(await services.start(name));
  const [a, b] = hosts;
  if (a === undefined || b === undefined) throw new Error('two hosts');
  for (const { part } of hosts) await until(() => part.membership.living.length === 2);
  const ada = await newCaller(a);
  await ask(a, 'PUT', '/v1/database/porter?host_type=Js', {
    as: ada,
    body: await program('porter'),
  });
  const porter = identityOf(a, 'porter');
  await until(() => roleAt(b, porter) === 'follower');
  await b.service.host.replication.setCopies({ identity: porter }, 1);
  await until(() => !b.part.roles.has(porter));
  const folder = path.join(services.folderOf('b'), 'databases', identityToHex(porter));
  await until(() => !existsSync(path.join(folder, 'log-1')));
  expect(roleAt(a, porter)).toBe('leader');
  const where = `/v1/database/${identityToHex(porter)}/sql`;
  const read = await ask(b, 'POST', where, { as: ada, body: 'SELECT name FROM guest' });
  expect([read.status, read.headers.get('reducerdb-leader')]).toEqual([200, 'http://a.test']);
  // A move to a host without a copy waits for one, which the operator asks for again.
  await until(async () => {
    const moved = a.part.operations?.move(porter, 'b');
    return (await moved?.then(() => true).catch(() => false)) === true;
  });
  await until(() => roleAt(b, porter) === 'leader');
});
