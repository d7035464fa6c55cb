import path from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { figureOf } from './figure.ts';
import { type Inn, openInn } from './inn.ts';
import { connectLatest, type Door, doors } from './official-clients.ts';
import type { Person } from './running.ts';

const people = 'reducerdb:///inn/tables/person';
const secrets = 'reducerdb:///inn/tables/secret';

let inn: Inn;

beforeAll(async () => {
  inn = await openInn();
});
afterAll(() => inn.running.stop());

/** What the official client was told of, in order. */
class Told {
  readonly client: Client;
  readonly updated: string[] = [];
  listChanges = 0;

  private constructor(client: Client) {
    this.client = client;
  }

  static async connect(door: Door, { token }: Person): Promise<Told> {
    const { running } = inn;
    // The user of the bridge has no token.
    const userFolder = path.join(running.folder, 'user');
    const told = new Told(await connectLatest(door, { running, userFolder, token }));
    told.client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
      told.updated.push(params.uri);
    });
    told.client.setNotificationHandler('notifications/resources/list_changed', () => {
      told.listChanges += 1;
    });
    return told;
  }
}

/** How many connections databases have. */
const connections = () => figureOf(inn.running, 'connections');

const addPerson = (name: string) => inn.running.call('inn', 'add_person', [name], inn.owner);

const [hostDoor] = doors as readonly [Door];

describe.each(doors)('watching with the official client, $title', (door) => {
  it('[mcp B5] tells of changed rows, which are there when they are read', async () => {
    const told = await Told.connect(door, inn.stranger);
    const watch = await told.client.listen({ resourceSubscriptions: [people, secrets] });
    expect(watch.honoredFilter).toEqual({ resourceSubscriptions: [people] });
    const name = `guest ${Math.random()}`;
    await addPerson(name);
    await expect.poll(() => told.updated).toEqual([people]);
    const { contents } = await told.client.readResource({ uri: people });
    expect(contents[0]).toMatchObject({ uri: people, text: expect.stringContaining(name) });
    await watch.close();
    expect(await watch.closed).toBe('local');
    await told.client.close();
  });

  it('[mcp B5] ends with the client, and leaves nothing behind', async () => {
    const told = await Told.connect(door, inn.stranger);
    const before = await connections();
    await told.client.listen({ resourceSubscriptions: [people] });
    expect(await connections()).toBe(before + 1);
    await told.client.close();
    await expect.poll(connections).toBe(before);
    await addPerson('after the end');
    expect(told.updated).toEqual([]);
  });
});

describe('watching with a limited token and the official client', () => {
  it('[mcp B5] ends in order when the token is revoked', async () => {
    const agent = await inn.running.agent('inn', { tables: ['secret'] }, inn.owner);
    const told = await Told.connect(hostDoor, agent);
    const watch = await told.client.listen({ resourceSubscriptions: [people, secrets] });
    expect(watch.honoredFilter).toEqual({ resourceSubscriptions: [secrets] });
    const where = `/v1/database/inn/tokens/${agent.id}`;
    await inn.running.ask('DELETE', where, { as: inn.owner });
    expect(await watch.closed).toBe('graceful');
    await told.client.close();
  });
});

describe('watching the list of resources with the official client', () => {
  it('[mcp B5] tells the owner of a database that comes and goes, and nobody else', async () => {
    const { running, owner, stranger } = inn;
    const [ofOwner, ofStranger] = await Promise.all(
      [owner, stranger].map((one) => Told.connect(hostDoor, one)),
    );
    for (const told of [ofOwner, ofStranger]) {
      const watch = await told?.client.listen({ resourcesListChanged: true });
      expect(watch?.honoredFilter).toEqual({ resourcesListChanged: true });
    }
    await running.publish('annex', 'inn', owner);
    await expect.poll(() => ofOwner?.listChanges).toBe(1);
    await running.ask('DELETE', '/v1/database/annex', { as: owner });
    await expect.poll(() => ofOwner?.listChanges).toBe(2);
    expect(ofStranger?.listChanges).toBe(0);
    await Promise.all([ofOwner?.client.close(), ofStranger?.client.close()]);
  });
});
