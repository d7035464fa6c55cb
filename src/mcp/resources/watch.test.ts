import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  AgentHost,
  ada,
  bob,
  contextOf,
  guideDirectory,
  libraryModule,
  person,
} from '../../../test/support/agent-host.ts';
import { limits } from '../../limits.ts';
import type { Watch } from '../../mcp-protocol/resource.ts';
import type { McpSession } from '../session.ts';
import { DatabaseResources } from './database-resources.ts';
import { GuidePages } from './guide-pages.ts';

const resources = new DatabaseResources(new GuidePages(guideDirectory));
const book = 'reducerdb:///library/tables/book';
const loan = 'reducerdb:///library/tables/loan';
const diary = 'reducerdb:///library/tables/diary';
const schema = 'reducerdb:///library/schema';
const logs = 'reducerdb:///library/logs';
const databases = 'reducerdb:///databases';

/** Each client that connects or disconnects leaves a row. */
const visitorsModule = `
import { schema, t, table } from 'reducerdb/server';
const visit = table({ public: true }, { id: t.u64().primaryKey().autoInc(), who: t.identity() });
const db = schema({ visit });
export default db;
const note = (ctx) => ctx.db.visit.insert({ id: 0n, who: ctx.sender });
export const come = db.clientConnected(note);
export const go = db.clientDisconnected(note);
export const nod = db.reducer(() => {});
`;

let agents: AgentHost;
let watches: Watched[];

beforeEach(async () => {
  agents = await AgentHost.open();
  watches = [];
  await agents.publish('library');
});
afterEach(async () => {
  for (const { watch } of watches) watch.close();
  await agents.close();
});

/** The notices of one watch. */
class Watched {
  readonly watch: Watch;
  readonly told: string[];

  constructor(watch: Watch, told: string[]) {
    this.watch = watch;
    this.told = told;
  }

  /** Waits for notices of exactly these, in any order, since the last call. */
  async hears(...whats: string[]): Promise<void> {
    await expect.poll(() => [...new Set(this.told)].sort()).toEqual([...whats].sort());
    await this.quiet();
    expect([...new Set(this.told)].sort()).toEqual([...whats].sort());
    this.told.length = 0;
  }

  async hearsNothing(): Promise<void> {
    await this.quiet();
    expect(this.told).toEqual([]);
  }

  /** Waits until all pending notices have been sent. */
  private quiet(): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, 1.2 * limits.watchNoticeMillis));
  }
}

async function watch(session: McpSession, uris: string[], list = false): Promise<Watched> {
  const told: string[] = [];
  const request = {
    ...{ uris, list },
    updated: (uri: string) => void told.push(uri),
    listChanged: () => void told.push('list'),
    ended: () => void told.push('ended'),
  };
  const watched = new Watched(await resources.watch(request, session), told);
  watches.push(watched);
  return watched;
}

describe('watching a resource', () => {
  it('[mcp B5] takes what exists for the caller, each once, and leaves out the rest', async () => {
    const uris = [
      ...[book, 'reducerdb:///docs/sql', loan, logs, schema, book, databases, 'file:///x'],
      ...['reducerdb:///library/tables/nothing', 'reducerdb:///nowhere/schema'],
    ];
    const asked = async (session: McpSession) => (await watch(session, uris)).watch.uris;
    const page = 'reducerdb:///docs/sql';
    expect(await asked(agents.session(ada))).toEqual([book, page, loan, logs, schema, databases]);
    expect(await asked(agents.session(bob))).toEqual([book, page, schema, databases]);
    expect(await asked(agents.session(bob, 'library'))).toEqual([book, page, schema]);
    expect(await asked(agents.session(bob, 'nowhere'))).toEqual([page]);
  });

  it('[mcp B5] takes no more than its bound', async () => {
    const uris = Array.from(
      { length: limits.watchedResourcesMax },
      (_, n) => `reducerdb:///a/${n}`,
    );
    expect((await watch(agents.session(ada), [...uris.slice(1), book])).watch.uris).toEqual([book]);
    expect((await watch(agents.session(ada), [...uris, book])).watch.uris).toEqual([]);
  });

  it('[mcp B5] tells of a commit that changes rows which the resource shows', async () => {
    const stranger = await watch(agents.session(bob), [book, diary]);
    const owner = await watch(agents.session(ada), [book, diary]);
    await agents.call('library', 'add_book', [1, 'one']);
    await Promise.all([stranger.hears(book), owner.hears(book)]);
    await agents.call('library', 'write', ['of ada'], ada);
    await Promise.all([stranger.hearsNothing(), owner.hears(diary)]);
    await agents.call('library', 'write', ['of bob'], bob);
    await Promise.all([stranger.hears(diary), owner.hears(diary)]);
    await agents.call('library', 'add_book', [2, '']);
    await Promise.all([stranger.hearsNothing(), owner.hearsNothing()]);
  });

  it('[mcp B5] does not tell of rows behind those that the resource shows', async () => {
    const ids = Array.from({ length: limits.resourceRowsMax + 1 }, (_, id) => 2 * id);
    await agents.call('library', 'add_books', [ids]);
    const watched = await watch(agents.session(bob), [book]);
    await agents.call('library', 'add_book', [5_000, 'far behind']);
    await watched.hearsNothing();
    await agents.call('library', 'add_book', [1, 'in front']);
    await watched.hears(book);
  });

  it('[mcp B5] tells of the rows with a value, and not of others', async () => {
    const one = `${book}/id/1`;
    const two = `${book}/id/2`;
    const watched = await watch(agents.session(bob), [one, two, `${book}/id/${10n ** 30n}`]);
    expect(watched.watch.uris).toEqual([one, two]);
    await agents.call('library', 'add_book', [2, 'two']);
    await watched.hears(two);
    await agents.call('library', 'add_book', [3, 'three']);
    await watched.hearsNothing();
  });

  it('[mcp B5] tells of many commits a few times a second', async () => {
    const watched = await watch(agents.session(bob), [book]);
    const start = Date.now();
    let id = 0;
    while (Date.now() - start < 1_000) await agents.call('library', 'add_book', [id++, 'x']);
    await expect.poll(() => watched.told.length).toBeGreaterThan(1);
    const periods = Math.ceil((Date.now() - start) / limits.watchNoticeMillis);
    expect(watched.told.length).toBeLessThanOrEqual(periods + 1);
    expect(id).toBeGreaterThan(watched.told.length);
  });

  it('[mcp B5] tells of lines in the log, and of its being emptied', async () => {
    const watched = await watch(agents.session(ada), [logs]);
    await agents.call('library', 'break');
    await watched.hears(logs);
    await agents.host.reset(ada, 'library', undefined);
    await watched.hears(logs);
    await agents.call('library', 'break');
    await watched.hears(logs);
  });

  it('[mcp B5] leaves no trace, nor does reading: so nobody hears of themselves', async () => {
    await agents.publish('inn', visitorsModule);
    const visits = 'reducerdb:///inn/tables/visit';
    const watched = await watch(agents.session(bob), [visits]);
    const context = contextOf(agents.session(bob));
    const read = async () => (await resources.read(visits, context))?.[0]?.text;
    expect(await read()).toContain('"rows":[\n\n]');
    await watched.hearsNothing();
    await agents.call('inn', 'nod');
    await watched.hears(visits);
    expect(await read()).toContain('{"id":2,');
    await watched.hearsNothing();
  });

  it('[mcp B5] ends with the watch', async () => {
    const watched = await watch(agents.session(ada), [book, logs, schema], true);
    watched.watch.close();
    await agents.call('library', 'add_book', [1, 'one']);
    await agents.publish('another');
    await watched.hearsNothing();
    expect(agents.host.database('library').handle.statistics().connections).toBe(0);
  });
});

describe('watching while databases change', () => {
  it('[mcp B5] tells of databases that come, go and are renamed, to their owner', async () => {
    const owner = await watch(agents.session(ada), [databases], true);
    const other = await watch(agents.session(bob), [databases], true);
    await agents.publish('second');
    await owner.hears(databases, 'list');
    await agents.host.addName(ada, 'second', 'third');
    await owner.hears(databases);
    await agents.host.remove(ada, 'second');
    await owner.hears(databases, 'list');
    await other.hearsNothing();
  });

  it('[mcp B5] tells of another program: its schema, its list, and its tables', async () => {
    const watched = await watch(agents.session(bob, 'library'), [schema, book], true);
    await agents.publish('library', `${libraryModule}\nexport const more = db.reducer(() => {});`);
    await watched.hears(schema, book);
    await agents.publish('library', libraryModule.replaceAll('word', 'term'));
    await watched.hears(schema, book, 'list');
    await agents.call('library', 'add_book', [1, 'one']);
    await watched.hears(book);
  });

  it('[mcp B5] does not tell of what it did not take', async () => {
    const uris = ['reducerdb:///later/schema', 'reducerdb:///later/tables/book', loan];
    const watched = await watch(agents.session(bob), uris);
    expect(watched.watch.uris).toEqual([]);
    await agents.publish('later');
    await agents.grant('library', bob, 'reader');
    await agents.call('later', 'add_book', [1, 'one']);
    await watched.hearsNothing();
  });

  it('[mcp B5] goes on after an update that ends all connections, and after a reset', async () => {
    const watched = await watch(agents.session(bob), [book]);
    const broken = libraryModule
      .replace('title: t.string(),', 'title: t.string(), n: t.u8().default(0),')
      .replace('insert({ id, title })', 'insert({ id, title, n: 1 })')
      .replace("insert({ id, title: 'x' })", "insert({ id, title: 'x', n: 1 })");
    await agents.publish('library', broken);
    await watched.hears(book);
    await agents.call('library', 'add_book', [1, 'one']);
    await watched.hears(book);
    await agents.host.reset(ada, 'library', undefined);
    await watched.hears(book);
    await agents.call('library', 'add_book', [1, 'one']);
    await watched.hears(book);
  });

  it('[mcp B5] begins as well while the database changes', async () => {
    const [watched] = await Promise.all([
      watch(agents.session(bob), [book, schema]),
      agents.host.reset(ada, 'library', undefined),
    ]);
    expect(watched.watch.uris).toEqual([book, schema]);
    await expect.poll(() => agents.call('library', 'add_book', [1, 'one'])).toBe('committed');
    await expect.poll(() => watched.told).toContain(book);
  });

  it('[mcp B5] tells that a database is gone, and that one of its name is there', async () => {
    const watched = await watch(agents.session(bob), [book, schema]);
    await agents.host.remove(ada, 'library');
    await watched.hears(book, schema);
    await agents.publish('library');
    await watched.hears(book, schema);
    await agents.call('library', 'add_book', [1, 'one']);
    await watched.hears(book);
  });
});

describe('watching a database that crashes', () => {
  const spinningModule = `${libraryModule}
    export const spin = db.reducer(() => { for (;;) {} });
  `;
  let crashing: AgentHost;
  beforeEach(async () => {
    crashing = await AgentHost.open({ placement: 'worker', budget: { callMillisMax: 2_000 } });
    await crashing.publish('library', spinningModule);
  });
  afterEach(() => crashing.close());

  it('[mcp B5] goes on when it is there again, and tells that much may have changed', async () => {
    const watched = await watch(crashing.session(bob), [book, diary]);
    expect(await crashing.call('library', 'spin')).toBe('aborted');
    const told = () => [...new Set(watched.told)].sort();
    await expect.poll(told, { timeout: 10_000 }).toEqual([book, diary]);
    watched.told.length = 0;
    await crashing.call('library', 'add_book', [1, 'one']);
    await watched.hears(book);
    watched.watch.close();
  });
});

describe('watching while rights change', () => {
  it('[mcp B5] tells that what a role showed is gone, and then nothing of it', async () => {
    await agents.grant('library', bob, 'developer');
    const watched = await watch(agents.session(bob), [diary, logs]);
    expect(watched.watch.uris).toEqual([diary, logs]);
    await agents.call('library', 'write', ['of ada'], ada);
    await watched.hears(diary);
    await agents.revoke('library', bob);
    await watched.hears(diary, logs);
    await agents.call('library', 'write', ['of ada'], ada);
    await agents.call('library', 'break');
    await watched.hearsNothing();
    await agents.grant('library', bob, 'developer');
    await watched.hears(diary, logs);
    await agents.call('library', 'write', ['of ada'], ada);
    await watched.hears(diary);
  });

  it('[mcp B5] ends when the token is revoked, and hears nothing of others', async () => {
    const carol = person(0xca401n);
    const watched = await watch(agents.session(carol), [book]);
    await agents.host.grants.giveUpToken(bob, bob.tokenId, undefined);
    await watched.hearsNothing();
    await agents.host.grants.giveUpToken(carol, carol.tokenId, undefined);
    await watched.hears('ended');
    await agents.call('library', 'add_book', [1, 'one']);
    await watched.hearsNothing();
  });

  it('[mcp B5] ends when a limited token expires, and sees what the token may', async () => {
    const { host } = agents;
    const { identity: database } = host.database('library');
    const limitsOfToken = { readOnly: false, sqlWrites: false, tables: ['loan'] };
    const capability = { database, by: ada.identity, ...limitsOfToken };
    const expiresAt = Math.ceil(Date.now() / 1_000) + 1;
    const agent = person(0xa6n, { capability });
    const token = { id: agent.tokenId, capability, expiresAt };
    await host.grants.noteToken(ada, host.database('library'), token);
    const watched = await watch(agents.session(agent), [book, loan]);
    expect(watched.watch.uris).toEqual([loan]);
    await expect.poll(() => watched.told, { timeout: 5_000 }).toEqual(['ended']);
  });
});
