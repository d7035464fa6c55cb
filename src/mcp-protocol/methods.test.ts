import { describe, expect, it } from 'vitest';
import {
  answerOf,
  EngineUnderTest,
  makeTool,
  type Offered,
  offerTools,
} from '../../test/support/engine-under-test.ts';
import { limits } from '../limits.ts';
import type { Prompt } from './prompt.ts';
import type { Resources } from './resource.ts';
import { RpcError } from './rpc-error.ts';
import { text } from './tool.ts';

const legacy = async (offered: Offered, method: string, params?: object) =>
  answerOf(new EngineUnderTest(offered).legacy(method, params));
const both = async (offered: Offered, method: string, params: object = {}) => {
  const engine = new EngineUnderTest(offered);
  return [
    await answerOf(engine.legacy(method, params)),
    await answerOf(engine.modern(method, params)),
  ];
};

const resources: Resources<string> = {
  list: async (session) => [{ uri: `test:///${session}`, name: session }],
  templates: async () => [{ uriTemplate: 'test:///{id}', name: 'by id' }],
  read: async (uri) =>
    uri === 'test:///ada' ? [{ uri, mimeType: 'text/plain', text: 'hi' }] : undefined,
};
const greet: Prompt<string> = {
  name: 'greet',
  title: 'Greet',
  description: 'Says hello',
  arguments: [
    { name: 'who', description: 'a name', required: true },
    { name: 'how', description: 'a tone', required: false },
  ],
  get: async (args) => [{ role: 'user', content: text(`hello ${args.get('who')}`) }],
};
const everything: Offered = {
  resources: {
    ...resources,
    watch: async () => ({ uris: [], list: false, close: () => undefined }),
  },
  prompts: () => [greet],
  complete: async () => ({ values: [] }),
  logs: true,
  watchTools: () => () => undefined,
};

describe('what a server can do', () => {
  it('[mcp B3] is what it offers, without what a legacy client cannot be told', async () => {
    const { result } = await legacy(everything, 'initialize');
    expect(result.capabilities).toEqual({ tools: {}, resources: {}, prompts: {}, completions: {} });
    expect((await legacy({}, 'initialize')).result.capabilities).toEqual({ tools: {} });
  });

  it('[mcp B4] server/discover tells versions, capabilities, and how long that holds', async () => {
    expect(await new EngineUnderTest(everything).result('server/discover')).toEqual({
      resultType: 'complete',
      supportedVersions: ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26'],
      capabilities: {
        tools: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        prompts: {},
        completions: {},
        logging: {},
      },
      instructions: 'hello ada',
      ttlMs: 300_000,
      cacheScope: 'public',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'test', version: '1.0.0' } },
    });
  });

  it('[mcp B5] says nothing of changes of lists that are constant', async () => {
    const lists = { ...everything, watchPrompts: () => () => undefined };
    const constant = new EngineUnderTest({ ...lists, isConstant: () => true });
    const changing = new EngineUnderTest({ ...lists, isConstant: () => false });
    const listChanged = true;
    const listsOf = async (engine: EngineUnderTest) => {
      const { tools, prompts } = (await engine.result('server/discover')).capabilities;
      return { tools, prompts };
    };
    expect(await listsOf(constant)).toEqual({ tools: {}, prompts: {} });
    expect(await listsOf(changing)).toEqual({ tools: { listChanged }, prompts: { listChanged } });
  });

  it('[mcp B8] what it does not offer is no method, in either era', async () => {
    const names = ['resources/list', 'resources/templates/list', 'resources/read'];
    for (const method of [...names, 'prompts/list', 'prompts/get', 'completion/complete']) {
      const [old, modern] = await both({}, method);
      expect([old?.status, old?.error.code], method).toEqual([200, -32601]);
      expect([modern?.status, modern?.error.code], method).toEqual([404, -32601]);
    }
  });
});

describe('results', () => {
  it('[mcp B4] of the modern era say that they are complete, and by whom', async () => {
    const [old, modern] = await both(offerTools(makeTool('a', 'x')), 'tools/call', { name: 'a' });
    const members = { content: [{ type: 'text', text: 'x' }], isError: false };
    expect(old?.result).toEqual(members);
    expect(modern?.result).toEqual({
      resultType: 'complete',
      ...members,
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'test', version: '1.0.0' } },
    });
  });

  it('[mcp B4] that may be kept say for how long, and whether by all', async () => {
    const engine = new EngineUnderTest({ ...everything, resources });
    const hints = async (method: string, params = {}) => {
      const { ttlMs, cacheScope } = await engine.result(method, params);
      return [ttlMs, cacheScope];
    };
    for (const method of ['server/discover', 'tools/list', 'prompts/list']) {
      expect(await hints(method), method).toEqual([300_000, 'public']);
    }
    for (const method of ['resources/list', 'resources/templates/list']) {
      expect(await hints(method), method).toEqual([0, 'private']);
    }
    expect(await hints('resources/read', { uri: 'test:///ada' })).toEqual([0, 'private']);
    const changing = new EngineUnderTest({ isConstant: () => false });
    expect(await changing.result('tools/list')).toMatchObject({ ttlMs: 0, cacheScope: 'private' });
  });
});

describe('tools', () => {
  it('[mcp A5] are called by a name that is a text and known', async () => {
    const call = async (params?: object) => {
      const { data, ...error } = (await legacy({}, 'tools/call', params)).error;
      expect(data).toEqual({ hint: expect.any(String) });
      return error;
    };
    expect(await call()).toEqual({ code: -32602, message: 'missing params' });
    expect(await call({})).toEqual({ code: -32602, message: 'missing tool name' });
    expect(await call({ name: 7 })).toEqual({ code: -32602, message: 'missing tool name' });
    expect(await call({ name: 'x' })).toEqual({ code: -32602, message: 'unknown tool: x' });
  });

  it('[mcp B6] get their arguments with all digits, or none', async () => {
    const seen: unknown[] = [];
    const tool = makeTool('a', async (args) => {
      seen.push(args.get('n'));
      return { content: [], isError: false };
    });
    const engine = new EngineUnderTest(offerTools(tool));
    const call = (args: string) =>
      engine.send(
        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":${args}}}`,
      );
    await call('{"n":12345678901234567890}');
    await call('7');
    expect(seen).toEqual([{ text: '12345678901234567890' }, undefined]);
  });

  it('[mcp B6] may give structured content, which is sent as it was written', async () => {
    const run = async () => ({ content: [], structured: '{"n": 1.50}', isError: false });
    const engine = new EngineUnderTest(offerTools(makeTool('a', run)));
    const reply = await engine.legacy('tools/call', { name: 'a' });
    if (reply.kind !== 'message') throw new Error('it is no message');
    expect(reply.body).toContain('"isError":false,"structuredContent":{"n": 1.50}}');
  });

  it('[mcp B8] are listed page by page', async () => {
    const names = Array.from({ length: limits.mcpPageItemsMax + 1 }, (_, at) => `t${at}`);
    const engine = new EngineUnderTest(offerTools(...names.map((name) => makeTool(name, ''))));
    const first = await engine.result('tools/list');
    const second = await engine.result('tools/list', { cursor: first.nextCursor });
    const listed = [...first.tools, ...second.tools].map(({ name }: { name: string }) => name);
    expect(listed).toEqual(names);
    expect(second).not.toHaveProperty('nextCursor');
    const { error } = await answerOf(engine.legacy('tools/list', { cursor: 'x' }));
    expect(error).toEqual({ code: -32602, message: 'invalid cursor' });
  });

  it('[mcp B4] are called with headers that repeat the arguments that say so', async () => {
    const inputSchema = {
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
    };
    const engine = new EngineUnderTest(offerTools({ ...makeTool('a', ''), inputSchema }));
    const call = async (headers: Record<string, string>) =>
      (
        await answerOf(
          engine.modern('tools/call', { name: 'a', arguments: { region: 'eu' } }, { headers }),
        )
      ).error?.code;
    expect(await call({ 'mcp-param-region': 'eu' })).toBeUndefined();
    expect(await call({})).toBe(-32020);
    const { error } = await answerOf(
      engine.legacy('tools/call', { name: 'a', arguments: { region: 'eu' } }),
    );
    expect(error).toBeUndefined();
  });
});

describe('resources', () => {
  it('[mcp B7] are listed and read within a session', async () => {
    const engine = new EngineUnderTest({ resources });
    expect((await engine.result('resources/list')).resources).toEqual([
      { uri: 'test:///ada', name: 'ada' },
    ]);
    expect((await engine.result('resources/templates/list')).resourceTemplates).toHaveLength(1);
    const { contents } = await engine.result('resources/read', { uri: 'test:///ada' });
    expect(contents).toEqual([{ uri: 'test:///ada', mimeType: 'text/plain', text: 'hi' }]);
  });

  it('[mcp B7] that are not there have the code of the era, and name the URI', async () => {
    const [old, modern] = await both({ resources }, 'resources/read', { uri: 'test:///x' });
    expect(old?.error).toMatchObject({ code: -32002, data: { uri: 'test:///x' } });
    expect(modern?.error).toMatchObject({ code: -32602, data: { uri: 'test:///x' } });
    expect((await legacy({ resources }, 'resources/read', {})).error.code).toBe(-32602);
  });
});

describe('prompts', () => {
  it('[mcp B8] are listed, and filled in with texts', async () => {
    const engine = new EngineUnderTest({ prompts: () => [greet] });
    const { name, title, description, arguments: args } = greet;
    const { prompts } = await engine.result('prompts/list');
    expect(prompts).toEqual([{ name, title, description, arguments: args }]);
    const got = await engine.result('prompts/get', { name: 'greet', arguments: { who: 'Ada' } });
    expect(got).toMatchObject({
      description: 'Says hello',
      messages: [{ role: 'user', content: { type: 'text', text: 'hello Ada' } }],
    });
  });

  it('[mcp B8] that are unknown, or lack an argument, are -32602', async () => {
    const get = async (params: object) =>
      (await legacy({ prompts: () => [greet] }, 'prompts/get', params)).error;
    expect(await get({ name: 'x' })).toEqual({ code: -32602, message: 'unknown prompt: x' });
    const missing = { code: -32602, message: 'missing argument: who' };
    expect(await get({ name: 'greet' })).toEqual(missing);
    expect(await get({ name: 'greet', arguments: { how: 'x' } })).toEqual(missing);
    expect((await get({ name: 'greet', arguments: { who: 7 } })).code).toBe(-32602);
    expect((await get({})).message).toBe('missing prompt name');
  });
});

describe('completion', () => {
  const ref = { type: 'ref/prompt', name: 'greet' };
  const argument = { name: 'who', value: 'a' };

  it('[mcp B8] gives at most a hundred values, and says how many there are', async () => {
    const values = Array.from({ length: 120 }, (_, at) => `v${at}`);
    const engine = new EngineUnderTest({ complete: async () => ({ values }) });
    const { completion } = await engine.result('completion/complete', { ref, argument });
    expect(completion).toEqual({ values: values.slice(0, 100), total: 120, hasMore: true });
  });

  it('[mcp B8] knows what is asked for, and what is filled in already', async () => {
    const seen: unknown[] = [];
    const complete: Offered['complete'] = async (request) => {
      seen.push(request);
      return { values: [] };
    };
    const engine = new EngineUnderTest({ complete });
    const context = { arguments: { how: 'kindly' } };
    await engine.result('completion/complete', { ref, argument, context });
    const resource = { type: 'ref/resource', uri: 'test:///{id}' };
    await engine.result('completion/complete', { ref: resource, argument });
    expect(seen).toEqual([
      { ref: { kind: 'prompt', name: 'greet' }, argument, others: new Map([['how', 'kindly']]) },
      { ref: { kind: 'resource', uri: 'test:///{id}' }, argument, others: new Map() },
    ]);
  });

  it('[mcp B8] of something else is -32602', async () => {
    const complete = async () => ({ values: [] });
    const bad = [
      {},
      { ref },
      { ref: { type: 'x' }, argument },
      { ref: { type: 'ref/prompt' }, argument },
    ];
    for (const params of bad) {
      const { error } = await legacy({ complete }, 'completion/complete', params);
      expect(error.code, JSON.stringify(params)).toBe(-32602);
    }
  });
});

describe('errors of a handler', () => {
  it('[mcp B4] have the HTTP status that the era has for the code', async () => {
    const failing = (code: number) =>
      offerTools(
        makeTool('a', async () => {
          throw new RpcError(code, 'no', { more: 1 });
        }),
      );
    const statuses = async (code: number) =>
      (await both(failing(code), 'tools/call', { name: 'a' })).map(({ status }) => status);
    expect(await statuses(-32602)).toEqual([200, 200]);
    expect(await statuses(-32601)).toEqual([200, 404]);
    for (const code of [-32020, -32021, -32022]) expect(await statuses(code)).toEqual([200, 400]);
    const [old] = await both(failing(-32602), 'tools/call', { name: 'a' });
    expect(old?.error).toEqual({ code: -32602, message: 'no', data: { more: 1 } });
  });

  it('[mcp A5] that nobody expected are told to the operator and not to the client', async () => {
    const fault = new Error('secret');
    const run = async () => {
      throw fault;
    };
    const engine = new EngineUnderTest(offerTools(makeTool('a', run)));
    const { status, error } = await answerOf(engine.legacy('tools/call', { name: 'a' }));
    expect(status).toBe(500);
    expect(error).toEqual({ code: -32603, message: 'internal error' });
    expect(engine.faults).toEqual([fault]);
  });
});
