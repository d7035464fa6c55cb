import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  AgentHost,
  ada,
  bob,
  contextOf,
  guideDirectory,
  libraryModule,
  operator,
  person,
} from '../../../test/support/agent-host.ts';
import type { RequestCaller } from '../../auth/caller.ts';
import { limits } from '../../limits.ts';
import { identityToHex } from '../../values/identity.ts';
import type { McpSession } from '../session.ts';
import { DatabaseResources } from './database-resources.ts';
import { GuidePages } from './guide-pages.ts';

const resources = new DatabaseResources(new GuidePages(guideDirectory));
let agents: AgentHost;

beforeAll(async () => {
  agents = await AgentHost.open();
  await agents.publish('library');
  await agents.publish('docs');
  for (const id of [3, 1, 2]) await agents.call('library', 'add_book', [id, `book ${id}`]);
  for (const text of ['b', 'a', 'c']) await agents.call('library', 'add_word', [text]);
  await agents.call('library', 'write', ['of ada'], ada);
  await agents.call('library', 'write', ['of bob'], bob);
});
afterAll(() => agents.close());

const urisOf = async (session: McpSession) =>
  (await resources.list(session)).map(({ uri }) => uri).filter((uri) => !uri.includes('/docs/'));

async function textOf(uri: string, session: McpSession): Promise<string | undefined> {
  const [content] = (await resources.read(uri, contextOf(session))) ?? [];
  return content?.text;
}

const jsonOf = async (uri: string, session: McpSession) =>
  JSON.parse((await textOf(uri, session)) ?? 'null');

const everything = (name: string) => [
  `reducerdb:///${name}/schema`,
  `reducerdb:///${name}/logs`,
  ...['book', 'diary', 'loan', 'word', 'titles'].map(
    (table) => `reducerdb:///${name}/tables/${table}`,
  ),
];
const forEverybody = [
  'reducerdb:///library/schema',
  ...['book', 'diary', 'word', 'titles'].map((table) => `reducerdb:///library/tables/${table}`),
];

/** The bearer of a limited token; the host trusts what the door has checked. */
const limited = (more: object): RequestCaller =>
  person(0x11n, {
    capability: {
      database: agents.host.database('library').identity,
      by: ada.identity,
      readOnly: false,
      sqlWrites: false,
      ...more,
    },
  });

describe('the list of resources', () => {
  it('[mcp B7] has the databases of the caller, and all of an operator', async () => {
    expect(await urisOf(agents.session(ada))).toEqual([
      'reducerdb:///databases',
      ...everything('library'),
      // The address of a database called `docs` looks like one of the guide: filtered above.
    ]);
    expect(await urisOf(agents.session(bob))).toEqual(['reducerdb:///databases']);
    expect(await urisOf(agents.session(operator))).toContain('reducerdb:///library/logs');
  });

  it('[mcp B7] has one database where that is fixed, by its name', async () => {
    expect(await urisOf(agents.session(ada, 'library'))).toEqual(everything('library'));
    const hex = identityToHex(agents.host.database('library').identity);
    expect(await urisOf(agents.session(ada, hex))).toEqual(everything('library'));
    expect(await urisOf(agents.session(bob, 'library'))).toEqual(forEverybody);
    expect(await urisOf(agents.session(bob, 'nowhere'))).toEqual([]);
  });

  it('[mcp B7] has for a limited token what it may read', async () => {
    const uris = ['reducerdb:///library/schema', 'reducerdb:///library/tables/loan'];
    const one = limited({ tables: ['loan'] });
    expect(await urisOf(agents.session(one, 'library'))).toEqual(uris);
    expect(await urisOf(agents.session(one))).toEqual(['reducerdb:///databases', ...uris]);
    expect(await urisOf(agents.session(one, 'docs'))).toEqual([]);
  });

  it('[mcp B7] says of each what it is, under names that are all different', async () => {
    const listed = await resources.list(agents.session(ada));
    expect(new Set(listed.map(({ uri }) => uri)).size).toBe(listed.length);
    expect(new Set(listed.map(({ name }) => name)).size).toBe(listed.length);
    for (const one of listed) {
      expect(one.title).toBeTruthy();
      expect(one.description).toMatch(/^[A-Z`].*\.$/);
      expect(one.mimeType).toMatch(/^(application\/(json|x-ndjson)|text\/markdown)$/);
    }
  });

  it('[mcp B7] has templates without other databases where one is fixed', async () => {
    const templates = async (session: McpSession) =>
      (await resources.templates(session)).map(({ uriTemplate }) => uriTemplate);
    expect(await templates(agents.session(ada))).toEqual([
      'reducerdb:///{database}/schema',
      'reducerdb:///{database}/tables/{table}',
      'reducerdb:///{database}/tables/{table}/{column}/{value}',
      'reducerdb:///docs/{page}',
      'reducerdb:///{database}/logs',
    ]);
    expect(await templates(agents.session(ada, 'library'))).toEqual([
      'reducerdb:///library/tables/{table}',
      'reducerdb:///library/tables/{table}/{column}/{value}',
      'reducerdb:///docs/{page}',
    ]);
  });
});

describe('reading a resource', () => {
  it('[mcp B7] shows the databases as list_databases does', async () => {
    const names = async (caller: RequestCaller) => {
      const { databases } = await jsonOf('reducerdb:///databases', agents.session(caller));
      return databases.map((one: { names: string[] }) => one.names);
    };
    expect(await names(ada)).toEqual([['library'], ['docs']]);
    expect(await names(bob)).toEqual([]);
    expect(await textOf('reducerdb:///databases', agents.session(ada, 'library'))).toBeUndefined();
  });

  it('[mcp B7] shows the schema to everybody, to a limited token what it may use', async () => {
    const tables = async (session: McpSession) => {
      const schema = await jsonOf('reducerdb:///library/schema', session);
      return schema.tables.map(({ name }: { name: string }) => name);
    };
    expect(await tables(agents.session(bob))).toContain('loan');
    expect(await tables(agents.session(limited({ tables: ['book'] })))).toEqual(['book']);
  });

  it('[mcp B7] shows rows by the key, or by all columns', async () => {
    const book = await jsonOf('reducerdb:///library/tables/book', agents.session(bob));
    expect(book).toEqual({
      table: 'book',
      offset: expect.any(Number),
      truncated: false,
      rows: [1, 2, 3].map((id) => ({ id, title: `book ${id}` })),
    });
    const { rows } = await jsonOf('reducerdb:///library/tables/word', agents.session(bob));
    expect(rows.map(({ text }: { text: string }) => text)).toEqual(['a', 'b', 'c']);
    const { rows: titles } = await jsonOf(
      'reducerdb:///library/tables/titles',
      agents.session(bob),
    );
    expect(titles).toEqual([1, 2, 3].map((id) => ({ title: `book ${id}` })));
  });

  it('[mcp B7] shows the rows that have a value in a column', async () => {
    const titles = async (where: string, session = agents.session(bob)) => {
      const shown = await jsonOf(`reducerdb:///library/tables/${where}`, session);
      return shown?.rows.map(({ title, text }: Record<string, string>) => title ?? text);
    };
    expect(await titles('book/id/2')).toEqual(['book 2']);
    expect(await titles('book/id/7')).toEqual([]);
    expect(await titles('book/title/book%203')).toEqual(['book 3']);
    expect(await titles('titles/title/book%201')).toEqual(['book 1']);
    expect(await titles("book/title/'%20OR%20''%3D'")).toEqual([]);
    const hex = identityToHex(ada.identity);
    expect(await titles(`diary/who/${hex}`)).toEqual([]);
    expect(await titles(`diary/who/${hex}`, agents.session(ada))).toEqual(['of ada']);
    expect(await titles('book/nothing/1')).toBeUndefined();
    expect(await titles('book/id/one')).toBeUndefined();
    expect(await titles('loan/id/1')).toBeUndefined();
    const tooLarge = textOf(
      `reducerdb:///library/tables/book/id/${10n ** 30n}`,
      agents.session(bob),
    );
    await expect(tooLarge).rejects.toMatchObject({ code: -32602 });
  });

  it('[mcp B7] keeps every digit of integers that JavaScript cannot hold', async () => {
    const wide = 2n ** 64n - 1n;
    await agents.publish('wide');
    expect(await agents.call('wide', 'add_book', `[${wide},"wide"]`)).toBe('committed');
    const { rows } = await jsonOf('reducerdb:///wide/tables/book', agents.session(ada));
    expect(rows).toEqual([{ id: String(wide), title: 'wide' }]);
    await agents.host.remove(ada, 'wide');
  });

  it('[mcp B7] shows each caller its own rows behind a filter', async () => {
    const texts = async (caller: RequestCaller) => {
      const { rows } = await jsonOf('reducerdb:///library/tables/diary', agents.session(caller));
      return rows.map(({ text }: { text: string }) => text);
    };
    expect(await texts(bob)).toEqual(['of bob']);
    expect(await texts(person(0x99n))).toEqual([]);
    expect(await texts(ada)).toEqual(['of ada', 'of bob']);
  });

  it('[mcp B7] shows no more rows than a resource may have, and says so', async () => {
    await agents.publish('many');
    const shown = async () => {
      const session = agents.session(ada);
      const { rows, truncated } = await jsonOf('reducerdb:///many/tables/book', session);
      return [rows.length, rows.at(-1).id, truncated];
    };
    const { resourceRowsMax: most } = limits;
    await agents.call('many', 'add_books', [Array.from({ length: most }, (_, id) => id)]);
    expect(await shown()).toEqual([most, most - 1, false]);
    await agents.call('many', 'add_books', [[most]]);
    expect(await shown()).toEqual([most, most - 1, true]);
  });

  it('[mcp B7] shows no more text than a resource may have, and says so', async () => {
    const title = 'x'.repeat(limits.resourceCharactersMax / 4);
    await agents.publish('long');
    for (const id of [1, 2, 3, 4]) await agents.call('long', 'add_book', [id, title]);
    const uri = 'reducerdb:///long/tables/book';
    const { rows, truncated } = await jsonOf(uri, agents.session(ada));
    expect([rows.length, truncated]).toEqual([3, true]);
  });

  it('[mcp B7] shows a limited token as many rows as it may have, and says so', async () => {
    const rowsOf = async (rowsMax: number) => {
      const session = agents.session(limited({ tables: ['book'], rowsMax }));
      const { rows, truncated } = await jsonOf('reducerdb:///library/tables/book', session);
      return [rows.length, truncated];
    };
    expect(await rowsOf(2)).toEqual([2, true]);
    expect(await rowsOf(4)).toEqual([3, false]);
  });

  it('[mcp B7] shows the log to those who may read it', async () => {
    const uri = 'reducerdb:///library/logs';
    const lines = ((await textOf(uri, agents.session(ada))) ?? '').trimEnd().split('\n');
    const messages = lines.map((line) => JSON.parse(line).message);
    expect(messages).toContain('added book 3');
    expect(await textOf(uri, agents.session(bob))).toBeUndefined();
    await agents.grant('library', bob, 'reader');
    expect(await textOf(uri, agents.session(bob))).toBeUndefined();
    await agents.grant('library', bob, 'developer');
    expect(await textOf(uri, agents.session(bob))).toContain('added book 3');
    await agents.revoke('library', bob);
  });

  it('[mcp B7] shows the guide of this version, with a title and a summary', async () => {
    const listed = await resources.list(agents.session(bob, 'library'));
    const page = listed.find(({ uri }) => uri === 'reducerdb:///docs/sql');
    expect(page).toMatchObject({ title: 'SQL', mimeType: 'text/markdown' });
    expect(page?.description).toMatch(/^Send SQL to a database over HTTP/);
    const text = (await textOf('reducerdb:///docs/sql', agents.session(bob))) ?? '';
    expect(text.startsWith('# SQL\n')).toBe(true);
    expect(Buffer.byteLength(text)).toBe(page?.size);
  });

  it('[mcp B7] shows a guide whose pages lead to each other', async () => {
    const session = agents.session(bob, 'library');
    const pages = (await resources.list(session)).filter(({ uri }) => uri.includes('/docs/'));
    const links = new Set<string>();
    for (const { uri } of pages) {
      const text = (await textOf(uri, session)) ?? '';
      for (const [, target = ''] of text.matchAll(/\]\((reducerdb:[^)]*)\)/g)) links.add(target);
    }
    expect(links.size).toBeGreaterThan(4);
    for (const link of links) expect(await textOf(link, session)).toBeDefined();
  });

  it.each([
    ['a private table', 'reducerdb:///library/tables/loan'],
    ['a table that is not there', 'reducerdb:///library/tables/nothing'],
    ['an event table, which keeps no rows', 'reducerdb:///library/tables/ding'],
    ['a system table', 'reducerdb:///library/tables/st_table'],
    ['a database that is not there', 'reducerdb:///nowhere/schema'],
    ['a name that is none', 'reducerdb:///No%20Name/schema'],
    ['a page that is not there', 'reducerdb:///docs/nothing'],
    ['a file beside the guide', 'reducerdb:///docs/..%2Fperformance'],
    ['an address of something else', 'file:///etc/passwd'],
  ])('[mcp B7] finds nothing at %s', async (_what, uri) => {
    expect(await textOf(uri, agents.session(bob))).toBeUndefined();
  });

  it('[mcp B7] finds no other database where one is fixed, under any name', async () => {
    const session = agents.session(ada, 'library');
    const hex = identityToHex(agents.host.database('library').identity);
    expect(await textOf('reducerdb:///docs/schema', session)).toBeUndefined();
    expect(await textOf('reducerdb:///docs/tables/book', session)).toBeUndefined();
    expect(await textOf(`reducerdb:///${hex}/schema`, session)).toBeDefined();
    expect(await textOf('reducerdb:///docs/schema', agents.session(limited({})))).toBeUndefined();
  });

  it('[mcp B7] finds for a limited token what it names, and nothing else', async () => {
    const session = agents.session(limited({ tables: ['loan'] }));
    expect(await textOf('reducerdb:///library/tables/loan', session)).toBeDefined();
    expect(await textOf('reducerdb:///library/tables/book', session)).toBeUndefined();
    expect(await textOf('reducerdb:///library/logs', session)).toBeUndefined();
    const logs = agents.session(limited({ features: ['logs'] }));
    expect(await textOf('reducerdb:///library/logs', logs)).toContain('added book 3');
  });

  it('[mcp B7] shows each caller its own schema, whoever asked before', async () => {
    await agents.publish('changing');
    const { identity: database } = agents.host.database('changing');
    const sessions = [
      agents.session(bob),
      agents.session(limited({ database, tables: ['loan'] })),
      agents.session(limited({ database, tables: ['book', 'word'] })),
      agents.session(ada),
    ];
    const tablesOf = async (session: McpSession) => {
      const { tables } = await jsonOf('reducerdb:///changing/schema', session);
      return tables.map(({ name }: { name: string }) => name);
    };
    const all = ['book', 'diary', 'ding', 'loan', 'word'];
    for (const round of ['first', 'again']) {
      const shown = await Promise.all(sessions.map(tablesOf));
      expect(shown, round).toEqual([all, ['loan'], ['book', 'word'], all]);
    }
    await agents.publish('changing', libraryModule.replaceAll('ding', 'dong'));
    expect(await tablesOf(agents.session(bob))).toContain('dong');
  });
});
