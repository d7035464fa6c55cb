import path from 'node:path';
import {
  Client as ClientTwo,
  StreamableHTTPClientTransport as HttpTwo,
  type VersionNegotiationMode,
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

interface Text {
  readonly text: string;
}

/** What both generations of the client can do, as far as the tests need it. */
interface AnyClient {
  connect(transport: unknown): Promise<void>;
  getServerVersion(): { name: string } | undefined;
  getInstructions(): string | undefined;
  listTools(): Promise<{ tools: { name: string; outputSchema?: object }[] }>;
  callTool(request: { name: string; arguments?: object }): Promise<{
    content: Text[];
    structuredContent?: unknown;
    isError?: boolean;
  }>;
  listResources(): Promise<{ resources: { uri: string }[] }>;
  listResourceTemplates(): Promise<{ resourceTemplates: { uriTemplate: string }[] }>;
  readResource(request: { uri: string }): Promise<{ contents: Text[] }>;
  listPrompts(): Promise<{ prompts: { name: string }[] }>;
  getPrompt(request: object): Promise<{ messages: { content: Text }[] }>;
  complete(request: object): Promise<{ completion: { values: string[] } }>;
  close(): Promise<void>;
}

interface Generation {
  readonly title: string;
  readonly isModern: boolean;
  /** What it says of a resource that is not there: 2.x reads the legacy code as today's. */
  readonly notFound: -32602 | -32002;
  client(): AnyClient;
  http(url: URL): unknown;
  stdio(args: readonly string[]): unknown;
}

/** The bridge of somebody who is not logged in. */
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

function generationTwo(mode: VersionNegotiationMode, isModern: boolean): Omit<Generation, 'title'> {
  return {
    isModern,
    notFound: -32602,
    client: () => new ClientTwo(info, { versionNegotiation: { mode } }) as unknown as AnyClient,
    http: (url) => new HttpTwo(url),
    stdio: (args) => new StdioTwo(bridgeCommand(args)),
  };
}

const generations: readonly Generation[] = [
  {
    title: '1.x',
    isModern: false,
    notFound: -32002,
    client: () => new ClientOne(info) as unknown as AnyClient,
    http: (url) => new HttpOne(url),
    stdio: (args) => new StdioOne(bridgeCommand(args)),
  },
  { title: '2.x, which does not negotiate', ...generationTwo('legacy', false) },
  { title: '2.x, which negotiates', ...generationTwo('auto', true) },
  { title: '2.x, pinned to 2026-07-28', ...generationTwo({ pin: '2026-07-28' }, true) },
];

interface Door {
  readonly title: string;
  /** Argument with which every data tool names the database. */
  readonly database: { readonly database?: string };
  transport(generation: Generation, features?: string): unknown;
}

const overHttp = (where: string): Door['transport'] => {
  return ({ http }, features) => {
    const url = new URL(where, running.service.url);
    if (features !== undefined) url.searchParams.set('features', features);
    return http(url);
  };
};

const overStdio = (args: readonly string[]): Door['transport'] => {
  return ({ stdio }, features) =>
    stdio(features === undefined ? args : [...args, '--features', features]);
};

const doors: readonly Door[] = [
  { title: 'host-wide over HTTP', database: { database: 'inn' }, transport: overHttp('/v1/mcp') },
  {
    title: 'in a database over HTTP',
    database: {},
    transport: overHttp('/v1/database/inn/mcp'),
  },
  { title: 'host-wide over stdio', database: { database: 'inn' }, transport: overStdio([]) },
  { title: 'in a database over stdio', database: {}, transport: overStdio(['inn']) },
];

describe.each(generations)('[mcp §B12] the official client $title', (generation) => {
  /** Runs `use` with a client that is connected, and closes it. */
  async function connected(door: Door, use: (client: AnyClient) => Promise<void>, features = '') {
    const client = generation.client();
    await client.connect(door.transport(generation, features === '' ? undefined : features));
    try {
      await use(client);
    } finally {
      await client.close();
    }
  }

  it.each(doors)('lists and calls the tools $title', async (door) => {
    await connected(door, async (client) => {
      expect(client.getServerVersion()?.name).toBe('reducerdb');
      expect(client.getInstructions()).toContain('reducer');
      if (client instanceof ClientTwo) {
        expect(client.getProtocolEra()).toBe(generation.isModern ? 'modern' : 'legacy');
      }
      const { tools } = await client.listTools();
      const more = door.database.database === undefined ? [] : ['list_databases'];
      expect(tools.map(({ name }) => name)).toEqual([...more, 'ping', 'get_schema', 'sql', 'call']);
      expect(tools.every(({ outputSchema }) => outputSchema !== undefined)).toBe(true);
      const call = (name: string, args: object) =>
        client.callTool({ name, arguments: { ...door.database, ...args } });
      const text = async (name: string, args: object) =>
        (await call(name, args)).content[0]?.text ?? '';
      expect(await text('ping', { message: 'hello' })).toBe('pong: hello');
      expect(JSON.parse(await text('get_schema', {})).tables.length).toBe(5);
      expect(await text('call', { reducer: 'add_person', args: ['Zoe'] })).toBe(
        "reducer 'add_person' committed",
      );
      const sql = "SELECT name FROM person WHERE name = 'Zoe'";
      expect(await text('sql', { sql })).toContain('"rows":[["Zoe"]');
      expect((await call('sql', { sql })).structuredContent).toMatchObject({ truncated: false });
      const refused = await call('sql', { sql: 'SELECT * FROM secret' });
      expect(refused).toMatchObject({
        isError: true,
        content: [{ text: 'no such table: secret' }],
      });
      await expect(client.callTool({ name: 'none' })).rejects.toMatchObject({ code: -32602 });
    });
  });

  it.each(doors)('reads resources and prompts, and completes, $title', async (door) => {
    await connected(door, async (client) => {
      const uris = (await client.listResources()).resources.map(({ uri }) => uri);
      expect(uris).toContain('reducerdb:///docs/sql');
      const uri = 'reducerdb:///inn/tables/person';
      const { contents } = await client.readResource({ uri });
      expect(contents[0]?.text).toContain('name');
      const none = client.readResource({ uri: 'reducerdb:///inn/tables/secret' });
      await expect(none).rejects.toMatchObject({ code: generation.notFound });
      const { prompts } = await client.listPrompts();
      expect(prompts.map(({ name }) => name)).toContain('explore_database');
      const prompt = { name: 'explore_database', arguments: { database: 'inn' } };
      const { messages } = await client.getPrompt(prompt);
      expect(messages[0]?.content.text).toContain('person');
      const { resourceTemplates } = await client.listResourceTemplates();
      const ofTables = resourceTemplates.find(({ uriTemplate }) => /{table}$/.test(uriTemplate));
      const { completion } = await client.complete({
        ref: { type: 'ref/resource', uri: ofTables?.uriTemplate },
        argument: { name: 'table', value: 'pe' },
        context: { arguments: { database: 'inn' } },
      });
      expect(completion.values).toContain('person');
    });
  });

  it.each(doors)('gets other tools where it asks for them, $title', async (door) => {
    const namesWith = async (features: string) => {
      let names: string[] = [];
      const use = async (client: AnyClient) => {
        names = (await client.listTools()).tools.map(({ name }) => name);
      };
      await connected(door, use, features);
      return names;
    };
    expect(await namesWith('whoami')).toContain('whoami');
    expect(await namesWith('read-only')).not.toContain('call');
  });
});

describe.each(doors)('[mcp §B5] a modern client that watches a table, $title', (door) => {
  it('is told of a commit, until it stops watching', async () => {
    const client = new ClientTwo(info, { versionNegotiation: { mode: 'auto' } });
    const told: string[] = [];
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
      told.push(params.uri);
    });
    await client.connect(door.transport(generations[2] as Generation) as HttpTwo);
    const uri = 'reducerdb:///inn/tables/person';
    const watch = await client.listen({ resourceSubscriptions: [uri] });
    expect(watch.honoredFilter.resourceSubscriptions).toEqual([uri]);
    await running.call('inn', 'add_person', ['Yan'], owner);
    await expect.poll(() => told, { timeout: 20_000 }).toContain(uri);
    await watch.close();
    expect(await watch.closed).toBe('local');
    await client.listTools();
    await client.close();
  });
});
