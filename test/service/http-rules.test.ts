import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openInn } from './inn.ts';
import { askRaw, type RawRequest } from './raw-http.ts';
import type { Person, Running } from './running.ts';

let running: Running;
let owner: Person;
let stranger: Person;
let identity: string;

beforeAll(async () => {
  ({ running, owner, stranger, identity } = await openInn());
});
afterAll(() => running.stop());

const raw = (request: RawRequest) => askRaw(running.service.address.port, request);
const bearer = (person: Person): [string, string] => ['Authorization', `Bearer ${person.token}`];
const open = {
  'access-control-allow-origin': '*',
  vary: 'origin, access-control-request-method, access-control-request-headers',
};

describe('a path', () => {
  it.each([
    ...['/', '/v1', '/v1/', '/v2/ping', '/v1/nothing', '/v1/ping/', '//v1/ping', '/v1//ping'],
    ...['/v1/database/', '/v1/database/inn/', '/v1/database/inn/sql/', '/v1/database//names'],
    ...['/v1/../v1/ping', '/v1/./ping', '/v1/%2e/ping', '/v1/ping%2f', '/V1/ping', '/v1/ping%00'],
    ...['/v1/database/inn/nothing', '/v1/identity/x/y', '/internal/heap', '/v1/database/inn/call'],
  ])('[http 2.1] %s is unknown: an empty 404, without identity headers', async (target) => {
    for (const method of ['GET', 'OPTIONS']) {
      const { status, body, headers } = await raw({ method, target, headers: [bearer(owner)] });
      expect({ status, text: body.toString() }).toEqual({ status: 404, text: '' });
      expect(headers['content-length'] ?? '0').toBe('0');
      expect(headers).not.toHaveProperty('content-type');
      expect(headers).not.toHaveProperty('spacetime-identity');
      expect(headers).not.toHaveProperty('access-control-allow-origin');
    }
  });

  it.each<[path: string, allow: string]>([
    ['/v1/ping', 'GET,HEAD'],
    ['/v1/health', 'GET,HEAD'],
    ['/v1/ready', 'GET,HEAD'],
    ['/v1/metrics', 'GET,HEAD'],
    ['/v1/prometheus/sd_config', 'GET,HEAD'],
    ['/v1/identity', 'POST'],
    ['/v1/identity/public-key', 'GET,HEAD'],
    ['/v1/identity/websocket-token', 'POST'],
    [`/v1/identity/${'0'.repeat(64)}/verify`, 'GET,HEAD'],
    [`/v1/identity/${'0'.repeat(64)}/databases`, 'GET,HEAD'],
    [`/v1/energy/${'0'.repeat(64)}`, 'GET,HEAD,POST,PUT'],
    ['/v1/mcp', 'POST'],
    ['/v1/database', 'POST'],
    ['/v1/database/inn', 'GET,HEAD,PUT,DELETE'],
    ['/v1/database/inn/names', 'GET,HEAD,POST,PUT'],
    ['/v1/database/inn/identity', 'GET,HEAD'],
    ['/v1/database/inn/subscribe', 'GET,HEAD'],
    ['/v1/database/inn/call/add_person', 'POST'],
    ['/v1/database/inn/schema', 'GET,HEAD'],
    ['/v1/database/inn/logs', 'GET,HEAD'],
    ['/v1/database/inn/health', 'GET,HEAD'],
    ['/v1/database/inn/schedules', 'GET,HEAD'],
    ['/v1/database/inn/schedules/run', 'POST'],
    ['/v1/database/inn/schedules/skip', 'POST'],
    ['/v1/database/inn/schedules/pause', 'POST'],
    ['/v1/database/inn/schedules/resume', 'POST'],
    ['/v1/database/inn/sql', 'POST'],
    ['/v1/database/inn/mcp', 'POST'],
    ['/v1/database/inn/pre_publish', 'POST'],
    ['/v1/database/inn/reset', 'PUT'],
    ['/v1/database/inn/lock', 'POST'],
    ['/v1/database/inn/unlock', 'POST'],
    ['/v1/database/inn/unstable/timestamp', 'GET,HEAD'],
  ])('[http 1, 2.1] %s answers other methods than %s with an empty 405', async (target, allow) => {
    for (const method of ['PATCH', 'TRACE', 'PROPFIND']) {
      const { status, body, headers } = await raw({ method, target });
      expect({ status, text: body.toString() }).toEqual({ status: 405, text: '' });
      expect(headers.allow).toBe(allow);
    }
    const preflight = await raw({ method: 'OPTIONS', target });
    expect(preflight.status).toBe(200);
  });

  it('[http 2.1] that names a database has its token checked before its method', async () => {
    const headers: [string, string][] = [['Authorization', 'Bearer x']];
    const status = async (method: string, target: string) =>
      (await raw({ method, target, headers })).status;
    expect(await status('PATCH', '/v1/database/inn')).toBe(401);
    expect(await status('PATCH', '/v1/database/inn/sql')).toBe(401);
    expect(await status('POST', '/v1/ping')).toBe(405);
    expect(await status('GET', '/v1/identity/websocket-token')).toBe(405);
  });

  it('[http 2.1] whose database is unknown is a 404 before it is a 405', async () => {
    const status = async (method: string, path: string) =>
      (await raw({ method, target: `/v1/database/nobody${path}` })).status;
    expect(await status('PATCH', '')).toBe(404);
    const paths = ['names', 'sql', 'logs', 'health', 'schema', 'reset', 'lock', 'call/x'];
    for (const path of paths) {
      expect(await status('PATCH', `/${path}`)).toBe(404);
    }
    for (const path of ['identity', 'mcp', 'subscribe']) {
      expect(await status('PATCH', `/${path}`)).toBe(405);
    }
  });

  it.each([
    ['/v1/database', ''],
    ['/v1/database/inn', ''],
    ['/v1/ping', ''],
    ['/v1/health', ''],
    ['/v1/ready', ''],
    ['/v1/identity/public-key', ''],
    ['/v1/database/inn/schema', '?version=9'],
    ['/v1/database/inn/health', ''],
  ])('[http 2.1] %s%s answers HEAD like GET, without a body', async (path, query) => {
    const target = `${path}${query}`;
    const get = await raw({ target, headers: [bearer(owner)] });
    const head = await raw({ method: 'HEAD', target, headers: [bearer(owner)] });
    expect(head.status).toBe(get.status);
    expect(head.body).toHaveLength(0);
    const { date: _, ...expected } = get.headers;
    expect(head.headers).toMatchObject(expected);
  });

  it('[http 2.1] whose answer goes on answers HEAD at once', async () => {
    const target = '/v1/database/inn/logs?follow=true';
    const { status, headers } = await raw({ method: 'HEAD', target, headers: [bearer(owner)] });
    expect({ status, type: headers['content-type'] }).toEqual({
      status: 200,
      type: 'application/x-ndjson',
    });
  });

  it('[http 2.1] is decoded once, then parsed', async () => {
    const text = async (target: string) => (await raw({ target })).body.toString();
    expect(await text('/v1/database/%69nn/identity')).toBe(identity);
    expect(await text('/v1/database/%2569nn/identity')).toBe(
      'Invalid URL: invalid characters in database name',
    );
    for (const name of ['a%2fb', 'a%20b', '%zz', '%', 'a.b', '..', '%2e%2e', '%00']) {
      expect(await text(`/v1/database/${name}/identity`)).toMatch(/^Invalid URL: invalid /);
    }
  });

  it.each(['%ff', '%c3%28', 'a%80', '%ed%a0%80'])('[http 2.1] %s is no UTF-8', async (name) => {
    const { status, body } = await raw({ target: `/v1/database/${name}/names` });
    expect({ status, text: body.toString() }).toEqual({
      status: 400,
      text: 'Invalid URL: Invalid UTF-8 in `name_or_identity`',
    });
  });

  it('[http 2.1] may be an address in full', async () => {
    const { status, body } = await raw({
      target: 'http://db.example/v1/database/inn/identity?x=1',
    });
    expect({ status, text: body.toString() }).toEqual({ status: 200, text: identity });
  });
});

describe('an answer', () => {
  it.each<[method: string, path: string, status: number]>([
    ['GET', '/v1/database/inn', 200],
    ['GET', '/v1/database/nobody', 404],
    ['GET', '/v1/database/-', 400],
    ['PATCH', '/v1/database/inn', 405],
    ['DELETE', '/v1/database/inn', 403],
    ['GET', '/v1/database/inn/names', 200],
    ['GET', '/v1/database/inn/identity', 200],
    ['GET', '/v1/database/inn/subscribe', 426],
    ['POST', '/v1/database/inn/call/refuse', 400],
    ['GET', '/v1/database/inn/schema', 400],
    ['GET', '/v1/database/inn/logs', 403],
    ['GET', '/v1/database/inn/health', 200],
    ['GET', '/v1/database/inn/health?detail', 403],
    ['POST', '/v1/database/inn/sql', 400],
    ['POST', '/v1/database/inn/mcp', 415],
    ['POST', '/v1/mcp', 415],
    ['POST', '/v1/database/inn/pre_publish', 403],
    ['PUT', '/v1/database/inn/reset', 403],
    ['POST', '/v1/database/inn/lock', 403],
    ['GET', '/v1/database/inn/unstable/timestamp', 200],
    ['POST', '/v1/database?clear=true', 400],
  ])('[http 2.2, interface 5.5] to %s %s (%i) names the caller', async (method, target, status) => {
    const known = await raw({ method, target, headers: [bearer(stranger)] });
    expect(known.status).toBe(status);
    expect(known.headers).toMatchObject({
      'spacetime-identity': stranger.identity,
      'spacetime-identity-token': stranger.token,
    });
    const unknown = await raw({ method, target });
    expect(unknown.headers['spacetime-identity']).toMatch(/^c200[0-9a-f]{60}$/);
    expect(unknown.headers['spacetime-identity-token']).toMatch(/^ey[^.]+\.[^.]+\.[^.]+$/);
  });

  it.each([
    ['GET', '/v1/ping'],
    ['GET', '/v1/health'],
    ['GET', '/v1/ready'],
    ['GET', '/v1/metrics'],
    ['GET', '/v1/prometheus/sd_config'],
    ['POST', '/v1/identity'],
    ['GET', '/v1/identity/public-key'],
    ['POST', '/v1/identity/websocket-token'],
    ['GET', `/v1/identity/${'0'.repeat(64)}/databases`],
    ['GET', `/v1/energy/${'0'.repeat(64)}`],
    ['GET', '/v1/database/inn/route/x'],
    ['OPTIONS', '/v1/database/inn'],
  ])('[http 2.2] to %s %s does not', async (method, target) => {
    const { headers } = await raw({ method, target, headers: [bearer(stranger)] });
    expect(headers).not.toHaveProperty('spacetime-identity');
    expect(headers).not.toHaveProperty('spacetime-identity-token');
  });

  it.each<[status: number, header: [string, string]]>([
    [401, ['Authorization', 'Bearer x']],
    [400, ['Authorization', 'Basic x']],
  ])('[http 2.2] to a bad token (%i) does not', async (status, header) => {
    const answer = await raw({ target: '/v1/database/inn', headers: [header] });
    expect(answer.status).toBe(status);
    expect(answer.headers).not.toHaveProperty('spacetime-identity');
  });

  it.each([
    ['/v1/database/inn', 'application/json'],
    ['/v1/health', 'application/json'],
    ['/v1/ready', 'application/json'],
    ['/v1/database/inn/health', 'application/json'],
    ['/v1/database/nobody', 'text/plain; charset=utf-8'],
    ['/v1/database/inn/identity', 'text/plain; charset=utf-8'],
    ['/v1/database/inn/logs?num_lines=1', 'application/x-ndjson'],
    ['/v1/identity/public-key', 'application/pem-certificate-chain'],
    ['/v1/ping', undefined],
  ])('[http 2.2] to %s has the type %s', async (target, type) => {
    const { headers, body } = await raw({ target, headers: [bearer(owner)] });
    expect(headers['content-type']).toBe(type);
    if (type === undefined) expect(headers['content-length']).toBe('0');
    if (type?.startsWith('text/')) expect(body.toString()).not.toMatch(/\n$/);
    if (type?.endsWith('ndjson')) expect(headers['cache-control']).toBe('no-cache');
  });

  it('[http 2.3] may be read by any page that may ask, with or without an origin', async () => {
    const targets = ['/v1/ping', '/v1/database/nobody', '/v1/database/inn/route', '/v1/metrics'];
    for (const target of [...targets, '/v1/database/inn/subscribe', '/v1/identity/public-key']) {
      for (const origin of [[], [['Origin', 'http://localhost:5173']]] as [string, string][][]) {
        expect((await raw({ target, headers: origin })).headers).toMatchObject(open);
      }
    }
    const refused = await raw({ target: '/v1/ping', headers: [['Authorization', 'Bearer x']] });
    expect(refused.headers).toMatchObject(open);
    const wrongMethod = await raw({ method: 'PATCH', target: '/v1/ping' });
    expect(wrongMethod.headers).toMatchObject(open);
  });

  it('[http 2.3] lets pages see its own headers', async () => {
    const { headers } = await raw({ target: '/v1/ping' });
    for (const name of [
      ...['spacetime-identity', 'spacetime-identity-token', 'spacetime-energy-used'],
      'spacetime-execution-duration-micros',
    ]) {
      expect(headers['access-control-expose-headers']?.split(', ')).toContain(name);
    }
  });

  it.each([
    '/v1/ping',
    '/v1/identity/websocket-token',
    '/v1/database/nobody',
    '/v1/database/inn/route/x',
  ])('[http 2.3] to the preflight of %s comes before tokens and databases', async (target) => {
    const { status, body, headers } = await raw({
      method: 'OPTIONS',
      target,
      headers: [['Authorization', 'Basic x']],
    });
    expect({ status, text: body.toString() }).toEqual({ status: 200, text: '' });
    expect(headers).toMatchObject({
      ...open,
      'access-control-allow-methods': '*',
      'access-control-allow-headers': 'authorization,accept,content-type,idempotency-key',
    });
    expect(headers).not.toHaveProperty('access-control-max-age');
    expect(headers).not.toHaveProperty('access-control-allow-credentials');
  });
});
