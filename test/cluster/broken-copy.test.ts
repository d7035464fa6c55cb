import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { identityToHex } from '../../src/values/identity.ts';
import { program } from '../service/built-program.ts';
import { ask, newCaller } from '../support/asking.ts';
import {
  type ClusterService,
  ClusterServices,
  follows,
  identityOf,
  roleAt,
  until,
} from '../support/cluster-services.ts';

const services = new ClusterServices();
afterEach(() => services.close());

it('[replication 8.9, 6.12] a request at a host whose copy is broken goes to the leader; the copy mends', async () => {
  const a = await services.start('a');
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
  const b = await services.start('b');
  await follows(b, a, porter);
  // As long as this file is there, no folder for the log of the next generation can be.
  const { generation } = a.service.host.registered('porter');
  const folder = path.join(services.folderOf('b'), 'databases', identityToHex(porter));
  const stone = path.join(folder, `log-${generation + 1}`);
  writeFileSync(stone, '');
  const reset = await ask(a, 'PUT', '/v1/database/porter?host_type=Js&clear=true', {
    as: ada,
    body,
  });
  expect(reset.text).toContain('"Success"');
  await until(() => b.part.membership.living.length > 1 && roleAt(b, porter) === 'broken');
  const through = await checkIn(b, 'through');
  expect([through.status, through.headers.get('reducerdb-leader')]).toEqual([200, 'http://a.test']);
  rmSync(stone);
  await until(() => roleAt(b, porter) === 'follower');
  expect((await checkIn(b, 'after')).status).toBe(200);
  const rows = await ask(a, 'POST', `${where}/sql`, { as: ada, body: 'SELECT name FROM guest' });
  expect(JSON.parse(rows.text)[0].rows.flat().sort()).toEqual(['after', 'through']);
});
