import { afterAll, beforeAll, expect, it } from 'vitest';
import { registryIdentity } from '../../src/host/registry/registry.ts';
import { program } from '../service/built-program.ts';
import { type Asked, ask, type Caller, newCaller } from '../support/asking.ts';
import { type ClusterService, ClusterServices, until } from '../support/cluster-services.ts';

let services: ClusterServices;
/** Leads the registry. */
let a: ClusterService;
let b: ClusterService;
let ada: Caller;
let eve: Caller;

beforeAll(async () => {
  services = new ClusterServices();
  [a, b] = [await services.start('a'), await services.start('b')];
  await until(() => a.part.placeOf(registryIdentity).kind === 'here');
  await until(() => b.part.placeOf(registryIdentity).kind === 'elsewhere');
  [ada, eve] = [await newCaller(a), await newCaller(b)];
});
afterAll(() => services.close());

const ofJson = { 'content-type': 'application/json' };

async function publish(at: ClusterService, name: string): Promise<void> {
  const body = await program('porter');
  const answer = await ask(at, 'PUT', `/v1/database/${name}?host_type=Js`, { as: ada, body });
  expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('"Success"')]);
}

function checkIn(at: ClusterService, name: string, more: Asked = {}) {
  const where = `/v1/database/${name}/call/check_in`;
  return ask(at, 'POST', where, { as: ada, body: '["x"]', headers: ofJson, ...more });
}

it('[replication 7.2, 8.1, 9.10] a database that was created at any host is there at every host at once', async () => {
  for (const [index, host] of [a, b, a, b].entries()) {
    const name = `made-${index}`;
    await publish(host, name);
    for (const other of [b, a]) expect((await checkIn(other, name)).status).toBe(200);
    const unknown = await checkIn(host, `${name}-not`);
    expect([unknown.status, unknown.text]).toEqual([404, `\`${name}-not\` not found`]);
  }
  for (const host of [a, b]) {
    const owned = await ask(host, 'GET', `/v1/identity/${ada.identity}/databases`, { as: ada });
    expect(JSON.parse(owned.text).identities).toHaveLength(4);
  }
});

it('[replication 7.3] what is granted or revoked at one host counts at the other with the next request', async () => {
  await publish(a, 'led-by-a');
  await publish(b, 'led-by-b');
  for (const name of ['led-by-a', 'led-by-b']) {
    const logs = (at: ClusterService) => ask(at, 'GET', `/v1/database/${name}/logs`, { as: eve });
    for (const [one, other] of [
      [a, b],
      [b, a],
    ] as const) {
      const grant = `/v1/database/${name}/grants/${eve.identity}`;
      const body = JSON.stringify({ role: 'developer' });
      const granted = await ask(one, 'PUT', grant, { as: ada, body, headers: ofJson });
      expect([granted.status, granted.text]).toEqual([200, expect.anything()]);
      expect((await logs(other)).status).toBe(200);
      expect((await ask(other, 'DELETE', grant, { as: ada })).status).toBe(200);
      expect((await logs(one)).status).toBe(403);
    }
  }
});

it('[replication 7.3] a token that was revoked at one host is refused at the other', async () => {
  await publish(b, 'with-tokens');
  const where = '/v1/database/with-tokens/tokens';
  const body = JSON.stringify({ functions: ['check_in'] });
  for (const [one, other] of [
    [a, b],
    [b, a],
  ] as const) {
    const made = await ask(one, 'POST', where, { as: ada, body, headers: ofJson });
    const agent = JSON.parse(made.text);
    expect((await checkIn(other, 'with-tokens', { as: agent })).status).toBe(200);
    expect((await ask(one, 'DELETE', `${where}/${agent.id}`, { as: ada })).status).toBe(200);
    expect((await checkIn(other, 'with-tokens', { as: agent })).status).toBe(401);
  }
});

it('[replication 7.2, 8.1] databases are renamed, locked and deleted at any host', async () => {
  await publish(a, 'to-go');
  const named = await ask(b, 'POST', '/v1/database/to-go/names', { as: ada, body: 'gone-soon' });
  expect([named.status, named.text]).toEqual([200, expect.stringContaining('Success')]);
  expect((await checkIn(a, 'gone-soon')).status).toBe(200);
  expect((await ask(b, 'POST', '/v1/database/to-go/lock', { as: ada })).status).toBe(200);
  expect((await ask(a, 'DELETE', '/v1/database/to-go', { as: ada })).status).toBe(403);
  expect((await ask(b, 'POST', '/v1/database/to-go/unlock', { as: ada })).status).toBe(200);
  expect((await ask(b, 'DELETE', '/v1/database/to-go', { as: ada })).status).toBe(200);
  for (const host of [a, b]) expect((await checkIn(host, 'to-go')).status).toBe(404);
});
