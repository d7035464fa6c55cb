import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openInn } from './inn.ts';
import { askRaw, type RawRequest } from './raw-http.ts';
import type { Person, Running } from './running.ts';

let running: Running;
let owner: Person;
let stranger: Person;

beforeAll(async () => {
  ({ running, owner, stranger } = await openInn());
});
afterAll(() => running.stop());

const raw = async (request: RawRequest) => {
  const { status, body } = await askRaw(running.service.address.port, request);
  return { status, text: body.toString() };
};
const json: [string, string] = ['Content-Type', 'application/json'];
const bearer = (token: string): [string, string] => ['Authorization', `Bearer ${token}`];
const malformed = { status: 400, text: 'Authorization is invalid: malformed token' };
const notJson = { status: 415, text: 'Expected request with `Content-Type: application/json`' };

describe('a token', () => {
  it.each([
    ['GET', '/v1/ping'],
    ['POST', '/v1/identity/websocket-token'],
    ['GET', '/v1/database/!!'],
    ['GET', '/v1/database/nobody/schema?version=x'],
    ['GET', '/v1/database/%ff'],
    ['POST', '/v1/mcp'],
    ['PUT', '/v1/database/inn?host_type=x'],
  ])('[http 2.4] is looked at before anything else of %s %s', async (method, target) => {
    const basic: [string, string] = ['Authorization', 'Basic eA=='];
    expect(await raw({ method, target, headers: [basic] })).toEqual(malformed);
    const bad = { status: 401, text: 'Invalid token: InvalidToken' };
    expect(await raw({ method, target, headers: [bearer('x')] })).toEqual(bad);
    expect(await raw({ method, target, headers: [['Authorization', 'bEaReR x']] })).toEqual(bad);
  });

  it.each([
    ['GET', '/v1/ping'],
    ['POST', '/v1/identity/websocket-token'],
    ['GET', '/v1/database/inn'],
    ['GET', '/v1/database/inn/names'],
    ['POST', '/v1/database/inn/sql'],
    ['GET', '/v1/database/inn/subscribe'],
    ['DELETE', '/v1/database/inn'],
  ])('[http 2.4] may be in the query of %s %s; the header wins', async (method, target) => {
    expect(await raw({ method, target: `${target}?token=x` })).toEqual({
      status: 401,
      text: 'Invalid token: InvalidToken',
    });
    const headers = [bearer(stranger.token)];
    for (const query of ['token=x', 'token=', 'token=x&token=y']) {
      const { status } = await raw({ method, target: `${target}?${query}`, headers });
      expect(status).not.toBe(401);
    }
  });

  it.each([
    ['PUT', '/v1/database/inn'],
    ['POST', '/v1/database/inn/pre_publish'],
    ['PUT', '/v1/database/inn/reset'],
  ])('[http 2.4] in the query of %s %s is for the migration', async (method, target) => {
    const { status, text } = await raw({ method, target: `${target}?token=${owner.token}` });
    expect(status).toBe(403);
    expect(text).not.toContain(owner.identity);
  });

  it.each([
    ['POST', '/v1/identity/websocket-token'],
    ['GET', `/v1/identity/${'0'.repeat(64)}/verify`],
    ['POST', `/v1/energy/${'0'.repeat(64)}?amount=1`],
    ['PUT', `/v1/energy/${'0'.repeat(64)}`],
  ])('[http 2.4] is required by %s %s', async (method, target) => {
    const required = { status: 401, text: 'Authorization required' };
    expect(await raw({ method, target })).toEqual(required);
  });
});

describe('a body', () => {
  const large = 'x'.repeat(2 * 1024 * 1024 + 1);
  const call = '/v1/database/inn/call/add_person';
  const sql = '/v1/database/inn/sql';

  it.each([
    ['POST', call],
    ['POST', sql],
    ['POST', '/v1/database/inn/names'],
    ['PUT', '/v1/database/inn/names'],
    ['POST', '/v1/database/inn/mcp'],
    ['POST', '/v1/mcp'],
  ])('[http 2.5] of %s %s is at most 2 MiB', async (method, target) => {
    const headers = [json, bearer(owner.token)];
    const tooLong = {
      status: 413,
      text: 'Failed to buffer the request body: length limit exceeded',
    };
    expect(await raw({ method, target, headers, body: large })).toEqual(tooLong);
    const most = large.slice(1);
    expect((await raw({ method, target, headers, body: most })).status).not.toBe(413);
  });

  it.each([
    ['PUT', '/v1/database/inn?host_type=Js'],
    ['POST', '/v1/database/inn/pre_publish?host_type=Js'],
    ['PUT', '/v1/database/inn/reset?host_type=Js'],
  ])('[http 2.5] of %s %s may be larger', async (method, target) => {
    const body = `// ${large}`;
    expect((await raw({ method, target, body })).status).toBe(403);
  });

  it.each([
    ['PUT', '/v1/database/inn/names', '["x"]'],
    ['POST', '/v1/mcp', '{}'],
    ['POST', '/v1/database/inn/mcp', '{}'],
  ])('[http 2.5] of %s %s says that it is JSON', async (method, target, body) => {
    for (const type of ['text/plain', 'application/x-json', 'json', 'application/json+x', '']) {
      const headers: [string, string][] = [['Content-Type', type]];
      expect(await raw({ method, target, headers, body })).toEqual(notJson);
    }
    expect(await raw({ method, target, body })).toEqual(notJson);
    for (const type of [
      'application/json; charset=utf-8',
      'application/vnd.api+json',
      'Application/JSON',
    ]) {
      const headers: [string, string][] = [['Content-Type', type]];
      expect((await raw({ method, target, headers, body })).status).not.toBe(415);
    }
  });

  it('[http 2.5] of a call is `application/json`, parameters or not', async () => {
    const send = (type?: string) => {
      const headers: [string, string][] = type === undefined ? [] : [['Content-Type', type]];
      return raw({ method: 'POST', target: call, headers, body: '["Cy"]' });
    };
    expect(await send('text/plain')).toEqual(notJson);
    expect(await send('application/vnd.api+json')).toEqual(notJson);
    expect(await send()).toEqual({
      status: 400,
      text: 'Header of type `content-type` was missing',
    });
    for (const type of ['json', '', '/', 'a b/c']) {
      expect(await send(type)).toEqual({ status: 400, text: 'invalid HTTP header (content-type)' });
    }
    for (const type of ['application/json', 'application/json; charset=utf-8']) {
      expect((await send(type)).status).toBe(200);
    }
  });

  it('[http 2.5] of a statement or a name has any type or none', async () => {
    for (const headers of [[], [json], [['Content-Type', 'x']]] as [string, string][][]) {
      const body = 'SELECT id FROM visit';
      expect((await raw({ method: 'POST', target: sql, headers, body })).status).toBe(200);
    }
  });

  it('[http 2.5] that is not UTF-8 is told so', async () => {
    const words = "Request body didn't contain valid UTF-8";
    const body = new Uint8Array([0x5b, 0xff, 0x5d]);
    const send = (path: string) => {
      const headers = { 'content-type': 'application/json' };
      return running.ask('POST', `/v1/database/inn/${path}`, { as: owner, headers, body });
    };
    expect(await send('call/add_person')).toMatchObject({ status: 400, text: words });
    for (const path of ['sql', 'names']) {
      const { status, text } = await send(path);
      expect(status).toBe(400);
      expect(text).toMatch(new RegExp(`^${words}: .`));
    }
  });

  it.each([
    ['POST', call],
    ['PUT', '/v1/database/inn/names'],
  ])('[http 2.5] of %s %s that is no JSON is told why', async (method, target) => {
    const headers = [json, bearer(owner.token)];
    for (const body of ['', '[', '["x"', '[1,]', "['x']", '\ufeff[]', '[] []']) {
      const { status, text } = await raw({ method, target, headers, body });
      expect(status).toBe(400);
      expect(text).toMatch(/^Failed to parse the request body as JSON: ./);
    }
  });

  it('[http 2.5] nests at most 128 deep', async () => {
    const deep = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    const send = (target: string, method: string, body: string) =>
      raw({ method, target, headers: [json, bearer(owner.token)], body });
    for (const [method, target] of [
      ['POST', call],
      ['PUT', '/v1/database/inn/names'],
      ['POST', '/v1/database/inn/tokens'],
    ] as const) {
      const { status, text } = await send(target, method, deep(129));
      expect(status).toBe(400);
      expect(text).toMatch(/^Failed to parse the request body as JSON: recursion limit exceeded/);
      expect((await send(target, method, deep(128))).text).not.toMatch(/recursion/);
    }
    const agent = await send('/v1/mcp', 'POST', deep(1_000_000));
    expect(agent.text).toMatch(/recursion limit exceeded/);
  });

  it('[http 2.5] of another shape than a list of names is a 422', async () => {
    const target = '/v1/database/inn/names';
    for (const body of ['7', '{}', '["x",1]', 'null', '{"__proto__":[]}']) {
      const headers = [json, bearer(owner.token)];
      const { status, text } = await raw({ method: 'PUT', target, headers, body });
      expect(status).toBe(422);
      expect(text).toMatch(/^Failed to deserialize the JSON body into the target type: ./);
    }
  });

  it('[http 2.5] is read to its end before a database is told to be unknown', async () => {
    const body = `["${'x'.repeat(8 * 1024 * 1024)}"]`;
    const target = '/v1/database/nobody/call/add_person';
    const answer = await raw({ method: 'POST', target, headers: [json], body });
    expect(answer).toEqual({ status: 404, text: '`nobody` not found' });
  });
});

describe('the query', () => {
  const bad = (detail: string) => ({
    status: 400,
    text: `Failed to deserialize query string: ${detail}`,
  });
  const boolean = 'provided string was not `true` or `false`';

  it.each([
    ['POST', 'sql?confirmed=yes', bad(boolean)],
    ['POST', 'sql?confirmed=', bad(boolean)],
    ['POST', 'sql?confirmed=True', bad(boolean)],
    ['POST', 'sql?confirmed=true&confirmed=true', bad('duplicate field `confirmed`')],
    ['GET', 'logs?follow=1', bad(boolean)],
    ['GET', 'logs?num_lines=x', bad('invalid digit found in string')],
    ['GET', 'logs?num_lines=-1', bad('invalid digit found in string')],
    ['GET', 'logs?num_lines=4294967296', bad('number too large to fit in target type')],
    ['GET', 'schema', bad('missing field `version`')],
    ['GET', 'schema?version=9&version=9', bad('duplicate field `version`')],
    ['PUT', '?clear=1', bad(boolean)],
    ['PUT', '?host_type=wasm', bad('unknown variant `wasm`, expected `Wasm` or `Js`')],
    [
      'PUT',
      '?policy=compatible',
      bad('unknown variant `compatible`, expected `Compatible` or `BreakClients`'),
    ],
    [
      'POST',
      'pre_publish?style=Plain',
      bad('unknown variant `Plain`, expected `AnsiColor` or `NoColor`'),
    ],
    ['GET', '?token=x&token=y', bad('duplicate field `token`')],
  ])('[http 2.6] %s …/inn/%s is refused', async (method, path, expected) => {
    const target = `/v1/database/inn${path.startsWith('?') ? '' : '/'}${path}`;
    const isUpload = method === 'PUT' || path.startsWith('pre_publish');
    const headers = path.includes('token') ? [] : [bearer(owner.token)];
    expect(await raw({ method, target, headers, ...(isUpload ? { body: 'x' } : {}) })).toEqual(
      expected,
    );
  });

  it('[http 2.6] may have parameters that nobody knows', async () => {
    const { status } = await raw({ target: '/v1/database/inn?x=1&x=2&__proto__=3&%ff' });
    expect(status).toBe(200);
  });
});
