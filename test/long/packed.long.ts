import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort, root } from '../service/harness.ts';

/**
 * The package as its users have it: the file that `npm pack` writes (or the one that `TARBALL`
 * names), installed into an empty folder. It needs the registry of npm.
 */
const run = promisify(execFile);

let base: string;
let folder: string;
let port: number;
let tarball: string;
let service: ChildProcess;

beforeAll(async () => {
  base = mkdtempSync(path.join(tmpdir(), 'reducerdb-packed-'));
  folder = path.join(base, 'folder');
  mkdirSync(folder, { recursive: true });
  port = await freePort();
  configure();
  tarball = process.env.TARBALL ?? (await packed());
  writeFileSync(path.join(folder, 'package.json'), '{"name":"user","private":true}\n');
  await sh(folder, 'npm', 'install', '--no-audit', tarball);
  const args = ['reducerdb', 'start', '--listen-addr', `127.0.0.1:${port}`];
  const data = ['--data-dir', path.join(base, 'data')];
  service = spawn('npx', [...args, ...data], { cwd: folder, env: environment(), stdio: 'ignore' });
  await answering();
});
afterAll(async () => {
  const ended = new Promise((resolve) => service.once('close', resolve));
  service.kill('SIGTERM');
  await ended;
  rmSync(base, { recursive: true, force: true });
});

async function packed(): Promise<string> {
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', base], {
    cwd: root,
    maxBuffer: 2 ** 26,
  });
  const [{ filename }] = JSON.parse(stdout.slice(stdout.indexOf('[\n'))) as [{ filename: string }];
  return path.join(base, filename);
}

/** The home of a user whose server is the one of this test. */
function configure(): void {
  const config = path.join(base, 'home/.config/reducerdb');
  mkdirSync(config, { recursive: true });
  const lines = ['default_server = "local"', '[[server_configs]]', 'nickname = "local"'];
  lines.push(`host = "127.0.0.1:${port}"`, 'protocol = "http"', '');
  writeFileSync(path.join(config, 'cli.toml'), lines.join('\n'));
}

function environment(): NodeJS.ProcessEnv {
  const { PATH, HOME = '' } = process.env;
  const cache = process.env.npm_config_cache ?? path.join(HOME, '.npm');
  return { PATH, HOME: path.join(base, 'home'), NO_COLOR: '1', npm_config_cache: cache };
}

/** What a command prints; it fails with what it printed. */
async function sh(cwd: string, command: string, ...args: readonly string[]): Promise<string> {
  const options = { cwd, env: environment(), maxBuffer: 2 ** 26 };
  try {
    const { stdout, stderr } = await run(command, args, options);
    return stdout + stderr;
  } catch (error) {
    const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string };
    throw new Error(`${command} ${args.join(' ')}:\n${stdout}${stderr}`, { cause: error });
  }
}

async function answering(): Promise<void> {
  while (service.exitCode === null) {
    const answer = await fetch(`http://127.0.0.1:${port}/v1/ping`).catch(() => undefined);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('the service has ended');
}

describe('[ease 5.3] the installed package', () => {
  it('makes a project of its template, which installs, builds, publishes and passes its test', async () => {
    await sh(folder, 'npx', 'reducerdb', 'init', 'app');
    const app = path.join(folder, 'app');
    const { dependencies } = JSON.parse(readFileSync(path.join(app, 'package.json'), 'utf8'));
    expect(path.resolve(app, dependencies.reducerdb.replace(/^file:/, ''))).toBe(tarball);
    await sh(app, 'npm', 'install');
    await sh(app, 'npm', 'run', 'build');
    await sh(app, 'npx', 'tsc', '--noEmit', '-p', '.');
    expect(await sh(app, 'npm', 'run', 'publish-module')).toContain('with name: app,');
    await sh(app, 'npx', 'reducerdb', 'call', 'add_task', 'write a reducer');
    const rows = await sh(app, 'npx', 'reducerdb', 'sql', 'SELECT title FROM task');
    expect(rows).toContain('"write a reducer"');
    expect(await sh(app, 'npm', 'test')).toContain('fail 0');
  });

  it('lists its examples, each of which is tried here', async () => {
    const listed = await sh(folder, 'npx', 'reducerdb', 'init', '--list-examples');
    const names = listed
      .trim()
      .split('\n')
      .map((line) => line.split(':')[0]);
    expect(names).toEqual(Object.keys(examples));
  });

  it.each(Object.entries(examples))('makes a project of the example %s', async (name, example) => {
    await sh(folder, 'npx', 'reducerdb', 'init', `my-${name}`, '--example', name);
    const project = path.join(folder, `my-${name}`);
    await sh(project, 'npm', 'install');
    if (example.script !== undefined) await sh(project, 'npm', 'run', example.script);
    for (const part of example.compiled) await sh(project, 'npx', 'tsc', '--noEmit', '-p', part);
    const published = await sh(project, 'npx', 'reducerdb', 'publish', ...example.values);
    expect(published).toContain(`with name: ${example.database ?? `my-${name}`},`);
    const described = await sh(project, 'npx', 'reducerdb', 'describe');
    expect(described).toContain(example.table);
  });

  it('has a README whose links lead to files that are in it, and to headings that these have', async () => {
    const inside = path.join(folder, 'node_modules/reducerdb');
    const text = readFileSync(path.join(inside, 'README.md'), 'utf8');
    const { version } = JSON.parse(readFileSync(path.join(inside, 'package.json'), 'utf8'));
    const links = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, target = '']) => target);
    expect(links.filter((target) => !target.startsWith('https://'))).toEqual([]);
    const own = `https://app.unpkg.com/reducerdb@${version}/files/`;
    const files = links.filter((target) => target.startsWith(own));
    expect(files.length).toBeGreaterThan(20);
    const listed = (await sh(folder, 'tar', 'tzf', tarball)).split('\n');
    for (const target of files) {
      const [file = '', heading] = target.slice(own.length).split('#');
      const there = listed.some(
        (one) => one === `package/${file}` || one.startsWith(`package/${file}/`),
      );
      expect([target, there]).toEqual([target, true]);
      if (heading !== undefined) {
        expect(headingsOf(readFileSync(path.join(inside, file), 'utf8'))).toContain(heading);
      }
    }
  });
});

interface Example {
  /** What its manifest has to build it. */
  readonly script?: string;
  /** Folders with settings of the compiler. */
  readonly compiled: readonly string[];
  /** Flags that give what the module is configured with. */
  readonly values: readonly string[];
  /** Where its own configuration names one. */
  readonly database?: string;
  readonly table: string;
}

const examples: Readonly<Record<string, Example>> = {
  agent: { compiled: ['.', 'client'], values: [], table: 'correction' },
  chat: { script: 'build', compiled: ['.'], values: [], table: 'message' },
  helpdesk: {
    script: 'build',
    compiled: ['.', 'web'],
    values: ['--set-secret', 'TEAM_CODE=tea', '--set-secret', 'WEBHOOK_SECRET=a secret of two'],
    table: 'ticket',
  },
};

/** Headings as links name them. */
function headingsOf(markdown: string): readonly string[] {
  return [...markdown.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
