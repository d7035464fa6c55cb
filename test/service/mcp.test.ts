import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { someOf } from '../support/share.ts';
import { type AskOptions, ask, hostWide, modes, rpc, scoped, toolsIn } from './mcp-support.ts';
import { type Person, Running } from './running.ts';

let running: Running;
let owner: Person;

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
  await running.publish('inn', 'inn', owner);
});
afterAll(() => running.stop());

/** Sends the text of a message, without any MCP header. */
async function post(where: string, body: string, as?: Person, headers = {}) {
  return running.ask('POST', where, {
    as,
    body,
    headers: { 'content-type': 'application/json', ...headers },
  });
}

async function toolText(options: AskOptions, name: string, args?: object) {
  const { content, isError } = await ask(running, options, name, args);
  return { text: content[0]?.text, isError };
}

describe('the list of tools', () => {
  it('[mcp A4] describes each argument but the message', async () => {
    const tools = await toolsIn(running, { mode: hostWide });
    const described = tools.flatMap(({ name, inputSchema }) =>
      Object.entries(inputSchema.properties).map(([property, { description }]) => {
        return [`${name}.${property}`, typeof description];
      }),
    );
    expect(described.filter(([, type]) => type !== 'string')).toEqual([
      ['ping.message', 'undefined'],
    ]);
    expect(described).toHaveLength(8);
  });

  it('[mcp A4] hints at what each tool does', async () => {
    const tools = await toolsIn(running, { mode: hostWide });
    const hints = tools.map(({ annotations }) => Object.values(annotations));
    expect(hints).toEqual([
      ['List databases', true, false, false],
      ['Ping', true, false, false],
      ['Get schema', true, false, false],
      ['Run SQL', false, true, false],
      ['Call reducer', false, true, false],
    ]);
  });
});

describe.each(someOf(modes, 2))('the tools $name', (mode) => {
  it('[mcp A5] ping takes a message that is no string for none', async () => {
    expect(await toolText({ mode }, 'ping', { message: 7 })).toEqual({
      text: 'pong',
      isError: false,
    });
  });

  it('[mcp A5] sql takes a `confirmed` that is no boolean for true', async () => {
    const given = { sql: 'SELECT COUNT(*) AS n FROM secret', confirmed: 'maybe' };
    expect((await toolText({ mode, as: owner }, 'sql', given)).text).toContain('"rows":[[1]]');
  });

  it('[mcp A5] args may be null', async () => {
    const given = { reducer: 'count_visit', args: null };
    expect((await toolText({ mode }, 'call', given)).isError).toBe(false);
  });

  it('[mcp A5] call keeps every digit of a wide argument', async () => {
    const body =
      `{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"call","arguments":` +
      `{${mode === hostWide ? '"database":"inn",' : ''}"reducer":"add_wide",` +
      `"args":[18446744073709551615,-5,"0x7",[],null,1.5]}}}`;
    expect((await post(mode.path, body)).text).toContain('committed');
    const { text } = await toolText({ mode }, 'sql', { sql: 'SELECT big FROM wide' });
    expect(text).toContain('18446744073709551615');
  });

  it.each([
    ['nothing', undefined, 'no such reducer'],
    ['set_up', undefined, "can't directly call special Init lifecycle reducer"],
    ['refuse', ['full'], "reducer 'refuse' failed: full"],
    ['crash', [], "reducer 'crash' failed: The instance encountered a fatal error."],
  ])('[mcp A5] calling %s(%j) fails in the result', async (reducer, args, text) => {
    expect(await toolText({ mode }, 'call', { reducer, args })).toEqual({ text, isError: true });
  });

  it('[mcp A5] wrong arguments fail in the result', async () => {
    const { text, isError } = await toolText({ mode }, 'call', { reducer: 'add_person' });
    expect(isError).toBe(true);
    expect(text).toMatch(/^invalid arguments for reducer add_person: /);
  });

  it('[mcp A5] arguments of the wrong shape are protocol errors', async () => {
    const error = async (name: string, args: object) => {
      const params = { name, arguments: { ...mode.database, ...args } };
      const { data, ...rest } = (await rpc(running, { mode }, 'tools/call', params)).error;
      expect(data).toEqual({ hint: expect.any(String) });
      return rest;
    };
    expect(await error('sql', {})).toEqual({
      code: -32602,
      message: 'sql argument must be a string',
    });
    expect(await error('call', { reducer: 1 })).toEqual({
      code: -32602,
      message: 'reducer argument must be a string',
    });
    expect(await error('call', { reducer: 'x', args: 'y' })).toEqual({
      code: -32602,
      message: 'args must be a JSON array',
    });
    expect(await error('hack', {})).toEqual({ code: -32602, message: 'unknown tool: hack' });
  });
});

describe('the two modes', () => {
  it('[mcp A5, interface 7] where the path names no database, data tools alone fail', async () => {
    for (const name of ['nobody', 'Not A Name', '0'.repeat(64)]) {
      const mode = { ...scoped, path: `/v1/database/${encodeURIComponent(name)}/mcp` };
      expect(await toolText({ mode }, 'sql', { sql: 'SELECT * FROM t' })).toEqual({
        text: `\`${name}\` not found`,
        isError: true,
      });
      expect((await toolsIn(running, { mode })).length).toBe(4);
      expect((await toolText({ mode }, 'ping')).text).toBe('pong');
    }
  });

  it('[mcp A1, interface 5.7] an answer to anybody without a token is as of a new identity', async () => {
    for (const _ of ['first', 'second']) {
      await toolText({ mode: scoped }, 'call', { reducer: 'add_person', args: ['Anon'] });
    }
    const sql = "SELECT COUNT(DISTINCT guest) AS n FROM person WHERE name = 'Anon'";
    expect((await toolText({ mode: scoped }, 'sql', { sql })).text).toContain('"rows":[[2]]');
  });

  it('[mcp A1, interface 4.3, ease 4.5] in a database, a `database` argument can only name that one', async () => {
    const asked = (database: string) => toolText({ mode: scoped }, 'get_schema', { database });
    expect((await asked('inn')).isError).toBe(false);
    expect(await asked('nobody')).toEqual({
      text: 'this server is for `inn` only; leave out `database`',
      isError: true,
    });
  });
});

describe('the envelope', () => {
  it('[mcp A3] a handshake settles on a version that both know', async () => {
    const version = async (protocolVersion: string) =>
      (await rpc(running, { mode: hostWide }, 'initialize', { protocolVersion })).result
        .protocolVersion;
    expect(await version('2025-06-18')).toBe('2025-06-18');
    expect(await version('2025-03-26')).toBe('2025-03-26');
    expect(await version('1999-01-01')).toBe('2025-11-25');
    const { result } = await rpc(running, { mode: scoped }, 'initialize');
    expect(result.serverInfo.name).toBe('reducerdb');
    expect(result.capabilities).toMatchObject({ tools: {} });
    expect(result.instructions).not.toContain('list_databases');
  });

  it('[mcp A2] the id comes back as it went', async () => {
    for (const id of ['7', '"seven"', 'null', '12345678901234567890']) {
      const { text } = await post(hostWide.path, `{"jsonrpc":"2.0","id":${id},"method":"ping"}`);
      expect(text).toBe(`{"jsonrpc":"2.0","id":${id},"result":{}}`);
    }
  });

  it('[mcp A2] a notification is a 202 without a body, whatever it is', async () => {
    for (const method of ['notifications/initialized', 'tools/list', 'nonsense']) {
      const answer = await post(hostWide.path, JSON.stringify({ jsonrpc: '2.0', method }));
      expect(answer).toMatchObject({ status: 202, text: '' });
    }
  });

  it.each(['7', '"ping"', 'null'])(
    '[mcp A2] the body %s is a 202, and nothing happens',
    async (body) => {
      expect(await post(hostWide.path, body)).toMatchObject({ status: 202, text: '' });
    },
  );

  it.each([
    ['[]', 400, -32600],
    ['{', 400, -32700],
    ['{"id":1,"method":"ping"}', 400, -32600],
    ['{"jsonrpc":"1.0","id":1,"method":"ping"}', 400, -32600],
    ['{"jsonrpc":"2.0","id":1}', 200, -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"nonsense"}', 200, -32601],
    ['{"jsonrpc":"2.0","id":1,"method":"tools/call"}', 200, -32602],
  ])('[mcp A2] %s is a %i with error %i', async (body, status, code) => {
    const answer = await post(hostWide.path, body);
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text).error.code).toBe(code);
  });

  it('[mcp A1] every answer names the caller; a bad token is refused first', async () => {
    const { headers } = await post(
      hostWide.path,
      '{"jsonrpc":"2.0","id":1,"method":"ping"}',
      owner,
    );
    expect(headers.get('spacetime-identity')).toBe(owner.identity);
    const bad = await post(hostWide.path, '{', undefined, { authorization: 'Bearer x' });
    expect(bad.status).toBe(401);
  });

  it('[mcp B9] a page of another origin is kept out', async () => {
    const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
    const evil = await post(hostWide.path, ping, undefined, { origin: 'http://evil.example.com' });
    expect(evil.status).toBe(403);
    expect(JSON.parse(evil.text).error.message).toBe('Origin not allowed');
    const own = await post(hostWide.path, ping, undefined, { origin: running.service.url });
    expect(own.status).toBe(200);
    expect(own.headers.get('access-control-allow-origin')).toBe(running.service.url);
  });
});
