import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort, root } from '../service/harness.ts';

const command = path.join(root, 'dist/cli/main.js');

/** What a guide's commands need beyond Node; without them its commands cannot be run. */
export const hasTools = ['bash', 'curl'].every((tool) => {
  return spawnSync(tool, ['--version'], { stdio: 'ignore' }).status === 0;
});

export interface Outcome {
  readonly code: number | null;
  /** Standard output and standard error as they came. */
  readonly output: string;
}

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>> | undefined;
  readonly input: string;
}

/**
 * Where a reader sits who follows a document: an empty folder with reducerdb installed in it, a
 * home of their own, and a service at a port of their own, whatever the document says.
 */
export class Desk {
  readonly folder: string;
  readonly #base: string;
  readonly #port: number;
  readonly #services: Service[] = [];
  readonly #replaced = new Map<string, string>();

  private constructor(base: string, port: number) {
    this.#base = base;
    this.#port = port;
    this.folder = path.join(base, 'folder');
  }

  static async make(): Promise<Desk> {
    const desk = new Desk(mkdtempSync(path.join(tmpdir(), 'reducerdb-docs-')), await freePort());
    desk.#install();
    desk.#configure();
    return desk;
  }

  /** Runs lines as a shell would, and stops at the first that fails. */
  run(lines: string): Promise<Outcome> {
    return outcomeOf(this.#bash(lines));
  }

  /** From now on, documents mean `there` where they say `here`. */
  replace(here: string, there: string): void {
    this.#replaced.set(here, there);
  }

  /** Starts a service and waits until it answers. */
  async start(line: string): Promise<void> {
    const child = this.#bash(`exec ${line}`);
    const [, port = this.#port] = /--listen-addr 127\.0\.0\.1:(\d+)/.exec(this.#here(line)) ?? [];
    const service = { line, child, ended: outcomeOf(child) };
    this.#services.push(service);
    for (let attempt = 0; attempt < 600; attempt += 1) {
      if (child.exitCode !== null) break;
      const isReady = await fetch(`http://127.0.0.1:${port}/v1/ping`).then(
        (answer) => answer.ok,
        () => false,
      );
      if (isReady) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    child.kill('SIGKILL');
    throw new Error(`the service does not answer:\n${(await service.ended).output}`);
  }

  /** Runs a program that this desk has over these lines of input. */
  runProgram({ command, args, env, input }: Program): Promise<Outcome> {
    const all = { ...this.#environment(), ...env };
    const child = spawn(command, args, { cwd: this.folder, env: all });
    child.stdin.end(input);
    return outcomeOf(child);
  }

  write(file: string, text: string): void {
    const target = path.join(this.folder, file);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, this.#here(text));
  }

  /** Rewrites a file; the text is empty when there is none yet. */
  change(file: string, change: (old: string) => string): void {
    const target = path.join(this.folder, file);
    this.write(file, change(existsSync(target) ? readFileSync(target, 'utf8') : ''));
  }

  /** Stops what was started, in order; gives the exit codes of services. */
  async leave(): Promise<(number | null)[]> {
    const codes = [];
    for (const { line, child, ended } of this.#services) {
      child.kill('SIGTERM');
      const { code } = await ended;
      // A script of a guide just ends when it is told so, and some services are to be killed.
      const isKilled = child.signalCode === 'SIGKILL';
      if (!line.startsWith('node ') && !isKilled) codes.push(code);
    }
    rmSync(this.#base, { recursive: true, force: true });
    return codes;
  }

  #bash(lines: string): ChildProcess {
    return spawn('bash', ['-euo', 'pipefail', '-c', this.#here(lines)], {
      cwd: this.folder,
      env: this.#environment(),
      // A socket would make bash read the configuration of an interactive shell.
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  /** About the service of this desk. */
  #here(text: string): string {
    const elsewhere = [...this.#replaced].reduce(
      (changed, [here, there]) => changed.replaceAll(here, there),
      text,
    );
    return elsewhere
      .replaceAll('127.0.0.1:3000', `127.0.0.1:${this.#port}`)
      .replaceAll('--port 3000', `--port ${this.#port}`);
  }

  #environment(): NodeJS.ProcessEnv {
    const home = path.join(this.#base, 'home');
    const { PATH = '' } = process.env;
    return { HOME: home, NO_COLOR: '1', PATH: `${path.join(this.#base, 'bin')}:${PATH}` };
  }

  /**
   * The package, a compiler and React are there as `npm install` would put them, the commands in
   * the path.
   */
  #install(): void {
    const modules = path.join(this.folder, 'node_modules');
    mkdirSync(modules, { recursive: true });
    symlinkSync(root, path.join(modules, 'reducerdb'));
    for (const name of ['.bin', '@types', 'react', 'react-dom', 'typescript']) {
      symlinkSync(path.join(root, 'node_modules', name), path.join(modules, name));
    }
    symlinkSync(path.join(root, 'examples'), path.join(this.folder, 'examples'));
    const run = `exec ${process.execPath} ${command}`;
    this.#shim('reducerdb', `${run} "$@"`);
    this.#shim(
      'npx',
      `[ "$1" = --no-install ] && shift\n[ "$1" = reducerdb ] || exit 127\nshift\n${run} "$@"`,
    );
    // An answer that is an error fails the line, too.
    const curl = spawnSync('sh', ['-c', 'command -v curl'], { encoding: 'utf8' }).stdout.trim();
    this.#shim('curl', `exec ${curl} --fail-with-body "$@"`);
  }

  #shim(name: string, lines: string): void {
    const file = path.join(this.#base, 'bin', name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, `#!/bin/sh\n${lines}\n`);
    chmodSync(file, 0o755);
  }

  #configure(): void {
    const folder = path.join(this.#base, 'home/.config/reducerdb');
    mkdirSync(folder, { recursive: true });
    const address = `"127.0.0.1:${this.#port}"`;
    writeFileSync(
      path.join(folder, 'cli.toml'),
      `default_server = "local"\nlisten_addr = ${address}\n` +
        `[[server_configs]]\nnickname = "local"\nhost = ${address}\nprotocol = "http"\n`,
    );
  }
}

interface Service {
  readonly line: string;
  readonly child: ChildProcess;
  readonly ended: Promise<Outcome>;
}

function outcomeOf(child: ChildProcess): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk) => {
        output += chunk;
      });
    }
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output }));
  });
}
