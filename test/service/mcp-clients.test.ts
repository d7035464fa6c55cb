import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { someOf } from '../support/share.ts';
import { figureOf } from './figure.ts';
import { root } from './harness.ts';
import { type AnyClient, type Door, doors, generations } from './official-clients.ts';
import { type Person, Running } from './running.ts';

let running: Running;
let owner: Person;
/** Of users of the bridge: one who is not logged in, and the owner. */
let strangerFolder: string;
let ownerFolder: string;

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
  await running.publish('inn', 'inn', owner);
  await running.call('inn', 'add_person', ['Ada'], owner);
  strangerFolder = path.join(running.folder, 'stranger');
  ownerFolder = path.join(running.folder, 'owner');
  const program = path.join(root, 'dist/cli/main.js');
  const login = ['--root-dir', ownerFolder, 'login', '--token', owner.token];
  await promisify(execFile)(process.execPath, [program, ...login]);
});
afterAll(() => running.stop());

/** Of a read that goes on for minutes. */
const slow = `SELECT COUNT(*) AS n FROM ${[...'abcdefgh']
  .map((name) => `st_column AS ${name}`)
  .join(' CROSS JOIN ')} WHERE a.col_name < h.col_name`;

const pausedReads = () => figureOf(running, 'paused_reads');

describe.each(someOf(generations, 2))('[mcp B12] the official client $title', (generation) => {
  /** Runs `use` with the client of somebody who is connected, and closes it. */
  async function connected(door: Door, use: (client: AnyClient) => Promise<void>, features = '') {
    const client = generation.client();
    const visit = { running, userFolder: strangerFolder, ...(features && { features }) };
    await client.connect(door.transport(generation, visit));
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
      if (client instanceof Client) {
        expect(client.getProtocolEra()).toBe(generation.isModern ? 'modern' : 'legacy');
      }
      const { tools } = await client.listTools();
      const more = door.database.database === undefined ? [] : ['list_databases'];
      expect(tools.map(({ name }) => name)).toEqual([...more, 'ping', 'get_schema', 'sql', 'call']);
      expect(tools.every(({ outputSchema }) => outputSchema === undefined)).toBe(true);
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
      expect(contents[0]?.text).toContain('"Ada"');
      const none = client.readResource({ uri: 'reducerdb:///inn/tables/secret' });
      await expect(none).rejects.toMatchObject({ code: generation.notFound });
      const { prompts } = await client.listPrompts();
      expect(prompts.map(({ name }) => name)).toContain('explore_database');
      const given = { database: 'inn', table: 'person' };
      const { messages } = await client.getPrompt({ name: 'explore_database', arguments: given });
      expect(messages[0]?.content.text).toContain('Look closely at `person`');
      const { resourceTemplates } = await client.listResourceTemplates();
      const templates = resourceTemplates.map(({ uriTemplate }) => uriTemplate);
      const { database: isHostWide } = door.database;
      const ofTables = `reducerdb:///${isHostWide ? '{database}' : 'inn'}/tables/{table}`;
      expect(templates).toContain(ofTables);
      const { completion } = await client.complete({
        ref: { type: 'ref/resource', uri: ofTables },
        argument: { name: 'table', value: 'per' },
        context: { arguments: { database: 'inn' } },
      });
      expect(completion.values).toEqual(['person']);
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

  it.each(doors)('gives up a statement, which then ends, $title', async (door) => {
    const client = generation.client();
    const visit = { running, userFolder: ownerFolder, token: owner.token };
    await client.connect(door.transport(generation, visit));
    const leaving = new AbortController();
    const asked = generation
      .callUntil(
        client,
        { name: 'sql', arguments: { ...door.database, sql: slow } },
        leaving.signal,
      )
      .catch(() => 'given up');
    await expect.poll(pausedReads, { timeout: 20_000 }).toBe(1);
    leaving.abort();
    expect(await asked).toBe('given up');
    await expect.poll(pausedReads, { timeout: 20_000 }).toBe(0);
    const ping = await client.callTool({ name: 'ping' });
    expect(ping.content[0]?.text).toBe('pong');
    await client.close();
  });

  it.each(doors)('asks its person before a preview is applied, $title', async (door) => {
    const questions: string[] = [];
    let answer: object = { action: 'decline' };
    const client = generation.client((question) => {
      questions.push(question);
      return answer;
    });
    const visit = { running, userFolder: ownerFolder, token: owner.token, features: 'preview' };
    await client.connect(door.transport(generation, visit));
    const call = (name: string, args: object) =>
      client.callTool({ name, arguments: { ...door.database, ...args } });
    const name = `${generation.title} ${door.title}`;
    const given = { reducer: 'add_person', args: [name] };
    const { preview } = (await call('preview_call', given)).structuredContent ?? {};
    const sql = `SELECT COUNT(*) AS n FROM person WHERE name = '${name}'`;
    const count = async () => (await running.rows('inn', sql))[0]?.[0];
    expect(await call('apply_preview', { preview })).toMatchObject({ isError: true });
    expect(await count()).toBe(0);
    answer = { action: 'accept', content: { confirm: true } };
    const applied = await call('apply_preview', { preview });
    expect(applied.structuredContent).toMatchObject({ applied: true });
    expect(await count()).toBe(1);
    expect(questions).toHaveLength(2);
    expect(questions[0]).toContain('add_person');
    await client.close();
  });
});
