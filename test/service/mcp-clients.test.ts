import path from 'node:path';
import {
  Client as ClientTwo,
  StreamableHTTPClientTransport as HttpTwo,
} from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioTwo } from '@modelcontextprotocol/client/stdio';
import { Client as ClientOne } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioOne } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HttpOne } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { root } from './harness.ts';
import { type Person, Running } from './running.ts';

let running: Running;
let owner: Person;

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
  await running.publish('inn', 'inn', owner);
});
afterAll(() => running.stop());

/** What both generations of the client can do, as far as the tests need it. */
interface AnyClient {
  connect(transport: unknown): Promise<void>;
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(request: { name: string; arguments?: object }): Promise<object>;
  close(): Promise<void>;
}

const bridgeCommand = (args: readonly string[]) => ({
  command: process.execPath,
  args: [
    path.join(root, 'dist/cli/main.js'),
    '--root-dir',
    path.join(running.folder, 'user'),
    'mcp',
    ...args,
    '--server',
    running.service.url,
  ],
  stderr: 'ignore' as const,
});

const info = { name: 'test', version: '1.0.0' };
const generations: [string, () => AnyClient, (url: URL) => unknown, (args: string[]) => unknown][] =
  [
    [
      'SDK 1.x',
      () => new ClientOne(info) as unknown as AnyClient,
      (url) => new HttpOne(url),
      (args) => new StdioOne(bridgeCommand(args)),
    ],
    [
      'SDK 2.x',
      () => new ClientTwo(info) as unknown as AnyClient,
      (url) => new HttpTwo(url),
      (args) => new StdioTwo(bridgeCommand(args)),
    ],
  ];

describe.each(generations)('the official client, %s', (_generation, makeClient, http, stdio) => {
  const transports: [string, () => unknown, object, string[]][] = [
    [
      'host-wide over HTTP',
      () => http(new URL('/v1/mcp', running.service.url)),
      { database: 'inn' },
      ['list_databases'],
    ],
    [
      'in a database over HTTP',
      () => http(new URL('/v1/database/inn/mcp', running.service.url)),
      {},
      [],
    ],
    ['host-wide over stdio', () => stdio([]), { database: 'inn' }, ['list_databases']],
    ['in a database over stdio', () => stdio(['inn']), {}, []],
  ];

  it.each(transports)('lists and calls the tools %s', async (_where, transport, database, more) => {
    const client = makeClient();
    await client.connect(transport());
    try {
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual([...more, 'ping', 'get_schema', 'sql', 'call']);
      const text = async (name: string, args: object) => {
        const result = (await client.callTool({ name, arguments: args })) as {
          content: { text: string }[];
        };
        return result.content[0]?.text ?? '';
      };
      expect(await text('ping', { message: 'hello' })).toBe('pong: hello');
      expect(JSON.parse(await text('get_schema', database)).tables.length).toBe(5);
      expect(await text('call', { ...database, reducer: 'add_person', args: ['Zoe'] })).toBe(
        "reducer 'add_person' committed",
      );
      const sql = "SELECT name FROM person WHERE name = 'Zoe'";
      expect(await text('sql', { ...database, sql })).toContain('"rows":[["Zoe"]');
      expect(await text('sql', { ...database, sql: 'SELECT * FROM secret' })).toBe(
        'no such table: secret',
      );
    } finally {
      await client.close();
    }
  });
});
