import type { ChildProcess } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture, unstable, writeFiles } from './cli-support.ts';
import { type RunningService, type RunOptions, Sandbox } from './harness.ts';

let sandbox: Sandbox;
let service: RunningService;
let innIdentity: string;

beforeAll(async () => {
  sandbox = await Sandbox.make();
  service = await sandbox.start();
  await sandbox.ok(['publish', 'inn', '-p', fixture('inn')]);
  await sandbox.ok(['publish', 'ledger', '-p', fixture('ledger')]);
  innIdentity = await (await fetch(`${sandbox.url}/v1/database/inn/identity`)).text();
});
afterAll(async () => {
  await service.stop();
  sandbox.remove();
});

const request = (id: unknown, method: string, params?: object) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, ...(params && { params }) });
const toolCall = (id: unknown, name: string, args: object = {}) =>
  request(id, 'tools/call', { name, arguments: args });
const bridging = (where: string) =>
  `${unstable}Serving MCP over stdio, bridging to ${sandbox.url}${where}\n`;

/** Runs the bridge over these lines to their end; gives the answers by id. */
async function bridge(args: readonly string[], lines: readonly string[], options: RunOptions = {}) {
  const input = lines.map((line) => `${line}\n`).join('');
  const { code, stdout, stderr } = await sandbox.run(['mcp', ...args], { ...options, input });
  const answers = stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
  expect(stdout).toBe(answers.map((answer) => `${JSON.stringify(answer)}\n`).join(''));
  return { code, stderr, answers, byId: new Map(answers.map((answer) => [answer.id, answer])) };
}

const toolsOf = (answer: { result: { tools: { name: string }[] } }) =>
  answer.result.tools.map(({ name }) => name);
const scopedTools = ['ping', 'get_schema', 'sql', 'call'];
const hostTools = ['list_databases', ...scopedTools];
const textOf = (answer: { result: { content: { text: string }[] } }) =>
  answer.result.content[0]?.text;

describe('mcp serves', () => {
  it('[interface §4.5] the host without a database', async () => {
    const { code, stderr, byId } = await bridge([], [request(1, 'tools/list')]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: bridging('/v1/mcp') });
    expect(toolsOf(byId.get(1))).toEqual(hostTools);
  });

  it('[interface §4.5] the database that is its argument, by name or identity', async () => {
    for (const database of ['inn', innIdentity]) {
      const { stderr, byId } = await bridge([database], [request(1, 'tools/list')]);
      expect(stderr).toBe(bridging(`/v1/database/${innIdentity}/mcp`));
      expect(toolsOf(byId.get(1))).toEqual(scopedTools);
    }
  });

  it('[interface §4.5] the database of SERVICE_DB_NAME, unless there is an argument', async () => {
    const env = { SERVICE_DB_NAME: 'inn' };
    const { stderr } = await bridge([], [], { env });
    expect(stderr).toBe(bridging(`/v1/database/${innIdentity}/mcp`));
    const other = await bridge(['ledger'], [toolCall(1, 'get_schema')], { env });
    expect(other.stderr).not.toContain(innIdentity);
    expect((await bridge([], [], { env: { SERVICE_DB_NAME: '' } })).stderr).toBe(
      bridging('/v1/mcp'),
    );
  });

  it('[interface §4.5] the single server of service.json, and never its database', async () => {
    const cwd = path.join(sandbox.folder, 'single');
    const dead = 'http://127.0.0.1:9';
    const empty = await Sandbox.make(9);
    writeFiles(cwd, { 'service.json': { server: sandbox.url, database: 'inn' } });
    const run = (args: string[], folder = cwd) =>
      empty.run(['mcp', ...args], { cwd: folder, input: `${request(1, 'tools/list')}\n` });

    const { code, stdout, stderr } = await run([]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: bridging('/v1/mcp') });
    expect(toolsOf(JSON.parse(stdout))).toEqual(hostTools);
    expect((await run(['--server', dead])).stderr).toContain(`bridging to ${dead}/v1/mcp`);
    expect((await run(['--no-config'])).stderr).toContain(`bridging to ${dead}/v1/mcp`);
    expect((await run(['inn'])).stderr).toBe(bridging(`/v1/database/${innIdentity}/mcp`));

    const several = path.join(sandbox.folder, 'several');
    writeFiles(several, {
      'service.json': { server: sandbox.url, children: [{ server: 'http://127.0.0.1:8' }] },
    });
    expect((await run([], several)).stderr).toContain(`bridging to ${dead}/v1/mcp`);
    empty.remove();
  });

  it('[interface §4.5] as the saved identity, or as nobody with --anonymous', async () => {
    const ask = toolCall(1, 'sql', { sql: 'SELECT words FROM secret' });
    const mine = await bridge(['inn'], [ask]);
    expect(textOf(mine.byId.get(1))).toContain('swordfish');
    const nobody = await bridge(['inn', '--anonymous'], [ask]);
    expect(nobody.byId.get(1).result).toEqual({
      content: [{ type: 'text', text: 'no such table: secret' }],
      isError: true,
    });
    const owned = await bridge([], [toolCall(1, 'list_databases')]);
    expect(textOf(owned.byId.get(1))).toContain(innIdentity);
    const none = await bridge(['--anonymous'], [toolCall(1, 'list_databases')]);
    expect(textOf(none.byId.get(1))).toBe('{"databases":[]}');
  });

  it('[mcp §A6] nobody when no identity is saved, and does not log in', async () => {
    const stranger = await Sandbox.make(sandbox.port);
    const { code, stdout } = await stranger.run(['mcp'], {
      input: `${toolCall(1, 'list_databases')}\n`,
    });
    expect(code).toBe(0);
    expect(textOf(JSON.parse(stdout))).toBe('{"databases":[]}');
    expect(await stranger.ok(['login', 'show'])).toContain('You are not logged in.');
    stranger.remove();
  });

  it('[mcp §A6] nothing for an unknown database', async () => {
    const { code, stdout, stderr } = await sandbox.run(['mcp', 'nobody']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(`${unstable}Error: failed to find database \`nobody\`.\n`);
  });
});

describe('the bridge', () => {
  it('[mcp §A6] answers requests and is silent about notifications and blank lines', async () => {
    const { code, answers } = await bridge(
      ['inn'],
      [
        request(0, 'initialize', {
          protocolVersion: '2025-06-18',
          capabilities: {},
          clientInfo: { name: 'test', version: '1' },
        }),
        JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }),
        '',
        '   ',
        `${request('a', 'ping')}\r`,
        JSON.stringify({ jsonrpc: '2.0', method: 'notifications/unknown' }),
      ],
    );
    expect(code).toBe(0);
    expect(answers.map(({ id }) => id).sort()).toEqual([0, 'a']);
    const shaken = answers.find(({ id }) => id === 0);
    expect(shaken.result).toMatchObject({
      protocolVersion: '2025-06-18',
      serverInfo: { name: 'reducerdb' },
    });
  });

  it('[mcp §A6] keeps ids as they were written', async () => {
    const big = '12345678901234567890';
    const { stdout } = await sandbox.run(['mcp'], {
      input:
        `{"jsonrpc":"2.0","id":${big},"method":"ping"}\n` +
        '{"jsonrpc":"2.0","id":1.50,"method":"no"}\n',
    });
    expect(stdout).toContain(`"id":${big}`);
    expect(stdout).toMatch(/"id":1\.50?[,}]/);
  });

  it('[mcp §A6] answers a bad line with an error and goes on', async () => {
    const { code, byId, answers } = await bridge(
      ['inn'],
      [
        '{ nonsense',
        '[{"jsonrpc":"2.0","id":7,"method":"ping"}]',
        '17',
        request(1, 'ping'),
        request(2, 'no/such/method'),
        toolCall(3, 'call', { reducer: 'nothing' }),
      ],
    );
    expect(code).toBe(0);
    expect(
      answers
        .filter(({ id }) => id === null)
        .map(({ error }) => error.code)
        .sort(),
    ).toEqual([-32600, -32600, -32700]);
    expect(byId.get(1).result).toEqual({});
    expect(byId.get(2).error.code).toBe(-32601);
    expect(byId.get(3).result.isError).toBe(true);
  });

  it('[mcp §A6] answers as requests finish, a hundred at once', async () => {
    const lines = Array.from({ length: 100 }, (_, id) =>
      toolCall(id, 'call', { reducer: 'add_person', args: [`person ${id}`] }),
    );
    const { code, answers } = await bridge(['inn'], lines);
    expect(code).toBe(0);
    expect(answers.map(({ id }) => id).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 100 }, (_, id) => id),
    );
    expect(answers.every(({ result }) => result.isError === false)).toBe(true);
    const counted = await sandbox.ok(['sql', 'inn', 'SELECT COUNT(*) AS n FROM person']);
    expect(counted).toContain(' 100 ');
  });

  it('[mcp §A6] goes on after a service that was away', async () => {
    const live = new LiveBridge(sandbox.spawn(['mcp', 'inn']));
    expect(await live.ask(request(1, 'ping'))).toMatchObject({ id: 1, result: {} });
    await service.stop();
    const away = await live.ask(toolCall(2, 'ping'));
    expect(away).toMatchObject({ id: 2, error: { code: -32603 } });
    expect(away.error?.message).toContain('could not reach the reducerdb host');
    live.say(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }));
    service = await sandbox.start();
    expect(await live.ask(toolCall(3, 'ping'))).toMatchObject({ id: 3, result: {} });
    expect(await live.end()).toBe(0);
  });

  it('[mcp §A6] ends at SIGTERM', async () => {
    const live = new LiveBridge(sandbox.spawn(['mcp']));
    await live.ask(request(1, 'ping'));
    live.child.kill('SIGTERM');
    expect(await live.ended).toBe(0);
  });
});

describe('the bridge, to a service that answers strangely', () => {
  let strange: Server;
  let answer: (body: string) => { status: number; type: string; text: string; millis?: number };
  let url: string;

  beforeAll(async () => {
    strange = createServer(async (incoming, outgoing) => {
      let body = '';
      for await (const chunk of incoming) body += chunk;
      const { status, type, text, millis = 0 } = answer(body);
      setTimeout(() => outgoing.writeHead(status, { 'content-type': type }).end(text), millis);
    });
    await new Promise<void>((resolve) => strange.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(strange.address() as AddressInfo).port}`;
  });
  afterAll(() => strange.close());

  const one = async (line: string) => {
    const { code, answers } = await bridge(['--server', url], [line]);
    expect(code).toBe(0);
    return answers;
  };

  it('[mcp §A6] makes an error of what is no message, and nothing for notifications', async () => {
    const notification = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/x' });
    for (const [status, type, text, message] of [
      [401, 'text/plain', 'token is bad', 'token is bad'],
      [502, 'application/json', '{"oops":true}', '{"oops":true}'],
      [200, 'application/json', 'not json', 'not json'],
      [413, 'text/plain', '', 'the service answered with status 413'],
    ] as const) {
      answer = () => ({ status, type, text });
      expect(await one(request('x', 'ping'))).toEqual([
        { jsonrpc: '2.0', id: 'x', error: { code: -32603, message } },
      ]);
      expect(await one(notification)).toEqual([]);
    }
    answer = () => ({ status: 200, type: 'application/json', text: '{"jsonrpc":"2.0"}' });
    expect(await one(notification)).toEqual([]);
  });

  it('[mcp §A6] writes an answer on one line', async () => {
    const text = '{\n  "jsonrpc": "2.0",\r\n  "id": 1,\n  "result": {"a": "b\\nc"}\n}\n';
    answer = () => ({ status: 200, type: 'application/json', text });
    const { stdout } = await sandbox.run(['mcp', '--server', url], { input: request(1, 'x') });
    expect(stdout.trimEnd().split('\n')).toHaveLength(1);
    expect(JSON.parse(stdout)).toEqual({ jsonrpc: '2.0', id: 1, result: { a: 'b\nc' } });
  });

  it('[mcp §A6] lets the quick overtake the slow, waits for the last, drops the cancelled', async () => {
    answer = (body) => {
      const { id } = JSON.parse(body);
      const text = JSON.stringify({ jsonrpc: '2.0', id, result: {} });
      return { status: 200, type: 'application/json', text, millis: id === 1 ? 700 : 0 };
    };
    const slow = await bridge(['--server', url], [request(1, 'x'), request(2, 'x')]);
    expect(slow.answers.map(({ id }) => id)).toEqual([2, 1]);
    const live = new LiveBridge(sandbox.spawn(['mcp', '--server', url]));
    live.say(request(1, 'x'));
    expect(await live.ask(request(2, 'x'))).toMatchObject({ id: 2 });
    const params = { requestId: 1 };
    live.say(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params }));
    expect(await live.ask(request(3, 'x'))).toMatchObject({ id: 3 });
    expect(await live.end()).toBe(0);
    expect(live.answers).toHaveLength(2);
  });
});

interface Message {
  readonly id: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A bridge that is talked to line by line. */
class LiveBridge {
  readonly child: ChildProcess;
  readonly answers: Message[] = [];
  readonly ended: Promise<number | null>;
  #text = '';

  constructor(child: ChildProcess) {
    this.child = child;
    child.stdout?.on('data', (chunk) => {
      this.#text += chunk;
      const lines = this.#text.split('\n');
      this.#text = lines.pop() ?? '';
      for (const line of lines) this.answers.push(JSON.parse(line));
    });
    this.ended = new Promise((resolve) => child.on('close', resolve));
  }

  say(line: string): void {
    this.child.stdin?.write(`${line}\n`);
  }

  /** Sends a request and gives the next answer. */
  async ask(line: string): Promise<Message> {
    const before = this.answers.length;
    this.say(line);
    await expect.poll(() => this.answers.length, { timeout: 10_000 }).toBeGreaterThan(before);
    return this.answers[before] as Message;
  }

  end(): Promise<number | null> {
    this.child.stdin?.end();
    return this.ended;
  }
}
