import path from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agentFeatures } from '../../src/protocol/agent-features.ts';
import { fixture, writeFiles } from './cli-support.ts';
import { type RunningService, type RunOptions, Sandbox } from './harness.ts';
import { LiveBridge, modern, notification, request, toolCall } from './live-bridge.ts';

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

const bridging = (where: string) => `Serving MCP over stdio, bridging to ${sandbox.url}${where}\n`;

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

describe('mcp [<database>] [--server <server>] [--no-config] [--anonymous]', () => {
  it('[interface 4.5, cli 3.4] bridges an MCP client, over standard input/output, to a host', async () => {
    const hello = { protocolVersion: '2025-11-25', capabilities: {} };
    const { code, stderr, byId } = await bridge(
      ['inn', '--server', sandbox.url, '--no-config', '--anonymous'],
      [
        request(1, 'initialize', { ...hello, clientInfo: { name: 'test', version: '1' } }),
        notification('notifications/initialized'),
        request(2, 'tools/list'),
        toolCall(3, 'ping', { message: 'over stdio' }),
      ],
    );
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: bridging(`/v1/database/${innIdentity}/mcp`),
    });
    expect(byId.get(1).result).toMatchObject({
      protocolVersion: '2025-11-25',
      serverInfo: { name: 'reducerdb' },
    });
    expect(toolsOf(byId.get(2))).toEqual(scopedTools);
    expect(textOf(byId.get(3))).toBe('pong: over stdio');
  });

  it('[interface 4.5] No database argument: host-wide MCP server', async () => {
    const { code, stderr, byId } = await bridge([], [request(1, 'tools/list')]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: bridging('/v1/mcp') });
    expect(toolsOf(byId.get(1))).toEqual(hostTools);
  });

  it('[interface 4.5] Database argument (name or identity): server scoped to that database', async () => {
    for (const database of ['inn', innIdentity]) {
      const { stderr, byId } = await bridge([database], [request(1, 'tools/list')]);
      expect(stderr).toBe(bridging(`/v1/database/${innIdentity}/mcp`));
      expect(toolsOf(byId.get(1))).toEqual(scopedTools);
    }
  });

  it('[interface 4.5, cli 3.4, 4.3] Environment variable SERVICE_DB_NAME may supply the database argument', async () => {
    const env = { SERVICE_DB_NAME: 'inn' };
    const { stderr } = await bridge([], [], { env });
    expect(stderr).toBe(bridging(`/v1/database/${innIdentity}/mcp`));
    const other = await bridge(['ledger'], [toolCall(1, 'get_schema')], { env });
    expect(other.stderr).not.toContain(innIdentity);
    expect((await bridge([], [], { env: { SERVICE_DB_NAME: '' } })).stderr).toBe(
      bridging('/v1/mcp'),
    );
  });

  const dead = 'http://127.0.0.1:9';
  /** Runs the bridge of a user whose default server is dead, in a project with this file. */
  async function runIn(project: string, config: object, args: readonly string[]) {
    const cwd = path.join(sandbox.folder, project);
    writeFiles(cwd, { 'service.json': config });
    const user = await Sandbox.make(9);
    const input = `${request(1, 'tools/list')}\n`;
    const { code, stdout, stderr } = await user.run(['mcp', ...args], { cwd, input });
    user.remove();
    return { code, stderr, answer: JSON.parse(stdout) };
  }

  it('[interface 4.5] service.json naming a single unambiguous server: that server is used', async () => {
    const { code, stderr } = await runIn('single', { server: sandbox.url }, []);
    expect({ code, stderr }).toEqual({ code: 0, stderr: bridging('/v1/mcp') });
    const agreed = { server: sandbox.url, children: [{ database: 'a' }, { server: sandbox.url }] };
    expect((await runIn('agreed', agreed, [])).stderr).toBe(bridging('/v1/mcp'));
    const several = { server: sandbox.url, children: [{ server: 'http://127.0.0.1:8' }] };
    expect((await runIn('several', several, [])).stderr).toContain(`bridging to ${dead}/v1/mcp`);
  });

  it('[interface 4.5] … unless --server or --no-config is passed', async () => {
    for (const flags of [['--server', dead], ['--no-config']]) {
      const { code, stderr, answer } = await runIn('unless', { server: sandbox.url }, flags);
      expect({ code, stderr }).toEqual({
        code: 0,
        stderr: `Serving MCP over stdio, bridging to ${dead}/v1/mcp\n`,
      });
      expect(answer).toMatchObject({ id: 1, error: { code: -32603 } });
    }
  });

  it('[interface 4.5, cli 3.4] The config never supplies a database: without one it is host-wide', async () => {
    const config = { server: sandbox.url, database: 'inn' };
    const { stderr, answer } = await runIn('never', config, []);
    expect(stderr).toBe(bridging('/v1/mcp'));
    expect(toolsOf(answer)).toEqual(hostTools);
    const given = await runIn('never', config, ['ledger']);
    expect(toolsOf(given.answer)).toEqual(scopedTools);
    expect(given.stderr).not.toContain(innIdentity);
  });

  const readSecret = toolCall(1, 'sql', { sql: 'SELECT words FROM secret' });

  it('[interface 4.5, 5.7] Default identity: the saved identity of the user', async () => {
    const mine = await bridge(['inn'], [readSecret]);
    expect(textOf(mine.byId.get(1))).toContain('swordfish');
    const owned = await bridge([], [toolCall(1, 'list_databases')]);
    expect(textOf(owned.byId.get(1))).toContain(innIdentity);
  });

  it('[interface 4.5, 5.7] --anonymous: an anonymous identity instead of the saved one', async () => {
    const nobody = await bridge(['inn', '--anonymous'], [readSecret]);
    expect(nobody.byId.get(1).result).toMatchObject({
      content: [{ type: 'text', text: 'no such table: secret' }],
      isError: true,
    });
    const none = await bridge(['--anonymous'], [toolCall(1, 'list_databases')]);
    expect(textOf(none.byId.get(1))).toBe('{"databases":[]}');
  });

  it('[mcp A6] --server takes a nickname, a host name or a URL', async () => {
    for (const server of ['local', `127.0.0.1:${sandbox.port}`, sandbox.url, `${sandbox.url}/`]) {
      const { stderr } = await bridge(['--server', server], []);
      expect(stderr).toBe(bridging('/v1/mcp'));
    }
    const { code, stdout, stderr } = await sandbox.run(['mcp', '--server', 'nowhere']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('No such saved server configuration: nowhere');
  });

  it('[mcp A6] is nobody when no identity is saved, and does not log in', async () => {
    const stranger = await Sandbox.make(sandbox.port);
    const { code, stdout } = await stranger.run(['mcp'], {
      input: `${toolCall(1, 'list_databases')}\n`,
    });
    expect(code).toBe(0);
    expect(textOf(JSON.parse(stdout))).toBe('{"databases":[]}');
    expect(await stranger.ok(['login', 'show'])).toContain('You are not logged in.');
    stranger.remove();
  });

  it('[mcp A6] ends with 1 for an unknown database, and for a token that is refused', async () => {
    const { code, stdout, stderr } = await sandbox.run(['mcp', 'nobody']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(`Error: failed to find database \`nobody\`.\n`);
    const other = await Sandbox.make(sandbox.port);
    await other.ok(['login', '--token', 'a.eyJpc3MiOiJhIiwic3ViIjoiYiJ9.c']);
    const refused = await other.run(['mcp', 'inn']);
    expect({ code: refused.code, stdout: refused.stdout }).toEqual({ code: 1, stdout: '' });
    other.remove();
  });

  it('[mcp A6] keeps to the database that a name meant at the start', async () => {
    await sandbox.ok(['publish', 'moving', '-p', fixture('inn')]);
    const live = new LiveBridge(sandbox.spawn(['mcp', 'moving']));
    expect(
      await live.ask(toolCall(1, 'call', { reducer: 'add_person', args: ['Zoe'] })),
    ).toMatchObject({ id: 1, result: { isError: false } });
    const identity = await (await fetch(`${sandbox.url}/v1/database/moving/identity`)).text();
    await sandbox.ok(['rename', identity, '--to', 'moved']);
    const { result } = await live.ask(toolCall(2, 'sql', { sql: 'SELECT name FROM person' }));
    expect(JSON.stringify(result)).toContain('Zoe');
    expect(await live.end()).toBe(0);
  });
});

describe('--features', () => {
  it('[mcp B13] asks the endpoint for more than the five tools', async () => {
    const { stderr, byId } = await bridge(
      ['inn', '--features', 'logs, whoami'],
      [request(1, 'ping')],
    );
    expect(stderr).toBe(bridging(`/v1/database/${innIdentity}/mcp?features=logs,whoami`));
    expect(byId.get(1).result).toEqual({});
  });

  it('[mcp B13] refuses a word that it does not know, and names those that it does', async () => {
    const { code, stdout, stderr } = await sandbox.run(['mcp', '--features', 'logs,everything']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(agentFeatures.join(', '));
  });
});

describe('the bridge, to a running service', () => {
  it('[mcp A6] keeps ids as they were written', async () => {
    const big = '12345678901234567890';
    const { stdout } = await sandbox.run(['mcp'], {
      input:
        `{"jsonrpc":"2.0","id":${big},"method":"ping"}\n` +
        '{"jsonrpc":"2.0","id":1.50,"method":"no"}\n',
    });
    expect(stdout).toContain(`"id":${big}`);
    expect(stdout).toMatch(/"id":1\.50?[,}]/);
  });

  it('[mcp A6] answers a bad line with an error and goes on', async () => {
    const { code, byId, answers } = await bridge(
      ['inn'],
      [
        '{ nonsense',
        '17',
        '[]',
        `{"jsonrpc":"2.0","method":"${'x'.repeat(4 * 2 ** 20)}"}`,
        request(1, 'ping'),
        request(2, 'no/such/method'),
        toolCall(3, 'call', { reducer: 'nothing' }),
        toolCall(4, 'ping', { message: 'x'.repeat(3 * 2 ** 20) }),
      ],
    );
    expect(code).toBe(0);
    const aboutNothing = answers.filter(({ id }) => id === null).map(({ error }) => error.code);
    // Of `17`, which asks for nothing, nothing is said.
    expect(aboutNothing.sort()).toEqual([-32600, -32600, -32700]);
    expect(byId.get(1).result).toEqual({});
    expect(byId.get(2).error.code).toBe(-32601);
    expect(byId.get(3).result.isError).toBe(true);
    expect(byId.get(4).error).toMatchObject({ code: -32603 });
  });

  it('[mcp A6] answers as requests finish, a hundred at once', async () => {
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

  it('[mcp A6] answers each request once, whatever stands between', async () => {
    const odd = fc.oneof(
      fc.json().map((json) => (json.startsWith('{') ? '' : json)),
      fc.string().map((text) => `{${text}`),
      fc.constantFrom(
        '',
        '[]',
        notification('x'),
        '{"jsonrpc":"2.0","id":"?","result":1}',
        '\u0000',
      ),
    );
    const method = fc.constantFrom(
      'ping',
      'tools/list',
      'resources/list',
      'none',
      'server/discover',
    );
    const asked = fc.record({ method, isModern: fc.boolean() });
    const someLines = fc.array(fc.oneof(odd, asked), { minLength: 20, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(someLines, async (parts) => {
        const lines = parts.map((part, id) => {
          if (typeof part === 'string') return part;
          return part.isModern ? modern(`${id}`, part.method) : request(`${id}`, part.method);
        });
        const ids = parts.flatMap((part, id) => (typeof part === 'string' ? [] : [`${id}`]));
        const { code, answers } = await bridge(['inn'], lines);
        expect(code).toBe(0);
        const answered = answers.map(({ id }) => id).filter((id) => id !== null);
        expect(answered.sort()).toEqual(ids.sort());
      }),
      { numRuns: 5 },
    );
  });

  it('[mcp B11] answers the probe of a modern client, and serves it and a legacy one', async () => {
    const { byId } = await bridge(
      ['inn'],
      [
        modern(1, 'server/discover'),
        modern(2, 'tools/call', { name: 'ping', arguments: { message: 'modern' } }),
        toolCall(3, 'ping', { message: 'legacy' }),
      ],
    );
    expect(byId.get(1).result.supportedVersions).toContain('2026-07-28');
    expect(textOf(byId.get(2))).toBe('pong: modern');
    expect(textOf(byId.get(3))).toBe('pong: legacy');
  });

  it('[mcp A6] goes on after a service that was away', async () => {
    const live = new LiveBridge(sandbox.spawn(['mcp', 'inn']));
    expect(await live.ask(request(1, 'ping'))).toMatchObject({ id: 1, result: {} });
    await service.stop();
    const away = await live.ask(toolCall(2, 'ping'));
    expect(away).toMatchObject({ id: 2, error: { code: -32603 } });
    expect(away.error?.message).toContain('could not reach the reducerdb host');
    live.say(notification('notifications/initialized'));
    service = await sandbox.start();
    expect(await live.ask(toolCall(3, 'ping'))).toMatchObject({ id: 3, result: {} });
    expect(await live.end()).toBe(0);
  });

  it('[mcp A6] waits for a service that is not there yet, and then finds its database', async () => {
    await service.stop();
    const live = new LiveBridge(sandbox.spawn(['mcp', 'inn']));
    let said = '';
    live.child.stderr?.on('data', (chunk) => {
      said += chunk;
    });
    expect(await live.ask(request(1, 'tools/list'))).toMatchObject({ error: { code: -32603 } });
    expect(said).toMatch(
      /WARNING: could not reach the reducerdb host at .*\nServing MCP over stdio/,
    );
    service = await sandbox.start();
    const { result } = await live.ask(toolCall(2, 'sql', { sql: 'SELECT words FROM secret' }));
    expect(JSON.stringify(result)).toContain('swordfish');
    expect(await live.end()).toBe(0);
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('[mcp A6] ends at %s', async (signal) => {
    const live = new LiveBridge(sandbox.spawn(['mcp']));
    await live.ask(request(1, 'ping'));
    live.child.kill(signal);
    expect(await live.ended).toBe(0);
  });
});
