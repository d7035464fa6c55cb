import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Request } from '../server/http-messages.ts';
import { openTestDatabase, type TestDatabase } from './test-database.ts';

const porter = fileURLToPath(new URL('../../test/fixtures/modules/porter', import.meta.url));
let db: TestDatabase;

beforeAll(async () => {
  db = await openTestDatabase({ module: porter });
});
afterAll(() => db.close());

it('[living 3.1, 3.3] sends requests of a test to the handlers of a module', async () => {
  const response = await db.request('/board', { method: 'post', body: 'Ada' });
  expect([response.status, response.headers.get('location')]).toEqual([201, '/guests/Ada']);
  expect((await db.request('/board')).text()).toBe('Ada');
  expect((await db.request('/guests/a%2Fb')).json()).toEqual({ id: 'a/b' });
  expect((await db.request('/guests/é')).json()).toEqual({ id: 'é' });
  const headers = { 'x-a': '1' };
  const echoed = (await db.request(new Request('/echo?b=c', { method: 'PUT', headers }))).json();
  expect(echoed).toMatchObject({
    method: 'PUT',
    url: 'http://localhost/v1/database/test/route/echo?b=c',
    headers: [['x-a', '1']],
  });
});

it('[living 3.2] of a caller, or of nobody', async () => {
  const ada = db.identity('ada');
  expect((await db.request('/me', { as: ada })).json()).toMatchObject({
    sender: ada.toHexString(),
    inside: ada.toHexString(),
  });
  const refused = await db.request('/me');
  expect([refused.status, refused.text()]).toEqual([401, 'Authorization required']);
  expect((await db.request('/perhaps')).json()).toEqual({ sender: null, hasJwt: false });
});

it('[abi 9.3] gives failures and headers as a client would get them', async () => {
  const failed = await db.request('/fails', { method: 'POST' });
  expect([failed.status, failed.text()]).toEqual([500, 'Uncaught TypeError: a bug']);
  const none = await db.request('/nowhere');
  expect([none.status, none.text()]).toEqual([
    404,
    'Database has not registered a handler for this route',
  ]);
  expect((await db.request('/%ff')).status).toBe(400);
  const cookie = await db.request('/answer?200|1|set-cookie=a|x=y');
  expect([...cookie.headers]).toEqual([['x', 'y']]);
});
