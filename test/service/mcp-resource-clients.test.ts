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
import { type Inn, openInn } from './inn.ts';

let inn: Inn;

beforeAll(async () => {
  inn = await openInn();
  await inn.running.call('inn', 'add_person', ['Ada'], inn.owner);
});
afterAll(() => inn.running.stop());

/** What both generations of the client can do, as far as the tests need it. */
interface AnyClient {
  connect(transport: unknown): Promise<void>;
  listResources(): Promise<{ resources: { uri: string }[] }>;
  listResourceTemplates(): Promise<{ resourceTemplates: { uriTemplate: string }[] }>;
  readResource(of: { uri: string }): Promise<{ contents: { text?: string }[] }>;
  listPrompts(): Promise<{ prompts: { name: string }[] }>;
  getPrompt(of: { name: string; arguments: object }): Promise<{
    messages: { content: { text?: string } }[];
  }>;
  complete(of: object): Promise<{ completion: { values: string[] } }>;
  close(): Promise<void>;
}

const info = { name: 'test', version: '1.0.0' };
const modern = { versionNegotiation: { mode: { pin: '2026-07-28' } } } as const;

const url = (where: string) => new URL(where, inn.running.service.url);
const bridge = (database: readonly string[]) => {
  const folder = path.join(inn.running.folder, 'user');
  const command = [path.join(root, 'dist/cli/main.js'), '--root-dir', folder, 'mcp', ...database];
  const args = [...command, '--anonymous', '--server', inn.running.service.url];
  return { command: process.execPath, args, stderr: 'ignore' as const };
};

type Transports = readonly [(where: string) => unknown, (database: readonly string[]) => unknown];

const one: Transports = [
  (where) => new HttpOne(url(where)),
  (database) => new StdioOne(bridge(database)),
];
const two: Transports = [
  (where) => new HttpTwo(url(where)),
  (database) => new StdioTwo(bridge(database)),
];

const generations: [string, () => unknown, Transports][] = [
  ['SDK 1.x', () => new ClientOne(info), one],
  ['SDK 2.x as of 2025', () => new ClientTwo(info), two],
  ['SDK 2.x', () => new ClientTwo(info, modern), two],
];

describe.each(generations)('the official client, %s', (_generation, makeClient, [http, stdio]) => {
  it.each([
    ['host-wide over HTTP', () => http('/v1/mcp'), '{database}'],
    ['in a database over HTTP', () => http('/v1/database/inn/mcp'), 'inn'],
    ['host-wide over stdio', () => stdio([]), '{database}'],
    ['in a database over stdio', () => stdio(['inn']), 'inn'],
  ])(
    '[mcp B7, B8] lists and reads, gets and completes, %s',
    async (_where, transport, database) => {
      const client = makeClient() as AnyClient;
      await client.connect(transport());

      const { resources } = await client.listResources();
      expect(resources.map(({ uri }) => uri)).toContain('reducerdb:///docs/sql');
      const { contents } = await client.readResource({ uri: 'reducerdb:///inn/tables/person' });
      expect(contents[0]?.text).toContain('"Ada"');
      await expect(
        client.readResource({ uri: 'reducerdb:///inn/tables/secret' }),
      ).rejects.toThrow();

      const { resourceTemplates } = await client.listResourceTemplates();
      const templates = resourceTemplates.map(({ uriTemplate }) => uriTemplate);
      const uri = `reducerdb:///${database}/tables/{table}`;
      expect(templates).toContain(uri);
      const { completion } = await client.complete({
        ref: { type: 'ref/resource', uri },
        argument: { name: 'table', value: 'per' },
        context: { arguments: { database: 'inn' } },
      });
      expect(completion.values).toEqual(['person']);

      const { prompts } = await client.listPrompts();
      expect(prompts.map((prompt) => prompt.name)).toContain('explore_database');
      const args = { database: 'inn', table: 'person' };
      const { messages } = await client.getPrompt({ name: 'explore_database', arguments: args });
      expect(messages[0]?.content.text).toContain('Look closely at `person`');
      await client.close();
    },
  );
});
