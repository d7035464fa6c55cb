import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  AgentHost,
  ada,
  bob,
  contextOf,
  guideDirectory,
  libraryModule,
} from '../../../test/support/agent-host.ts';
import { limits } from '../../limits.ts';
import { Random } from '../../testing/random.ts';
import type { McpSession } from '../session.ts';
import { DatabaseResources } from './database-resources.ts';
import { GuidePages } from './guide-pages.ts';

const resources = new DatabaseResources(new GuidePages(guideDirectory));
const own = (rest: string) => `reducerdb:///library/${rest}`;
const watched = [
  ...['book', 'book/id/1', 'book/title/red', 'word', 'titles', 'diary', 'loan'].map((rest) =>
    own(`tables/${rest}`),
  ),
  ...[own('schema'), own('logs'), 'reducerdb:///databases'],
];

let agents: AgentHost;
beforeAll(async () => {
  agents = await AgentHost.open();
  await agents.publish('library');
});
afterAll(() => agents.close());

/** A client that reads a resource when it starts to watch it, and then only after notices. */
class Client {
  readonly session: McpSession;
  readonly shown = new Map<string, string | undefined>();
  readonly #told = new Set<string>();
  uris: readonly string[] = [];
  close: () => void = () => undefined;

  constructor(session: McpSession) {
    this.session = session;
  }

  async begin(): Promise<void> {
    const watch = await resources.watch(
      {
        ...{ uris: watched, list: false },
        updated: (uri) => void this.#told.add(uri),
        listChanged: () => undefined,
        ended: () => undefined,
      },
      this.session,
    );
    this.uris = watch.uris;
    this.close = () => watch.close();
    for (const uri of watch.uris) this.shown.set(uri, await this.read(uri));
  }

  async refresh(): Promise<void> {
    const told = [...this.#told];
    this.#told.clear();
    for (const uri of told) this.shown.set(uri, await this.read(uri));
  }

  /** Reads without the offset, which grows with every commit. */
  async read(uri: string): Promise<string | undefined> {
    const [content] = (await resources.read(uri, contextOf(this.session))) ?? [];
    return content?.text.replace(/"offset":\d+/, '');
  }
}

const titles = ['red', 'green', 'blue'];

async function step(random: Random): Promise<void> {
  const id = random.below(6);
  const title = titles[random.below(titles.length)];
  switch (random.below(12)) {
    case 0:
      return agents.grant('library', bob, 'developer');
    case 1:
      return agents.revoke('library', bob);
    case 2:
      return agents.publish(
        'library',
        `${libraryModule}\nexport const n${id} = db.reducer(() => {});`,
      );
    case 3:
      return agents.host.reset(ada, 'library', undefined).then(() => undefined);
    case 4:
    case 5:
      await agents.call('library', 'write', [title], random.below(2) === 0 ? ada : bob);
      return;
    case 6:
      await agents.call('library', 'add_word', [title]);
      return;
    case 7:
    case 8:
      await agents.call('library', 'remove_book', [id]);
      return;
    default:
      await agents.call('library', 'add_book', [id, title]);
  }
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 1.3 * limits.watchNoticeMillis));

describe('a client that reads again what it is told of, and nothing else', () => {
  it.each([1, 2, 3])('[mcp B5] shows what is there, after any commits (seed %i)', async (seed) => {
    const random = new Random(seed);
    const clients = [ada, bob].map((caller) => new Client(agents.session(caller)));
    for (const client of clients) await client.begin();
    for (let round = 0; round < 6; round += 1) {
      for (let count = random.below(5); count >= 0; count -= 1) await step(random);
      await expect
        .poll(
          async () => {
            await settled();
            return wrong(clients);
          },
          { timeout: 20_000 },
        )
        .toEqual([]);
    }
    for (const client of clients) client.close();
  });
});

/** Returns the URIs for which a client shows stale content. */
async function wrong(clients: readonly Client[]): Promise<string[]> {
  const found: string[] = [];
  for (const client of clients) {
    await client.refresh();
    for (const uri of client.uris) {
      if (client.shown.get(uri) !== (await client.read(uri))) found.push(uri);
    }
  }
  return found;
}
