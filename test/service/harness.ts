import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));
const command = path.join(root, 'dist/cli/main.js');

/** A folder of its own for a user: configuration, data, projects. Removed by `remove`. */
export class Sandbox {
  readonly folder: string;
  /** Where the service of this sandbox answers. */
  readonly port: number;
  readonly url: string;

  private constructor(folder: string, port: number) {
    this.folder = folder;
    this.port = port;
    this.url = `http://127.0.0.1:${port}`;
  }

  /** Makes a user whose default server is `127.0.0.1` at a free port, or at this one. Needs `dist`. */
  static async make(port?: number): Promise<Sandbox> {
    if (!existsSync(command)) throw new Error('dist is missing: run `npm run build` first');
    const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-service-'));
    const sandbox = new Sandbox(folder, port ?? (await freePort()));
    mkdirSync(path.join(folder, 'root/config'), { recursive: true });
    writeFileSync(
      path.join(folder, 'root/config/cli.toml'),
      `default_server = "local"\n[[server_configs]]\nnickname = "local"\n` +
        `host = "127.0.0.1:${sandbox.port}"\nprotocol = "http"\n`,
    );
    return sandbox;
  }

  /** Runs the command to its end. */
  run(args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
    const child = this.spawn(args, options);
    if (options.input !== undefined) child.stdin?.end(options.input);
    else child.stdin?.end();
    return resultOf(child);
  }

  /** Runs the command and demands that it succeeds; gives its standard output. */
  async ok(args: readonly string[], options: RunOptions = {}): Promise<string> {
    const { code, stdout, stderr } = await this.run(args, options);
    if (code !== 0) throw new Error(`${args.join(' ')}: exit ${code}\n${stdout}\n${stderr}`);
    return stdout;
  }

  /** Starts the command and leaves it running. */
  spawn(args: readonly string[], options: RunOptions = {}): ChildProcess {
    const global = options.isPlain ? [] : ['--root-dir', path.join(this.folder, 'root')];
    const line = [
      ...(options.under ?? []),
      ...[process.execPath, options.command ?? command, ...global, ...args],
    ];
    return spawn(line[0] ?? '', line.slice(1), {
      cwd: options.cwd ?? this.folder,
      env: { ...process.env, NO_COLOR: '1', SERVICE_DB_NAME: '', ...options.env },
      stdio: 'pipe',
    });
  }

  /** Starts a service and waits until it answers. */
  start(flags: readonly string[] = []): Promise<RunningService> {
    return this.startAt(this.port, flags);
  }

  /** Starts a service into which an `Inspector` can look. */
  async startInspected(flags: readonly string[]): Promise<RunningService> {
    const address = `127.0.0.1:${this.port}`;
    const env = { NODE_OPTIONS: '--inspect=127.0.0.1:0' };
    const child = this.spawn(['start', '--listen-addr', address, ...flags], { env });
    const service = new RunningService(child, this.url);
    await service.untilReady();
    return service;
  }

  /** Starts a service at another port. */
  async startAt(port: number, flags: readonly string[] = []): Promise<RunningService> {
    const args = ['start', '--listen-addr', `127.0.0.1:${port}`, '--log-level', 'warn'];
    const child = this.spawn([...args, ...flags]);
    const service = new RunningService(child, `http://127.0.0.1:${port}`);
    await service.untilReady();
    return service;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly input?: string;
  /** True: without `--root-dir`, so that the environment says where files are. */
  readonly isPlain?: boolean;
  /** The file of another build of it. */
  readonly command?: string | undefined;
  /** A command that runs it, such as `prlimit`, with its words. */
  readonly under?: readonly string[];
}

export interface RunResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** What a process has said when it has ended. */
export function resultOf(child: ChildProcess): Promise<RunResult> {
  return new Promise((resolve, reject) => {
    let stdout = '';
    let stderr = '';
    child.stdout?.on('data', (chunk) => {
      stdout += chunk;
    });
    child.stderr?.on('data', (chunk) => {
      stderr += chunk;
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
}

/** A service in a process of its own. */
export class RunningService {
  readonly url: string;
  readonly child: ChildProcess;
  /** All that it has printed. */
  output = '';
  readonly ended: Promise<number | null>;

  constructor(child: ChildProcess, url: string) {
    this.child = child;
    this.url = url;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk) => {
        this.output += chunk;
      });
    }
    this.ended = new Promise((resolve) => child.on('close', resolve));
  }

  async untilReady(): Promise<void> {
    for (let attempt = 0; attempt < 600; attempt += 1) {
      if (this.child.exitCode !== null) throw new Error(`the service ended:\n${this.output}`);
      const isReady = await fetch(`${this.url}/v1/ping`).then(
        (answer) => answer.ok,
        () => false,
      );
      if (isReady) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`the service does not answer:\n${this.output}`);
  }

  /** Ends it in order and gives its exit code. */
  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    this.child.kill(signal);
    return this.ended;
  }
}

/**
 * A port that a service can have again after it was away: none that the system gives to who
 * connects, as 0 would be, so that nobody has it meanwhile.
 */
export async function lastingPort(): Promise<number> {
  for (;;) {
    const port = 20_000 + randomInt(10_000);
    const isFree = await new Promise<boolean>((resolve) => {
      const server = createServer();
      server.on('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
