import v8 from 'node:v8';
import vm from 'node:vm';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentHost, ada, bob, contextOf } from '../../../test/support/agent-host.ts';
import { present } from '../../assert.ts';
import type { RequestCaller } from '../../auth/caller.ts';
import type { ToolResult } from '../../mcp-protocol/tool.ts';
import { JsonObject, parseJson } from '../../values/json.ts';
import { rowDifference } from '../row-difference.ts';
import { makeTools } from '../tool-list.ts';

let agents: AgentHost;
const tools = makeTools();

beforeAll(async () => {
  agents = await AgentHost.open();
  await agents.publish('library');
});
afterAll(() => agents.close());

interface Waited {
  readonly isError: boolean;
  readonly texts: readonly string[];
  readonly change: { added: unknown[]; removed: unknown[]; since: string; offset: number };
}

async function wait(args: object, caller: RequestCaller = ada): Promise<Waited> {
  const session = agents.session(caller, 'library', ['watch']);
  const tool = present(
    tools(session).find(({ name }) => name === 'wait_for_change'),
    'the tool',
  );
  const given = parseJson(JSON.stringify(args));
  if (!(given instanceof JsonObject)) throw new Error('arguments are an object');
  const { isError, content, structured } = (await tool.run(
    given,
    contextOf(session),
  )) as ToolResult;
  const texts = content.map((one) => ('text' in one ? one.text : ''));
  return { isError, texts, change: structured === undefined ? undefined : JSON.parse(structured) };
}

const sql = 'SELECT id, title FROM book WHERE id < 100';

describe('wait_for_change', () => {
  it('[ease 4.9] gives the rows that came and went, and goes on from there', async () => {
    const waiting = wait({ sql });
    // The wait has begun when the connection is there; until then, rows come and go.
    for (let id = 1; ; id += 1) {
      await agents.call('library', 'add_book', [id, `book ${id}`]);
      const done = await Promise.race([waiting, new Promise((go) => setTimeout(go, 50))]);
      if (done !== undefined) break;
    }
    const { added, removed, since } = (await waiting).change;
    expect(added.length).toBeGreaterThan(0);
    expect(removed).toEqual([]);
    // Of what happened since, nothing is missed, whatever was read in between.
    await agents.call('library', 'add_book', [90, 'ninety']);
    await agents.call('library', 'remove_book', [90]);
    await agents.call('library', 'add_book', [91, 'ninety-one']);
    const next = await wait({ sql, since });
    expect(next.change.added.at(-1)).toEqual([91, 'ninety-one']);
    expect(next.change.added).not.toContainEqual([90, 'ninety']);
    await agents.call('library', 'remove_book', [91]);
    const gone = await wait({ sql, since: next.change.since });
    expect(gone.change).toMatchObject({ added: [], removed: [[91, 'ninety-one']] });
    expect(gone.change.offset).toBeGreaterThan(next.change.offset);
  });

  it('[ease 4.9] ends without rows when nothing changes in time', async () => {
    const { isError, change } = await wait({ sql, timeout: 1 });
    expect([isError, change.added, change.removed]).toEqual([false, [], []]);
  });

  it('[ease 4.9] says what is wrong with a statement, a moment or a time', async () => {
    const texts = async (args: object, caller = ada) => (await wait(args, caller)).texts;
    expect((await texts({ sql: 'SELECT * FROM bok' }))[0]).toBe('no such table: bok');
    expect((await texts({ sql: 'SELECT * FROM loan' }, bob))[0]).toBe('no such table: loan');
    expect(await texts({ sql, timeout: 61 })).toEqual([
      'timeout must be a whole number from 1 to 60',
    ]);
    const { since } = (await wait({ sql, timeout: 1 })).change;
    const unknown = [expect.stringMatching(/^unknown since: /)];
    expect(await texts({ sql, since }, bob)).toEqual(unknown);
    expect(await texts({ sql: `${sql} `, since })).toEqual(unknown);
  });

  it('[ease 4.9] ends in time, whatever garbage is collected meanwhile', async () => {
    v8.setFlagsFromString('--expose-gc');
    const collect = vm.runInNewContext('gc') as () => void;
    let isOver = false;
    const waiting = wait({ sql, timeout: 1 }).finally(() => {
      isOver = true;
    });
    const since = Date.now();
    while (!isOver && Date.now() - since < 20_000) {
      await new Promise((go) => setTimeout(go, 100));
      collect();
    }
    expect(isOver).toBe(true);
    expect((await waiting).isError).toBe(false);
  }, 30_000);

  it('[ease 4.9] writes nothing', async () => {
    const write = "UPDATE book SET title = 'x'";
    expect((await wait({ sql: write, timeout: 1 })).isError).toBe(true);
    const session = agents.session(ada, 'library');
    const tool = present(
      tools(session).find(({ name }) => name === 'sql'),
      'sql',
    );
    const count = "SELECT COUNT(*) AS n FROM book WHERE title = 'x'";
    const { content } = (await tool.run(
      new JsonObject([['sql', count]]),
      contextOf(session),
    )) as ToolResult;
    expect(content[0]).toMatchObject({ text: expect.stringContaining('"rows":[[0]]') });
  });
});

describe('the difference of rows', () => {
  it('[ease 4.9] leads from the rows before to those now', () => {
    const rows = fc.array(fc.constantFrom('[1]', '[2]', '[3]'));
    fc.assert(
      fc.property(rows, rows, (before, now) => {
        const { added, removed } = rowDifference(before, now);
        const left: string[] = [...before];
        for (const row of removed) left.splice(left.indexOf(row), 1);
        expect([...left, ...added].sort()).toEqual([...now].sort());
        expect(added.some((row) => (removed as readonly string[]).includes(row))).toBe(false);
      }),
    );
  });
});
