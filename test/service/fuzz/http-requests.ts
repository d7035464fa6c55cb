import type { Random } from '../../../src/testing/random.ts';
import type { Person } from '../running.ts';

/** A request before it is written down; mutations change it. */
export interface Draft {
  method: string;
  target: string;
  headers: [name: string, value: string][];
  body: Buffer;
}

/** What the requests are about. */
export interface Scene {
  readonly database: string;
  readonly identity: string;
  readonly owner: Person;
  readonly stranger: Person;
}

type Body = string | undefined;

/** One request that the service answers as it should, about any of its endpoints. */
export function plainRequest(scene: Scene, random: Random): Draft {
  const [method, path, body] = random.pick(random.chance(0.5) ? reading(scene) : asking(scene));
  const draft: Draft = {
    method,
    target: path,
    headers: [['Host', '127.0.0.1']],
    body: Buffer.from(body ?? ''),
  };
  if (body !== undefined) draft.headers.push(['Content-Type', 'application/json']);
  const who = random.pick([scene.owner, scene.stranger, undefined]);
  // What destroys is asked for by who may not.
  const asked = isDestructive(method, path) ? scene.stranger : who;
  if (asked !== undefined) draft.headers.push(['Authorization', `Bearer ${asked.token}`]);
  return draft;
}

function isDestructive(method: string, path: string): boolean {
  return method === 'DELETE' || /\/(names|reset|lock|unlock)$/.test(path) || method === 'PUT';
}

function reading({ database, identity, owner }: Scene): [string, string, Body][] {
  const at = `/v1/database/${database}`;
  const paths = [
    ...['/v1/ping', '/v1/health', '/v1/metrics', '/v1/prometheus/sd_config', '/v1/audit'],
    ...['/v1/identity/public-key', `/v1/identity/${owner.identity}/verify`],
    ...[`/v1/identity/${owner.identity}/databases`, `/v1/energy/${owner.identity}`],
    ...[at, `/v1/database/${identity}`, `${at}/names`, `${at}/identity`, `${at}/tokens`],
    ...[`${at}/schema?version=9`, `${at}/schema?version=10`, `${at}/grants`],
    ...[`${at}/logs?num_lines=3`, `${at}/logs?follow=true&num_lines=1`, `${at}/subscribe`],
    ...[`${at}/unstable/timestamp`, `${at}/route/hello?x=1`, `${at}/health?detail`],
  ];
  return paths.map((path) => ['GET', path, undefined]);
}

function asking({ database, owner }: Scene): [string, string, Body][] {
  const at = `/v1/database/${database}`;
  const rpc = (method: string, params: unknown) =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const tool = (name: string, given: object) =>
    rpc('tools/call', { name, arguments: { database, ...given } });
  return [
    ['POST', '/v1/identity', ''],
    ['POST', '/v1/identity/websocket-token', ''],
    ['POST', `/v1/energy/${owner.identity}?amount=5`, ''],
    ['POST', `${at}/call/add_person`, '["Ann"]'],
    ['POST', `${at}/call/add_person`, '{"name":"Ann"}'],
    ['POST', `${at}/call/refuse`, '["no"]'],
    ['POST', `${at}/call/add_wide`, '[1,-2,"0x3","0001ff",null,0.5]'],
    ['POST', `${at}/sql`, "SELECT name FROM person WHERE name = 'Ann' LIMIT 3"],
    ['POST', `${at}/sql`, 'SELECT COUNT(*) AS n FROM visit'],
    ['POST', `${at}/sql?params=%5B%22Ann%22%5D`, 'SELECT id FROM person WHERE name = $1 LIMIT 1'],
    ['POST', `${at}/sql`, "DELETE FROM person WHERE name = 'Ann'"],
    ['POST', `${at}/mcp`, rpc('tools/list', {})],
    ['POST', `${at}/mcp`, tool('sql', { query: 'SELECT name FROM person LIMIT 2' })],
    ['POST', '/v1/mcp', tool('call', { reducer: 'add_person', args: ['Bea'] })],
    ['POST', '/v1/mcp', tool('get_schema', {})],
    ['POST', '/v1/mcp', rpc('initialize', { protocolVersion: '2025-06-18', capabilities: {} })],
    ['POST', `${at}/names`, 'other-name'],
    ['PUT', `${at}/names`, '["x","y"]'],
    ['PUT', `${at}/grants/${owner.identity}`, '{"role":"reader"}'],
    ['POST', `${at}/tokens`, '{"tables":["person"],"read_only":true,"expires_seconds":60}'],
    ['POST', `${at}/lock`, ''],
    ['PUT', `${at}/reset`, ''],
    ['DELETE', at, ''],
  ];
}
