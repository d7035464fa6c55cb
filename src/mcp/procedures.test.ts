import { describe, expect, it } from 'vitest';
import { ada, contextOf } from '../../test/support/agent-host.ts';
import { anyone, failed, failures, ProcedureHandle } from '../../test/support/procedure-handle.ts';
import { present } from '../assert.ts';
import type { Caller } from '../database/outcome.ts';
import type { Host } from '../host/host.ts';
import type { Tool, ToolResult } from '../mcp-protocol/tool.ts';
import type { AgentFeature } from '../protocol/agent-features.ts';
import { strangerRights } from '../sql/rights.ts';
import { JsonObject, parseJson } from '../values/json.ts';
import type { McpSession } from './session.ts';
import { makeTools } from './tool-list.ts';
import { makeReducerTools } from './typed-reducers.ts';

const tools = makeTools();
const reducerTools = makeReducerTools(tools);

function sessionOf(
  { handle }: ProcedureHandle,
  features: AgentFeature[] = [],
  caller: Caller = anyone,
): McpSession {
  const host = {
    database: () => ({ handle, identity: 1n }),
    callerFor: () => caller,
    grants: { endOf: () => undefined },
  };
  return {
    host: host as unknown as Host,
    caller: ada,
    callerKey: '',
    database: 'db',
    features: new Set(features),
  };
}

async function use(tool: Tool<McpSession> | undefined, args: string, session: McpSession) {
  const given = parseJson(args);
  if (!(given instanceof JsonObject)) throw new Error('arguments are an object');
  return (await present(tool, 'a tool').run(given, contextOf(session))) as ToolResult;
}

function callTool(fake: ProcedureHandle, args: string): Promise<ToolResult> {
  // With a feature, a failure comes with advice.
  const session = sessionOf(fake, ['whoami']);
  return use(
    tools(session).find(({ name }) => name === 'call'),
    args,
    session,
  );
}

const lookUp = '{"reducer":"look_up","args":["tea",3]}';

describe('the tool call', () => {
  it('[living 2.9] runs a procedure, and gives its value', async () => {
    const { content, structured, isError } = await callTool(new ProcedureHandle(), lookUp);
    const value = '{"word":"tea","total":"1152921504606846976"}';
    expect([content, isError]).toEqual([
      [{ type: 'text', text: `procedure 'look_up' returned: ${value}` }],
      false,
    ]);
    // Numbers beyond 2^53 are quoted there.
    expect(structured).toBe(
      '{"procedure":"look_up","value":{"word":"tea","total":"1152921504606846976"}}',
    );
  });

  it('[mcp B8] has one form of results for reducers and procedures', async () => {
    const fake = new ProcedureHandle();
    const session = sessionOf(fake, ['answer-schemas']);
    const { outputSchema } = present(
      tools(session).find(({ name }) => name === 'call'),
      'call',
    );
    const known = Object.keys(present(outputSchema?.properties, 'properties') as object);
    for (const args of [lookUp, '{"reducer":"add","args":[1]}']) {
      const { structured = '' } = await callTool(fake, args);
      expect(known).toEqual(expect.arrayContaining(Object.keys(JSON.parse(structured))));
    }
  });

  const expected = [
    'No such procedure',
    'invalid arguments for procedure look_up: no',
    "procedure 'look_up' failed: it threw",
    "procedure 'look_up' exceeded its budget",
    'it stops',
    'yours are in flight',
    'all are in flight',
    'it only reads',
    'not you',
    'the database was published again while it was called; call again',
  ];
  const adviceOn: Readonly<Record<string, readonly string[]>> = {
    'procedure.overBudget': ['it ran too long'],
    'procedure.unknown': ['Did you mean `look_up`?'],
    'arguments.invalid': ['look_up(word: String, count: U32)'],
  };
  it.each(failures.map((error, at) => ({ error, code: error.code, words: expected[at] })))(
    '[living 2.9] tells why a procedure failed: $code, $words',
    async ({ error, code, words }) => {
      const fake = new ProcedureHandle();
      fake.answer = () => failed(error);
      const { content, isError } = await callTool(fake, lookUp);
      const [first, ...advice] = content.map((part) => 'text' in part && part.text);
      expect([first, isError]).toEqual([words, true]);
      expect(advice).toEqual(adviceOn[code] ?? []);
    },
  );
});

describe('the tools of functions', () => {
  const named = async (session: McpSession) => {
    return new Map((await reducerTools(session)).map((tool) => [tool.name, tool]));
  };
  const typed: AgentFeature[] = ['typed-reducers', 'answer-schemas'];

  it('[mcp B20] are those of reducers, then of procedures', async () => {
    const fake = new ProcedureHandle();
    const session = sessionOf(fake, typed);
    const list = await named(session);
    expect([...list.keys()]).toEqual(['add', 'look_up', 'hidden_look']);
    const tool = list.get('look_up');
    expect(tool?.description).toBe(
      'Runs the procedure look_up(word: String, count: U32), returns (word: String, total: U64).',
    );
    expect(tool?.outputSchema).toMatchObject({ required: ['procedure', 'value'] });
    expect(tool?.inputSchema).toMatchObject({ required: ['word', 'count'] });
    const { content } = await use(tool, '{"word":"tea","count":3}', session);
    expect(content).toMatchObject([{ text: expect.stringContaining("'look_up' returned: ") }]);
    expect(fake.procedures).toMatchObject([{ procedure: 'look_up' }]);
  });

  it('[mcp B20] are of what the caller can call', async () => {
    const fake = new ProcedureHandle();
    const as = async (rights: Partial<Caller['rights']>, features = typed) => {
      const caller = { ...anyone, rights: { ...strangerRights, ...rights } };
      return [...(await named(sessionOf(fake, features, caller))).keys()];
    };
    expect(await as({})).toEqual(['add', 'look_up']);
    expect(await as({ reducers: new Set(['look_up', 'hidden_look']) })).toEqual(['look_up']);
    expect(await as({ reducers: new Set(['add']) })).toEqual(['add']);
    expect(await as({}, [...typed, 'read-only'])).toEqual([]);
  });
});

describe('a preview', () => {
  it.each([
    ['look_up', "'look_up' is a procedure: it cannot be previewed"],
    ['hidden_look', undefined],
  ])('[mcp B19] is not of a procedure: %s', async (name, words) => {
    const fake = new ProcedureHandle();
    let previews = 0;
    Object.assign(fake.handle, {
      preview: () => {
        previews += 1;
        return Promise.reject(new Error('it is asked for'));
      },
    });
    const caller = { ...anyone, rights: strangerRights };
    const session = sessionOf(fake, ['preview'], caller);
    const tool = tools(session).find((each) => each.name === 'preview_call');
    const asked = use(tool, JSON.stringify({ reducer: name, args: ['tea', 3] }), session);
    // A private one is like none at all.
    if (words === undefined) await expect(asked).rejects.toThrow('it is asked for');
    else expect((await asked).content).toEqual([{ type: 'text', text: words }]);
    expect(previews).toBe(words === undefined ? 1 : 0);
  });
});
