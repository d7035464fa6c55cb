import type { Random } from '../../../src/testing/random.ts';
import type { Draft } from './http-requests.ts';

/** Changes a request so that a careless service would stumble. */
export type Mutation = (draft: Draft, random: Random) => void;

const nasty = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  '__defineGetter__',
];

const paths: Mutation = (draft, random) => {
  const [path = '', query] = draft.target.split('?');
  const parts = path.split('/');
  const at = random.between(1, Math.max(1, parts.length - 1));
  const part = random.pick([
    ...[
      '..',
      '.',
      '%2e%2e',
      '%2E%2e%2f',
      '%00',
      'a%00b',
      '',
      '%ff',
      '%c3%28',
      '%zz',
      '%',
      '%2',
      '\\',
    ],
    ...['%252e', 'é', '%F0%9F%98%80', '#', ';x=1', '*', 'A'.repeat(300), 'a'.repeat(9_000), '%41'],
    ...['a'.repeat(40_000), '-', '--', '0x', '0'.repeat(64), 'f'.repeat(65), ...nasty],
  ]);
  if (random.chance(0.5)) parts[at] = part;
  else parts.splice(at, 0, part);
  const changed = parts.join('/');
  draft.target = query === undefined ? changed : `${changed}?${query}`;
};

const targets: Mutation = (draft, random) => {
  const { target } = draft;
  draft.target = random.pick([
    ...[`http://127.0.0.1${target}`, `http://other.example:99${target}`, `https://x@y${target}`],
    ...['*', '/', '', '//', '///v1/ping', `/${target}`, `${target}/`, target.toUpperCase()],
    ...[`http://${target}`, 'http://[::1', `ftp://x${target}`, `?${target}`, `${target}#x`],
    ...[`/.${target}`, `/v1/..${target}`, `/v1/%2e%2e${target}`, target.slice(1)],
  ]);
};

const queries: Mutation = (draft, random) => {
  const parameter = random.pick([
    ...['version=9', 'version=9&version=10', 'follow=maybe', 'num_lines=-1', 'num_lines=1e9'],
    ...['num_lines=99999999999999999999', 'confirmed=TRUE', 'confirmed=true&confirmed=false'],
    ...[
      'token=x',
      'token=',
      'token=a.b.c',
      '%ff=%ff',
      '=',
      '&&&',
      '?',
      'clear=true',
      'x'.repeat(9_000),
    ],
    ...['host_type=wasm', 'params=[[[[', 'params=[%22\\ud800%22]', `params=${'['.repeat(3_000)}`],
    ...['amount=-1', `amount=${'9'.repeat(60)}`, 'parent=nobody', 'style=x', ...nasty],
  ]);
  draft.target += `${draft.target.includes('?') ? '&' : '?'}${parameter}`;
};

const methods: Mutation = (draft, random) => {
  draft.method = random.pick([
    ...['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'CONNECT', 'PROPFIND'],
    ...['get', 'G ET', '', 'M-SEARCH', 'X'.repeat(500), '__proto__', 'constructor', 'PRI'],
  ]);
};

function deep(random: Random): string {
  const depth = random.pick([100, 127, 128, 129, 1_000, 50_000]);
  return random.pick([
    '['.repeat(depth),
    '['.repeat(depth) + ']'.repeat(depth),
    `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`,
    `["x",${'['.repeat(depth)}${']'.repeat(depth)}]`,
    '('.repeat(depth),
    `SELECT ${'('.repeat(depth)}1${')'.repeat(depth)}`,
  ]);
}

const bodies: Mutation = (draft, random) => {
  const text = draft.body.toString();
  const key = random.pick(nasty);
  const given = random.pick([
    () => deep(random),
    () => `{"${key}":{"polluted":true},"name":"x"}`,
    () =>
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${key}","arguments":{"__proto__":1}}}`,
    () => `{"jsonrpc":"2.0","id":${deep(random)},"method":"${key}"}`,
    () => text.slice(0, random.below(text.length + 1)),
    () => text + text,
    () => text.replace(/"/g, random.pick(["'", '\\"', '"\\ud800', '"\u0000'])),
    () => text.replace(/\d+/, random.pick(['1e400', '-0', '0x10', '9'.repeat(5_000), 'NaN'])),
    () => `\ufeff${text}`,
    () => `SELECT * FROM ${key}; DROP TABLE person`,
    () => `SELECT ${"'".repeat(random.below(2_000))} FROM person /* `,
    () => `INSERT INTO person VALUES (${random.pick(['NULL', '1e999', "x'00ff'", '$1', ':x'])}, 2)`,
    () => random.pick(['null', 'true', '0', '""', '[]', '{}', ' ', '\r\n', '[]]', '{"a":1,"a":2}']),
    () => 'x'.repeat(random.pick([49_999, 50_001, 300_000])),
    () => (random.chance(0.1) ? 'y'.repeat(2_200_000) : 'z'),
  ])();
  draft.body = Buffer.from(given);
  if (random.chance(0.3)) draft.body = spoiled(draft.body, random);
  if (random.chance(0.05)) draft.body = Buffer.from(random.bytes(random.below(4_000)));
};

/** Some bytes changed. */
export function spoiled(bytes: Buffer, random: Random): Buffer {
  const copy = Buffer.from(bytes);
  for (let count = random.between(1, 5); count > 0 && copy.length > 0; count -= 1) {
    copy[random.below(copy.length)] = random.pick([
      0,
      0xff,
      0xc0,
      0x80,
      0x0a,
      0x0d,
      random.below(256),
    ]);
  }
  return copy;
}

const types: Mutation = (draft, random) => {
  const type = random.pick([
    ...['application/json; charset=utf-8', 'application/json;', 'text/plain', 'application/x+json'],
    ...[
      '',
      ';',
      'application',
      'a/b/c',
      'é',
      'multipart/form-data; boundary=x',
      '\u0001',
      'x'.repeat(9_000),
    ],
  ]);
  draft.headers = draft.headers.filter(([name]) => name !== 'Content-Type');
  if (random.chance(0.8)) draft.headers.push(['Content-Type', type]);
};

const tokens: Mutation = (draft, random) => {
  const token = draft.headers.find(([name]) => name === 'Authorization')?.[1] ?? 'Bearer a.b.c';
  const json = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { iss: 'localhost', sub: 'x', iat: 1, __proto__: null };
  const value = random.pick([
    ...[
      '',
      'Bearer',
      'Bearer ',
      'bearer x',
      'Basic eDp5',
      'Bearer  ..',
      'Bearer a.b.c.d',
      'Bearer \u0001',
    ],
    ...[
      `Bearer ${json({ alg: 'none' })}.${json(claims)}.`,
      `Bearer ${json({ alg: 'HS256' })}.e30.AA`,
    ],
    `Bearer ${json({ alg: 'ES256', crit: ['x'] })}.${json({ ...claims, iss: 'http://127.0.0.1:1' })}.AA`,
    `Bearer ${json({ alg: 'RS256', kid: '../x' })}.${json({ ...claims, iss: 'https://[::1]' })}.AA`,
    `Bearer ${json({ alg: 'ES256' })}.${Buffer.from('['.repeat(5_000)).toString('base64url')}.AA`,
    ...[token.slice(0, -random.between(1, 20)), `${token}x`, `${token} ${token}`, token.repeat(8)],
    spoiled(Buffer.from(token), random).toString('latin1'),
  ]);
  draft.headers = draft.headers.filter(([name]) => name !== 'Authorization');
  draft.headers.push(['Authorization', value]);
  if (random.chance(0.2)) draft.headers.push(['authorization', token]);
};

const headers: Mutation = (draft, random) => {
  const add = (name: string, value: string) => draft.headers.push([name, value]);
  random.pick([
    () => {
      for (let at = random.between(50, 3_000); at > 0; at -= 1) add(`X-${at}`, 'y');
    },
    () => add('X-Long', 'x'.repeat(random.pick([8_000, 15_000, 17_000, 100_000]))),
    () => add(random.pick(nasty), 'x'),
    () => {
      draft.headers = draft.headers.filter(([name]) => name !== 'Host');
      const hosts = ['', 'a b', '[::1', 'x:99999', 'other.example', 'é', '..', '/', '@'];
      add('Host', random.pick(hosts));
    },
    () => add(random.pick(['Bad Name', '', 'Tab\t', 'Colon:', 'é', '\u0000', '(x)']), 'x'),
    () => add('X-Control', random.pick(['\u0000', '\u0007', 'a\rb', 'a\nb', 'a\r\n b', '\u007f'])),
    () => add('Expect', random.pick(['100-continue', '200-ok', ''])),
    () => add('Connection', random.pick(['close', 'keep-alive, upgrade', 'x', 'host', ''])),
    () => add('X-Forwarded-For', random.pick(['1.2.3.4', "'; --", ','.repeat(2_000), '::'])),
    () =>
      add('Origin', random.pick(['null', 'http://evil.example', 'http://127.0.0.1', '//', 'é'])),
    () => add('Upgrade', random.pick(['h2c', 'websocket', 'TLS/1.0', ''])),
    () => add('Content-Encoding', 'gzip'),
    () => {
      draft.headers = draft.headers.filter(([name]) => name !== 'Host');
    },
    () => {
      draft.headers = draft.headers.flatMap((header) => [header, header]);
    },
  ])();
};

/** A handshake of a WebSocket that is not quite one. */
const upgrades: Mutation = (draft, random) => {
  const at = draft.target.split('?')[0] ?? '';
  const query = ['', '?compression=x', '?light=1', '?token=x', `?connection_id=${'0'.repeat(32)}`];
  draft.method = random.chance(0.9) ? 'GET' : draft.method;
  if (random.chance(0.8)) draft.target = `${databaseOf(at)}/subscribe${random.pick(query)}`;
  const usual: [string, string[]][] = [
    ['Connection', ['Upgrade', 'close', 'keep-alive, Upgrade']],
    ['Upgrade', ['websocket', 'WebSocket', 'h2c', '']],
    ['Sec-WebSocket-Version', ['13', '8', '13, 8', '']],
    ['Sec-WebSocket-Key', ['AAAAAAAAAAAAAAAAAAAAAA==', 'x', '', 'A'.repeat(9_000)]],
    ['Sec-WebSocket-Protocol', ['v2.bsatn.spacetimedb', 'v1.json.spacetimedb', 'x', ',,,', '']],
    ['Sec-WebSocket-Extensions', ['permessage-deflate', ';;;', 'x; y="']],
  ];
  for (const [name, values] of usual) {
    const value = random.chance(0.7) ? values[0] : random.pick(values);
    if (random.chance(0.93)) draft.headers.push([name, value ?? '']);
  }
  draft.body = random.chance(0.6) ? Buffer.from(random.bytes(random.below(300))) : Buffer.alloc(0);
};

function databaseOf(path: string): string {
  return /^\/v1\/database\/[^/]+/.exec(path)?.[0] ?? '/v1/database/fuzz';
}

export const mutations: readonly Mutation[] = [
  ...[paths, paths, targets, queries, queries, methods, bodies, bodies, bodies, types, tokens],
  ...[tokens, headers, headers, upgrades],
];
