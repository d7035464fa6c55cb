import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentHost, ada, bob, guideDirectory } from '../../test/support/agent-host.ts';
import { complete } from './completion.ts';
import { GuidePages } from './resources/guide-pages.ts';
import type { McpSession } from './session.ts';

const guide = new GuidePages(guideDirectory);
let agents: AgentHost;

beforeAll(async () => {
  agents = await AgentHost.open();
  await agents.publish('library');
  await agents.publish('my-library');
  await agents.publish('shop', undefined, bob);
});
afterAll(() => agents.close());

const explore = { kind: 'prompt', name: 'explore_database' } as const;
const explain = { kind: 'prompt', name: 'explain_failing_reducer' } as const;
const rows = { kind: 'resource', uri: 'reducerdb:///{database}/tables/{table}' } as const;

async function valuesOf(
  session: McpSession,
  ref: typeof explore | typeof explain | typeof rows | { kind: 'resource'; uri: string },
  [name, value]: [string, string],
  others: Record<string, string> = {},
) {
  const argument = { name, value };
  const request = { ref, argument, others: new Map(Object.entries(others)) };
  return (await complete(request, session, guide)).values;
}

describe('completion', () => {
  it('[mcp B8] of databases: those that the caller is listed', async () => {
    const session = agents.session(ada);
    expect(await valuesOf(session, explore, ['database', ''])).toEqual(['library', 'my-library']);
    expect(await valuesOf(session, rows, ['database', 'LIB'])).toEqual(['library', 'my-library']);
    expect(await valuesOf(session, rows, ['database', 'my'])).toEqual(['my-library']);
    expect(await valuesOf(agents.session(bob), rows, ['database', ''])).toEqual(['shop']);
  });

  it('[mcp B8] of tables and columns: those that the caller may read', async () => {
    const ofTables = (session: McpSession) =>
      valuesOf(session, explore, ['table', ''], { database: 'library' });
    expect(await ofTables(agents.session(ada))).toEqual([
      'book',
      'diary',
      'loan',
      'word',
      'titles',
    ]);
    expect(await ofTables(agents.session(bob))).toEqual(['book', 'diary', 'word', 'titles']);
    const ofColumns = (session: McpSession, table: string) =>
      valuesOf(session, explore, ['column', ''], { database: 'library', table });
    expect(await ofColumns(agents.session(ada), 'loan')).toEqual(['id', 'book_id', 'who']);
    expect(await ofColumns(agents.session(bob), 'loan')).toEqual([]);
    const all = await valuesOf(agents.session(bob), explore, ['column', 't'], {
      database: 'library',
    });
    expect(all).toEqual(['title', 'text', 'count']);
  });

  it('[mcp B8] of reducers: those that the caller may call', async () => {
    const session = agents.session(bob, 'library');
    expect(await valuesOf(session, explain, ['reducer', 'a'])).toEqual([
      'add_book',
      'add_books',
      'add_word',
      'break',
    ]);
    expect(await valuesOf(session, explain, ['error', ''])).toEqual([]);
  });

  it('[mcp B8] where a database is fixed, is of that one', async () => {
    const session = agents.session(ada, 'library');
    const uri = 'reducerdb:///library/tables/{table}';
    const scoped = { kind: 'resource', uri } as const;
    expect(await valuesOf(session, scoped, ['table', 'bo'], { database: 'shop' })).toEqual([
      'book',
    ]);
    expect(await valuesOf(session, explore, ['database', ''])).toEqual([]);
  });

  it('[mcp B8] of pages of the guide', async () => {
    const page = { kind: 'resource', uri: 'reducerdb:///docs/{page}' } as const;
    expect(await valuesOf(agents.session(bob), page, ['page', 's'])).toContain('sql');
  });

  it('[mcp B8] of what there is not', async () => {
    const session = agents.session(ada);
    expect(await valuesOf(session, rows, ['table', ''], { database: 'nowhere' })).toEqual([]);
    expect(await valuesOf(session, rows, ['table', ''])).toEqual([]);
    expect(await valuesOf(session, rows, ['something', ''])).toEqual([]);
    for (const [ref, message] of [
      [{ kind: 'prompt', name: 'x' }, 'unknown prompt: x'],
      [{ kind: 'resource', uri: 'x' }, 'unknown resource template: x'],
    ] as const) {
      const request = { ref, argument: { name: 'table', value: '' }, others: new Map() };
      await expect(complete(request, session, guide)).rejects.toMatchObject({
        code: -32602,
        message,
      });
    }
  });
});
