import path from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectLatest, type Door, doorsTo } from './official-clients.ts';
import { type Person, Running } from './running.ts';
import { writtenFrom } from './written-module.ts';

const module = (more = '') =>
  writtenFrom(`
    import { schema, t } from 'reducerdb/server';
    const db = schema({});
    export default db;
    /** Adds two numbers. */
    export const add = db.reducer(
      { returns: t.u64() }, { a: t.u64(), b: t.u64().optional() }, (_, { a, b }) => a + (b ?? 1n),
    );
    ${more}
  `);

let running: Running;
let owner: Person;

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
  await running.upload('sums', await module(), owner);
});
afterAll(() => running.stop());

const doors = doorsTo('sums').filter(({ database }) => database.database === undefined);

function connected(door: Door, features?: string): Promise<Client> {
  const userFolder = path.join(running.folder, 'user');
  return connectLatest(door, { running, userFolder, ...(features && { features }) });
}

describe.each(doors)('tools of reducers with the official client, $title', (door) => {
  it('[mcp B20] are called, and their results fit what they say', async () => {
    const client = await connected(door, 'typed-reducers');
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === 'add')).toMatchObject({
      description: expect.stringContaining('Adds two numbers.'),
      inputSchema: { required: ['a'] },
    });
    const call = { name: 'add', arguments: { a: '18446744073709551614' } };
    const { structuredContent } = await client.callTool(call);
    expect(structuredContent).toMatchObject({ value: '18446744073709551615', committed: true });
    await client.close();
  });

  it('[mcp B20] are told of when they change', async () => {
    const client = await connected(door, 'typed-reducers');
    let changes = 0;
    client.setNotificationHandler('notifications/tools/list_changed', () => {
      changes += 1;
    });
    const watch = await client.listen({ toolsListChanged: true });
    expect(watch.honoredFilter).toEqual({ toolsListChanged: true });
    const added = `minus_${door.title.split(' ').at(-1)?.toLowerCase()}`;
    const text = `export const ${added} = db.reducer({ a: t.u64() }, () => {});`;
    await running.upload('sums', await module(text), owner);
    await expect.poll(() => changes).toBeGreaterThan(0);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain(added);
    await watch.close();
    await client.close();
  });

  it('[mcp B20] without them, tools never change, and nobody waits for that', async () => {
    const client = await connected(door);
    const watch = await client.listen({ toolsListChanged: true });
    expect(watch.honoredFilter).toEqual({});
    await watch.close();
    await client.close();
  });
});
