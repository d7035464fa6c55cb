import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Person, Running } from './running.ts';

let running: Running;
let owner: Person;

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
  await running.publish('inn', 'inn', owner);
});
afterAll(() => running.stop());

const hostPath = '/v1/mcp';
const scopedPath = '/v1/database/inn/mcp';

async function post(where: string, body: string, as?: Person, headers = {}) {
  return running.ask('POST', where, {
    as,
    body,
    headers: { 'content-type': 'application/json', ...headers },
  });
}

/** Sends one request without any MCP header, and gives the answer's JSON. */
async function rpc(where: string, method: string, params?: object, as?: Person) {
  const { status, text } = await post(
    where,
    JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    as,
  );
  expect(status).toBe(200);
  return JSON.parse(text);
}

const tool = (where: string, name: string, args: object = {}, as?: Person) =>
  rpc(where, 'tools/call', { name, arguments: args }, as);

const toolText = async (...given: Parameters<typeof tool>) => {
  const { result } = await tool(...given);
  return { text: result.content[0].text as string, isError: result.isError as boolean };
};

interface ToolShape {
  name: string;
  description: string;
  inputSchema: {
    properties: Record<string, { type: string; description?: string }>;
    required?: string[];
  };
  annotations: object;
}

const list = async (where: string): Promise<ToolShape[]> =>
  (await rpc(where, 'tools/list')).result.tools;

describe('the list of tools', () => {
  it('[interface §4.3] has list_databases host-wide, and not in a database', async () => {
    expect((await list(hostPath)).map(({ name }) => name)).toEqual([
      'list_databases',
      'ping',
      'get_schema',
      'sql',
      'call',
    ]);
    expect((await list(scopedPath)).map(({ name }) => name)).toEqual([
      'ping',
      'get_schema',
      'sql',
      'call',
    ]);
  });

  it('[interface §4.3] asks for a database on every data tool host-wide, on none in a database', async () => {
    const required = (tools: ToolShape[]) =>
      Object.fromEntries(tools.map(({ name, inputSchema }) => [name, inputSchema.required]));
    expect(required(await list(hostPath))).toEqual({
      list_databases: undefined,
      ping: undefined,
      get_schema: ['database'],
      sql: ['database', 'sql'],
      call: ['database', 'reducer'],
    });
    expect(required(await list(scopedPath))).toEqual({
      ping: undefined,
      get_schema: undefined,
      sql: ['sql'],
      call: ['reducer'],
    });
    for (const { inputSchema } of await list(scopedPath)) {
      expect(inputSchema.properties).not.toHaveProperty('database');
    }
  });

  it('[interface §4.4] gives each argument its type, described', async () => {
    const types: Record<string, string> = {};
    for (const { name, inputSchema } of await list(hostPath)) {
      for (const [property, { type, description }] of Object.entries(inputSchema.properties)) {
        types[`${name}.${property}`] = type;
        if (property !== 'message') expect(description).toBeTypeOf('string');
      }
    }
    expect(types).toEqual({
      'ping.message': 'string',
      'get_schema.database': 'string',
      'sql.database': 'string',
      'sql.sql': 'string',
      'sql.confirmed': 'boolean',
      'call.database': 'string',
      'call.reducer': 'string',
      'call.args': 'array',
    });
  });

  it('[mcp §A4] hints at what each tool does', async () => {
    const hints = (await list(hostPath)).map(({ annotations }) => Object.values(annotations));
    expect(hints).toEqual([
      ['List databases', true, false, false],
      ['Ping', true, false, false],
      ['Get schema', true, false, false],
      ['Run SQL', false, true, false],
      ['Call reducer', false, true, false],
    ]);
  });
});

describe.each([
  ['host-wide', hostPath, { database: 'inn' }],
  ['in a database', scopedPath, {}],
])('the tools %s', (_mode, where, database) => {
  it('[interface §4.4] ping echoes a message', async () => {
    expect(await toolText(where, 'ping')).toEqual({ text: 'pong', isError: false });
    expect(await toolText(where, 'ping', { message: 'hi' })).toEqual({
      text: 'pong: hi',
      isError: false,
    });
    expect((await toolText(where, 'ping', { message: 7 })).text).toBe('pong');
  });

  it('[interface §4.4] get_schema shows types, tables (private ones too) and reducers', async () => {
    const schema = JSON.parse((await toolText(where, 'get_schema', database)).text);
    expect(schema.tables.map(({ name }: { name: string }) => name)).toContain('secret');
    expect(schema.reducers.map(({ name }: { name: string }) => name)).toContain('add_person');
    expect(schema.typespace.types.length).toBeGreaterThan(0);
  });

  it('[interface §4.4] call runs a reducer with positional arguments, sql reads the rows', async () => {
    const args = { ...database, reducer: 'add_person', args: ['Mia'] };
    expect(await toolText(where, 'call', args)).toEqual({
      text: "reducer 'add_person' committed",
      isError: false,
    });
    const sql = "SELECT name FROM person WHERE name = 'Mia'";
    for (const confirmed of [undefined, true, false, 'maybe']) {
      const { text } = await toolText(where, 'sql', { ...database, sql, confirmed });
      expect(JSON.parse(text)[0].rows[0]).toEqual(['Mia']);
    }
  });

  it('[interface §4.4 rule 1] args may be left out, null or empty', async () => {
    for (const args of [{}, { args: null }, { args: [] }]) {
      const given = { ...database, reducer: 'count_visit', ...args };
      expect((await toolText(where, 'call', given)).isError).toBe(false);
    }
  });

  it('[interface §4.4] keeps every digit of a wide argument', async () => {
    const body =
      `{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"call","arguments":` +
      `{${'database' in database ? '"database":"inn",' : ''}"reducer":"add_wide",` +
      `"args":[18446744073709551615,-5,"0x7",[],null,1.5]}}}`;
    expect((await post(where, body)).text).toContain('committed');
    const { text } = await toolText(where, 'sql', { ...database, sql: 'SELECT big FROM wide' });
    expect(text).toContain('18446744073709551615');
  });

  it('[interface §4.4 rule 5] SQL writes need ownership', async () => {
    const write = { ...database, sql: "DELETE FROM visit WHERE what = 'x'" };
    const refused = await toolText(where, 'sql', write);
    expect(refused.isError).toBe(true);
    expect(refused.text).toMatch(
      /^Caller [0-9a-f]{64} is not authorized to run SQL DML statements$/,
    );
    expect((await toolText(where, 'sql', write, owner)).isError).toBe(false);
  });

  it('[interface §7] a private or absent table is `no such table: x`', async () => {
    for (const table of ['secret', 'absent']) {
      expect(await toolText(where, 'sql', { ...database, sql: `SELECT * FROM ${table}` })).toEqual({
        text: `no such table: ${table}`,
        isError: true,
      });
    }
    const mine = await toolText(where, 'sql', { ...database, sql: 'SELECT * FROM secret' }, owner);
    expect(mine.isError).toBe(false);
  });

  it.each([
    ['nothing', undefined, 'no such reducer'],
    ['set_up', undefined, "can't directly call special Init lifecycle reducer"],
    ['refuse', ['full'], "reducer 'refuse' failed: full"],
    ['crash', [], "reducer 'crash' failed: The instance encountered a fatal error."],
  ])('[mcp §A5] calling %s(%j) fails in the result', async (reducer, args, text) => {
    expect(await toolText(where, 'call', { ...database, reducer, args })).toEqual({
      text,
      isError: true,
    });
  });

  it('[mcp §A5] wrong arguments fail in the result', async () => {
    const { text, isError } = await toolText(where, 'call', { ...database, reducer: 'add_person' });
    expect(isError).toBe(true);
    expect(text).toMatch(/^invalid arguments for reducer add_person: /);
  });

  it('[mcp §A5] arguments of the wrong shape are protocol errors', async () => {
    const error = async (name: string, args: object) => (await tool(where, name, args)).error;
    expect(await error('sql', { ...database })).toEqual({
      code: -32602,
      message: 'sql argument must be a string',
    });
    expect(await error('call', { ...database, reducer: 1 })).toEqual({
      code: -32602,
      message: 'reducer argument must be a string',
    });
    expect(await error('call', { ...database, reducer: 'x', args: {} })).toEqual({
      code: -32602,
      message: 'args must be a JSON array',
    });
    expect(await error('hack', {})).toEqual({ code: -32602, message: 'unknown tool: hack' });
  });

  it('[interface §5.7] runs as the bearer of the token, else as someone new', async () => {
    await toolText(where, 'call', { ...database, reducer: 'add_person', args: ['Own'] }, owner);
    const sql = "SELECT guest FROM person WHERE name = 'Own'";
    const { text } = await toolText(where, 'sql', { ...database, sql });
    expect(text).toContain(`["0x${owner.identity}"]`);
  });
});

describe('the two modes', () => {
  it('[interface §7] host-wide, the database must be a string', async () => {
    for (const args of [{}, { database: 7 }, { database: null }]) {
      expect((await tool(hostPath, 'get_schema', args)).error).toEqual({
        code: -32602,
        message: 'database argument must be a string',
      });
    }
  });

  it('[interface §7] in a database, list_databases is unknown', async () => {
    expect((await tool(scopedPath, 'list_databases')).error).toEqual({
      code: -32602,
      message: 'unknown tool: list_databases',
    });
  });

  it('[interface §7] what names no database is `x` not found', async () => {
    for (const name of ['nobody', 'Not A Name', '0'.repeat(64), '']) {
      const text = `\`${name}\` not found`;
      expect(await toolText(hostPath, 'get_schema', { database: name })).toEqual({
        text,
        isError: true,
      });
      if (name === '') continue;
      const where = `/v1/database/${encodeURIComponent(name)}/mcp`;
      expect(await toolText(where, 'sql', { sql: 'SELECT * FROM t' })).toEqual({
        text,
        isError: true,
      });
      expect((await list(where)).length).toBe(4);
    }
  });

  it('[mcp §A1] in a database, a `database` argument is ignored', async () => {
    expect((await toolText(scopedPath, 'get_schema', { database: 'nobody' })).isError).toBe(false);
  });

  it('[interface §4.4] list_databases lists what the caller owns', async () => {
    expect((await toolText(hostPath, 'list_databases')).text).toBe('{"databases":[]}');
    const mine = JSON.parse((await toolText(hostPath, 'list_databases', {}, owner)).text);
    expect(mine.databases).toEqual([
      { identity: expect.stringMatching(/^c200[0-9a-f]{60}$/), names: ['inn'] },
    ]);
  });
});

describe('the envelope', () => {
  it('[mcp §A3] a handshake settles on a version that both know', async () => {
    const version = async (asked: string) =>
      (await rpc(hostPath, 'initialize', { protocolVersion: asked })).result.protocolVersion;
    expect(await version('2025-06-18')).toBe('2025-06-18');
    expect(await version('2025-03-26')).toBe('2025-03-26');
    expect(await version('1999-01-01')).toBe('2025-11-25');
    const { result } = await rpc(scopedPath, 'initialize', {});
    expect(result.serverInfo.name).toBe('reducerdb');
    expect(result.capabilities).toMatchObject({ tools: {} });
    expect(result.instructions).not.toContain('list_databases');
  });

  it('[mcp §A2] the id comes back as it went', async () => {
    for (const id of ['7', '"seven"', 'null', '12345678901234567890']) {
      const { text } = await post(hostPath, `{"jsonrpc":"2.0","id":${id},"method":"ping"}`);
      expect(text).toBe(`{"jsonrpc":"2.0","id":${id},"result":{}}`);
    }
  });

  it('[mcp §A2] a notification is a 202 without a body, whatever it is', async () => {
    for (const method of ['notifications/initialized', 'tools/list', 'nonsense']) {
      const answer = await post(hostPath, JSON.stringify({ jsonrpc: '2.0', method }));
      expect(answer).toMatchObject({ status: 202, text: '' });
    }
  });

  it.each([
    ['[]', 400, -32600],
    ['7', 400, -32600],
    ['{', 400, -32700],
    ['{"id":1,"method":"ping"}', 400, -32600],
    ['{"jsonrpc":"1.0","id":1,"method":"ping"}', 400, -32600],
    ['{"jsonrpc":"2.0","id":1}', 200, -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"nonsense"}', 200, -32601],
    ['{"jsonrpc":"2.0","id":1,"method":"tools/call"}', 200, -32602],
  ])('[mcp §A2] %s is a %i with error %i', async (body, status, code) => {
    const answer = await post(hostPath, body);
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text).error.code).toBe(code);
  });

  it('[mcp §A2] wants POST, and JSON', async () => {
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const { status, headers } = await running.ask(method, hostPath);
      expect({ status, allow: headers.get('allow') }).toEqual({ status: 405, allow: 'POST' });
    }
    const plain = await running.ask('POST', hostPath, {
      body: '{}',
      headers: { 'content-type': 'text/plain' },
    });
    expect(plain.status).toBe(415);
  });

  it('[mcp §A1] every answer names the caller; a bad token is refused first', async () => {
    const { headers } = await post(hostPath, '{"jsonrpc":"2.0","id":1,"method":"ping"}', owner);
    expect(headers.get('spacetime-identity')).toBe(owner.identity);
    const bad = await post(hostPath, '{', undefined, { authorization: 'Bearer x' });
    expect(bad.status).toBe(401);
  });

  it('[mcp §B9] a page of another origin is kept out', async () => {
    const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
    const evil = await post(hostPath, ping, undefined, { origin: 'http://evil.example.com' });
    expect(evil.status).toBe(403);
    expect(JSON.parse(evil.text).error.message).toBe('Origin not allowed');
    const own = await post(hostPath, ping, undefined, { origin: running.service.url });
    expect(own.status).toBe(200);
    expect(own.headers.get('access-control-allow-origin')).toBe(running.service.url);
  });
});
