import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { largeTexts } from '../hostile/large-texts.ts';
import { Sandbox } from '../service/harness.ts';
import { writtenFrom } from '../service/written-module.ts';
import { MachineDelay, MeasuredService } from '../support/gateway-delay.ts';

/** Nobody waits for the gateway while it reads the text of one client. */

const p999MillisMax = 50;
/** Where more wants to run than there are cores: how much later than a process that does little. */
const timesMachineMax = 3;

let sandbox: Sandbox;
let service: MeasuredService;
let token: string;
const machine = new MachineDelay();

beforeAll(async () => {
  sandbox = await Sandbox.make();
  service = await MeasuredService.start(sandbox, ['--data-dir', path.join(sandbox.folder, 'data')]);
  ({ token } = (await (await ask('POST', '/v1/identity')).json()) as { token: string });
  const body = await writtenFrom(`
    import { schema, t, table } from 'reducerdb/server';
    const db = schema({ item: table({ public: true }, { id: t.u32() }) });
    export default db;
    export const numbers = db.reducer({ list: t.array(t.u32()) }, () => {});
    export const texts = db.reducer({ list: t.array(t.string()) }, () => {});
    export const text = db.reducer({ text: t.string() }, () => {});
    export const floats = db.reducer({ list: t.array(t.f64()) }, () => {});
    export const lists = db.reducer({ list: t.array(t.array(t.u32())) }, () => {});
    const pair = t.object('Pair', { a: t.u32() });
    export const pairs = db.reducer({ list: t.array(pair) }, () => {});
  `);
  const published = await ask('PUT', '/v1/database/shop?host_type=Js', { body });
  expect(published.status).toBe(200);
}, 120_000);
afterAll(async () => {
  machine.stop();
  await service.stop();
  sandbox.remove();
});

function ask(method: string, where: string, init: RequestInit = {}): Promise<Response> {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const headers = { 'content-type': 'application/json', ...authorization, ...init.headers };
  return fetch(`${service.url}${where}`, { method, ...init, headers });
}

const reducers = ['numbers', 'texts', 'text', 'floats', 'lists', 'pairs'];

/** Each door with a large text: status and beginning of the answer do not matter. */
const doors: Readonly<Record<string, (text: string) => Promise<Response>[]>> = {
  'HTTP calls': (text) =>
    reducers.map((name) => ask('POST', `/v1/database/shop/call/${name}`, { body: text })),
  'SQL parameters': (text) => [
    ask('POST', '/v1/database/shop/sql', {
      body: `{"sql":"SELECT 1","params":${text}}`,
      headers: { 'content-type': 'application/vnd.reducerdb.sql+json' },
    }),
  ],
  'a list of names': (text) => [ask('PUT', '/v1/database/shop/names', { body: text })],
  tokens: (text) => [
    ask('POST', '/v1/database/shop/tokens', { body: `{"tables":["item"],"ignored":${text}}` }),
  ],
  'an MCP message': (text) => [ask('POST', '/v1/mcp', { body: text })],
  'an MCP tool': (text) =>
    reducers.slice(0, 2).map((reducer) =>
      ask('POST', '/v1/database/shop/mcp', {
        body:
          '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"call","arguments":' +
          `{"reducer":"${reducer}","args":${text}}}}`,
      }),
    ),
};

describe.each(Object.keys(doors))('[siege 3] the gateway that reads %s', (door) => {
  it('is at most 50 ms late (p99.9), whatever the text is', async () => {
    await service.resetDelay();
    await machine.reset();
    for (const text of Object.values(largeTexts)) {
      const answers = await Promise.all(doors[door]?.(text) ?? []);
      for (const answer of answers) await answer.arrayBuffer();
    }
    const delay = await service.gatewayDelay();
    expect(delay.count).toBeGreaterThan(100);
    const { p999Millis } = await machine.read();
    const bound = Math.max(p999MillisMax, timesMachineMax * p999Millis);
    console.info(door, delay, p999Millis);
    expect(delay.p999Millis).toBeLessThan(bound);
  }, 300_000);
});
