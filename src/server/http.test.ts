import { describe, expect, it } from 'vitest';
import { Headers, Request, Router, SyncResponse, schema } from './index.ts';
import { routesOf } from './router.ts';

const db = schema({});
const handler = db.httpHandler(() => new SyncResponse('hi'));
const pathsOf = (router: Router) =>
  routesOf(router).map(({ method, path }) => `${method ?? '*'} ${path}`);

describe('a router', () => {
  it('[module-sdk 6.5] never changes: each method returns another', () => {
    const empty = new Router();
    const one = empty.get('/a', handler);
    expect(pathsOf(empty)).toEqual([]);
    expect(pathsOf(one.post('/a', handler).any('', handler))).toEqual(['GET /a', 'POST /a', '* ']);
    expect(pathsOf(one)).toEqual(['GET /a']);
  });

  it('[module-sdk 6.5] nests with one slash, and merges', () => {
    const inner = new Router().get('/x', handler).put('', handler).delete('/', handler);
    expect(pathsOf(new Router().nest('/api/', inner))).toEqual([
      'GET /api/x',
      'PUT /api/',
      'DELETE /api/',
    ]);
    expect(pathsOf(new Router().head('/h', handler).merge(inner))).toHaveLength(4);
  });

  it('[module-sdk 6.5] refuses conflicts and bad paths', () => {
    const one = new Router().get('/a', handler);
    expect(() => one.get('/a', handler)).toThrow('Route conflict for `/a`');
    expect(() => one.any('/a', handler)).toThrow('Route conflict for `/a`');
    expect(() => one.merge(new Router().any('/a', handler))).toThrow('Route conflict for `/a`');
    expect(() => one.get('b', handler)).toThrow('Route paths must start with `/`: b');
    expect(() => one.get('/B', handler)).toThrow(
      'Route paths may contain only ASCII lowercase letters, digits and `-_~/`: /B',
    );
    expect(() => new Router().get('/api2', handler).nest('/api', one)).toThrow(
      'Cannot nest router at `/api`; existing routes overlap with nested path',
    );
  });

  it('[living 3.1] takes parameters, whose names make no difference', () => {
    const one = new Router().get('/users/:id', handler).get('/users/*', handler);
    expect(pathsOf(one.post('/users/:name', handler))).toHaveLength(3);
    expect(() => one.get('/users/:name', handler)).toThrow('Route conflict for `/users/:name`');
    expect(() => one.any('/users/*', handler)).toThrow('Route conflict for `/users/*`');
    expect(pathsOf(new Router().nest('/users/:id', new Router().get('/:room', handler)))).toEqual([
      'GET /users/:id/:room',
    ]);
    expect(() => one.nest('/users/:name', new Router())).toThrow(
      'Cannot nest router at `/users/:name`; existing routes overlap with nested path',
    );
    const inner = new Router().get('/:id', handler);
    expect(() => new Router().nest('/users/:id', inner)).toThrow(
      'Route path `/users/:id/:id` is invalid: the parameter `id` occurs twice',
    );
    expect(() => new Router().nest('/files/*', inner)).toThrow(
      'Route path `/files/*/:id` is invalid: `*` is not its last segment',
    );
    for (const path of ['/:', '/:1', '/a*', '/*/']) {
      expect(() => one.get(path, handler), path).toThrow(`Route path \`${path}\` is invalid: `);
    }
  });
});

describe('requests and responses', () => {
  it('[module-sdk 6.5] read their body as often as asked', () => {
    const request = new Request('/p', { method: 'POST', body: '{"a":1}', headers: { A: 'b' } });
    expect([request.text(), request.json(), request.text()]).toEqual([
      '{"a":1}',
      { a: 1 },
      '{"a":1}',
    ]);
    expect([request.method, request.uri, request.headers.get('a')]).toEqual(['POST', '/p', 'b']);
    expect(request.version).toEqual({ tag: 'Http11' });
    expect(new Request('/').bytes()).toHaveLength(0);
    expect(new Request('/', { params: { id: '7' } }).params).toEqual({ id: '7' });
  });

  it('[module-sdk 6.5] take text, buffers and views', () => {
    const bytes = Uint8Array.of(104, 105);
    for (const body of ['hi', bytes, bytes.buffer, new DataView(bytes.buffer)]) {
      expect(new SyncResponse(body).text()).toBe('hi');
    }
    const response = new SyncResponse(null, { status: 404, statusText: 'gone' });
    expect([response.ok, response.status, response.statusText]).toEqual([false, 404, 'gone']);
    expect(new SyncResponse().ok).toBe(true);
    expect(new Uint8Array(new SyncResponse(bytes).arrayBuffer())).toEqual(bytes);
  });

  it('[module-sdk 6.5] have headers that keep repeated fields', () => {
    const headers = new Headers([['A', '1']]);
    headers.append('a', ' 2 ');
    headers.set('b', '3');
    expect([...headers]).toEqual([
      ['a', '1'],
      ['a', '2'],
      ['b', '3'],
    ]);
    expect([headers.get('A'), headers.get('c'), headers.has('B')]).toEqual(['1, 2', null, true]);
    headers.delete('A');
    expect([...headers.keys(), ...headers.values()]).toEqual(['b', '3']);
    expect(new Headers(headers).get('b')).toBe('3');
  });
});
