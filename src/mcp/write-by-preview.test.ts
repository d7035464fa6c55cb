import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentHost, ada, contextOf, libraryModule, person } from '../../test/support/agent-host.ts';
import { present } from '../assert.ts';
import type { ToolResult } from '../mcp-protocol/tool.ts';
import { JsonObject, parseJson } from '../values/json.ts';
import { makeSession } from './session.ts';
import { makeTools } from './tool-list.ts';

const withProcedure = `${libraryModule}
export const countBooks = db.procedure({}, t.u32(), (ctx) =>
  ctx.withTx((tx) => Number(tx.db.book.count())),
);
`;

let agents: AgentHost;
const tools = makeTools();

beforeAll(async () => {
  agents = await AgentHost.open();
  await agents.publish('library', withProcedure);
}, 240_000);
afterAll(() => agents.close());

/** The bearer of a token that writes by preview. */
function careful() {
  const { identity: database } = agents.host.database('library');
  const capability = {
    ...{ database, by: ada.identity, readOnly: false, sqlWrites: true },
    ...{ tables: ['book'], reducers: ['add_book', 'count_books'] },
    features: ['write-by-preview'],
  };
  return person(0xca4ef01n, { capability });
}

async function run(name: string, args: object): Promise<string> {
  const session = makeSession(agents.session(careful(), 'library'));
  const tool = present(
    tools(session).find((one) => one.name === name),
    `the tool ${name}`,
  );
  const given = parseJson(JSON.stringify(args));
  if (!(given instanceof JsonObject)) throw new Error('arguments are an object');
  const { content } = (await tool.run(given, contextOf(session))) as ToolResult;
  return content.map((one) => ('text' in one ? one.text : '')).join('\n');
}

const books = async () => {
  const text = await run('sql', { sql: 'SELECT id FROM book ORDER BY id' });
  return (JSON.parse(text.split('\n')[0] ?? '') as [{ rows: [number][] }])[0].rows.flat();
};

describe('a token that writes by preview', () => {
  it('[ease 4.9] [ruling 2.1] cannot call reducers and procedures, nor write by SQL', async () => {
    const refused = 'This token can only write by applying a preview';
    expect(await run('call', { reducer: 'add_book', args: [1, 'one'] })).toContain(refused);
    expect(await run('call', { reducer: 'count_books' })).toContain(refused);
    const sql = "INSERT INTO book (id, title) VALUES (1, 'one')";
    expect(await run('sql', { sql })).toContain(refused);
    expect(await run('sql', { sql: 'EXPLAIN ANALYZE DELETE FROM book' })).toContain(refused);
    expect(await agents.call('library', 'add_book', [1, 'one'], careful())).toBe('aborted');
    expect(await books()).toEqual([]);
  });

  it('[ease 4.9] applies what it has previewed, calls and statements', async () => {
    const works = [
      ['preview_call', { reducer: 'add_book', args: [1, 'one'] }],
      ['preview_sql', { sql: "INSERT INTO book (id, title) VALUES (2, 'two')" }],
    ] as const;
    for (const [tool, args] of works) {
      const shown = await run(tool, args);
      const preview = /apply_preview with `preview`: "([^"]+)"/.exec(shown)?.[1] ?? shown;
      await run('apply_preview', { preview });
    }
    expect(await books()).toEqual([1, 2]);
  });

  it('[ease 4.9] may not import, nor call handlers', () => {
    const database = agents.host.database('library');
    const caller = careful();
    expect(() => agents.host.access.requireHandler(caller, database, 'add_book')).toThrow(
      'A limited token that writes by preview cannot call the handler `add_book`',
    );
    expect(agents.host.access.allows(caller, database, 'importRows')).toBe(false);
  });
});
