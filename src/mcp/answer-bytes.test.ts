import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentHost, ada, contextOf, person } from '../../test/support/agent-host.ts';
import { present } from '../assert.ts';
import type { RequestCaller } from '../auth/caller.ts';
import type { ToolResult } from '../mcp-protocol/tool.ts';
import { JsonObject, parseJson } from '../values/json.ts';
import { makeTools } from './tool-list.ts';

let agents: AgentHost;
const tools = makeTools();

beforeAll(async () => {
  agents = await AgentHost.open();
  await agents.publish('library');
  const ids = Array.from({ length: 200 }, (_, at) => at + 1);
  await agents.call('library', 'add_books', [ids]);
}, 240_000);
afterAll(() => agents.close());

/** How many rows the first page has; each is about ten bytes. */
async function rowCount(
  caller: RequestCaller,
  answerBytes: number | undefined,
  args: object = {},
): Promise<number> {
  const session = {
    ...agents.session(caller, 'library'),
    ...(answerBytes !== undefined && { answerBytes }),
  };
  const tool = present(
    tools(session).find(({ name }) => name === 'sql'),
    'the tool',
  );
  const given = parseJson(JSON.stringify({ sql: 'SELECT id, title FROM book', ...args }));
  if (!(given instanceof JsonObject)) throw new Error('arguments are an object');
  const { content } = (await tool.run(given, contextOf(session))) as ToolResult;
  const [first] = content;
  const [{ rows }] = JSON.parse(first !== undefined && 'text' in first ? first.text : '');
  return rows.length;
}

describe('the bytes of rows of an answer', () => {
  it('[ease 4.2] are those of the setting, or as many as the agent asks for', async () => {
    expect(await rowCount(ada, undefined)).toBe(200);
    const few = await rowCount(ada, 1_024);
    expect(few).toBeGreaterThan(50);
    expect(few).toBeLessThan(130);
    expect(await rowCount(ada, 1_024, { max_bytes: 32_768 })).toBe(200);
  });

  it('[ease 4.2] are not more than a limited token may have, whatever it asks for', async () => {
    const { identity: database } = agents.host.database('library');
    const limits = { tables: ['book'], readOnly: true, sqlWrites: false, bytesMax: 100 };
    const reader = person(0x4eadn, { capability: { database, by: ada.identity, ...limits } });
    for (const args of [{}, { max_bytes: 32_768 }]) {
      const count = await rowCount(reader, undefined, args);
      expect(count).toBeGreaterThan(4);
      expect(count).toBeLessThan(13);
    }
  });
});
