import { execFile, spawn } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { parse as parseToml } from 'smol-toml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture, writeFiles } from './cli-support.ts';
import { type RunningService, root, Sandbox } from './harness.ts';
import { LiveBridge, request, toolCall } from './live-bridge.ts';

let sandbox: Sandbox;
let service: RunningService;

beforeAll(async () => {
  sandbox = await Sandbox.make();
  service = await sandbox.start();
  await sandbox.ok(['publish', 'inn', '-p', fixture('inn')]);
});
afterAll(async () => {
  await service.stop();
  sandbox.remove();
});

const print = (client: string, ...args: string[]) =>
  sandbox.run(['mcp', '--print-config', client, ...args]);

interface Command {
  readonly command: string;
  readonly args: readonly string[];
}

const ofMcpServers = (text: string, name: string) => JSON.parse(text).mcpServers[name];

/** How each client is told: where the command stands in what is printed. */
const shapes: Record<string, (text: string, name: string) => Command> = {
  'claude-code': ofMcpServers,
  'claude-desktop': ofMcpServers,
  cline: ofMcpServers,
  codex: (text, name) => {
    const { mcp_servers: servers } = parseToml(text);
    return (servers as unknown as Record<string, Command>)[name] as Command;
  },
  'copilot-cli': ofMcpServers,
  cursor: ofMcpServers,
  'gemini-cli': ofMcpServers,
  goose: (text) => ({
    command: JSON.parse(/^ {4}cmd: (.*)$/m.exec(text)?.[1] ?? ''),
    args: JSON.parse(/^ {4}args: (.*)$/m.exec(text)?.[1] ?? ''),
  }),
  junie: ofMcpServers,
  kiro: ofMcpServers,
  'lm-studio': ofMcpServers,
  opencode: (text, name) => {
    const [command = '', ...args] = JSON.parse(text).mcp[name].command;
    return { command, args };
  },
  'visual-studio': (text, name) => JSON.parse(text).servers[name],
  vscode: (text, name) => JSON.parse(text).servers[name],
  windsurf: ofMcpServers,
  zed: (text, name) => JSON.parse(text).context_servers[name],
};

describe('mcp --print-config', () => {
  it('[mcp B22] lists the clients that it knows, and where each has its file', async () => {
    const { code, stdout } = await print('list');
    expect(code).toBe(0);
    const words = stdout.split('\n').map((line) => line.split(' ')[0]);
    expect(words).toEqual([...Object.keys(shapes), '']);
    expect(stdout).toMatch(/^vscode +Visual Studio Code +\.vscode\/mcp\.json$/m);
    expect(stdout).toMatch(/^codex +Codex +\/.+\/config\.toml$/m);
  });

  it('[mcp B22] refuses a client that it does not know', async () => {
    const { code, stdout, stderr } = await print('emacs');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('one of list, claude-code, claude-desktop, ');
  });

  it.each(Object.entries(shapes))('[mcp B22] tells %s what it needs', async (client, find) => {
    const flags = ['--server', 'local', '--anonymous', '--features', 'logs,explain'];
    const { code, stdout, stderr } = await print(client, 'inn', ...flags);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^For .+, add this to .+:$/m);
    const { command, args } = find(stdout, 'inn');
    const end = [
      'mcp',
      'inn',
      '--server',
      sandbox.url,
      '--anonymous',
      '--features',
      'logs,explain',
    ];
    expect(args.slice(-end.length)).toEqual(end);
    expect(command).toBe(process.execPath);
    // The saved token is for the bridge alone to read.
    expect(stdout + stderr).not.toContain('eyJ');
  });

  it('[ease 4.13] makes a limited token on request, and never writes the saved one', async () => {
    const { code, stdout, stderr } = await print('claude-code', 'inn', '--token', 'read-only');
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const { env } = ofMcpServers(stdout, 'inn') as { env: { REDUCERDB_TOKEN: string } };
    const { username: token } = new URL(env.REDUCERDB_TOKEN);
    const saved = await sandbox.ok(['login', 'show', '--token']);
    expect(saved).not.toContain(token);
    expect(await sandbox.ok(['token', 'list', 'inn'])).toContain('read-only');
    expect(stderr).toMatch(/\(read-only\) is part of this configuration\. It expires 20\d\d-/);
    expect(stderr).toContain('Do not commit .mcp.json: ');
    const ofUser = await print('claude-desktop', 'inn', '--token', 'read-only');
    expect(ofUser.stderr).not.toContain('Do not commit');
    const bearer = { env };
    expect((await sandbox.run(['sql', 'inn', 'SELECT 1'], bearer)).code).toBe(0);
    for (const args of [
      ['inn', '--anonymous', '--token', 'full'],
      ['--token', 'full'],
    ]) {
      expect((await print('claude-code', ...args)).code).toBe(2);
    }
    expect((await sandbox.run(['mcp', 'inn', '--token', 'full'])).code).toBe(2);
  });

  it('[mcp B22] calls the server of a whole host by the name of the product', async () => {
    const { args } = ofMcpServers((await print('cursor')).stdout, 'reducerdb');
    expect(args.slice(-3)).toEqual(['mcp', '--server', sandbox.url]);
  });

  it('[mcp B22] spells out what the environment and service.json decide here', async () => {
    const cwd = path.join(sandbox.folder, 'project');
    writeFiles(cwd, { 'service.json': { server: 'https://db.example', database: 'never' } });
    const env = { SERVICE_DB_NAME: 'ledger' };
    const { stdout } = await sandbox.run(['mcp', '--print-config', 'cursor'], { cwd, env });
    expect(ofMcpServers(stdout, 'ledger').args.slice(-4)).toEqual([
      'mcp',
      'ledger',
      '--server',
      'https://db.example',
    ]);
  });

  it('[mcp B22] leaves out of Zed what it calls deprecated', async () => {
    const { box } = JSON.parse((await print('zed', 'box')).stdout).context_servers;
    expect(Object.keys(box)).toEqual(['command', 'args']);
  });

  it('[mcp B22] names the files where the environment has them', async () => {
    const env = { CODEX_HOME: '/c', COPILOT_HOME: '/d', XDG_CONFIG_HOME: '/e' };
    const { stdout } = await sandbox.run(['mcp', '--print-config', 'list'], { env });
    for (const file of ['/c/config.toml', '/d/mcp-config.json', '/e/zed/settings.json']) {
      expect(stdout).toContain(` ${file}\n`);
    }
  });

  it('[mcp B22] passes over variables that name no folder', async () => {
    const env = { CODEX_HOME: '', COPILOT_HOME: 'here', XDG_CONFIG_HOME: '', HOME: '/h' };
    const { stdout } = await sandbox.run(['mcp', '--print-config', 'list'], { env });
    for (const file of [
      '.codex/config.toml',
      '.copilot/mcp-config.json',
      '.config/zed/settings.json',
    ]) {
      expect(stdout).toContain(` /h/${file}\n`);
    }
  });

  it('[mcp B22] quotes names that TOML and YAML would read as something else', async () => {
    const { stdout } = await print('codex', 'a.b c');
    expect(parseToml(stdout)).toMatchObject({
      mcp_servers: { 'a.b c': { args: expect.anything() } },
    });
    expect((await print('goose', '007')).stdout).toContain('\n  "007":\n    name: "007"\n');
  });

  it.each([
    ['claude-desktop', 'the files themselves', process.execPath],
    ['cursor', "the project's package", 'npx'],
  ])('[mcp B22] names for %s %s, and works as it stands', async (client, _, program) => {
    const cwd = path.join(sandbox.folder, `of-${client}`);
    const installed = install(cwd);
    const globals = ['--root-dir', path.join(sandbox.folder, 'root')];
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [installed, ...globals, 'mcp', 'inn', '--print-config', client],
      { cwd },
    );
    const { command, args } = ofMcpServers(stdout, 'inn');
    expect(command).toBe(program);
    const live = new LiveBridge(spawn(command, args, { cwd, stdio: 'pipe' }));
    expect(await live.ask(request(1, 'ping'))).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
    const { result } = await live.ask(toolCall(2, 'sql', { sql: 'SELECT words FROM secret' }));
    expect(JSON.stringify(result)).toContain('swordfish');
    expect(await live.end()).toBe(0);
  });

  it('[ease 4.13] names the files themselves for a project that has another version or none', async () => {
    const installed = install(path.join(sandbox.folder, 'global'));
    const cwd = path.join(sandbox.folder, 'elsewhere');
    mkdirSync(cwd);
    const flags = ['--server', sandbox.url, '--print-config', 'cursor'];
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [installed, 'mcp', 'inn', ...flags],
      { cwd },
    );
    const { command, args } = ofMcpServers(stdout, 'inn');
    expect([command, args[0]]).toEqual([process.execPath, installed]);
  });

  it('[mcp B22] names the files themselves where it is no installed package', async () => {
    const { stdout } = await print('cursor', 'inn');
    const { command, args } = ofMcpServers(stdout, 'inn');
    expect([command, args[0]]).toEqual([process.execPath, path.join(root, 'dist/cli/main.js')]);
  });
});

/** Makes a project in which the package is installed; gives the file that starts the command. */
function install(project: string): string {
  const modules = path.join(project, 'node_modules');
  const installed = path.join(modules, 'reducerdb');
  mkdirSync(path.join(modules, '.bin'), { recursive: true });
  writeFileSync(path.join(project, 'package.json'), '{"name":"project"}');
  for (const name of readdirSync(path.join(root, 'node_modules'))) {
    if (name !== '.bin')
      symlinkSync(path.join(root, 'node_modules', name), path.join(modules, name));
  }
  for (const name of ['package.json', 'dist']) {
    cpSync(path.join(root, name), path.join(installed, name), { recursive: true });
  }
  const command = path.join(installed, 'dist/cli/main.js');
  symlinkSync(command, path.join(modules, '.bin/reducerdb'));
  return command;
}
