import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { limits } from '../../limits.ts';
import { object, string } from '../../values/json-shape.ts';
import { Api } from '../api.ts';
import { packageFolder } from '../installation.ts';
import { CliError } from '../io.ts';
import { type DevPlace, type DevState, inodeOf, isRunning } from './dev-place.ts';
import type { DevScreen } from './dev-screen.ts';

export interface DevServiceOptions {
  readonly place: DevPlace;
  readonly screen: DevScreen;
  /** The port to try first. */
  readonly port: number | undefined;
}

/** The service of a project: found, or started as a child that ends with this process. */
export class DevService {
  readonly #options: DevServiceOptions;
  #url = '';
  #child: ChildProcess | undefined;
  /** Process id of a service that an earlier `dev` has left, and that this one ends. */
  #adopted: number | undefined;
  #isEnding = false;
  #restarts: number[] = [];
  /** The start that is under way. */
  #starting: Promise<void> | undefined;
  #ensuring: Promise<void> | undefined;

  constructor(options: DevServiceOptions) {
    this.#options = options;
  }

  get url(): string {
    return this.#url;
  }

  /** Finds the service of this project, or starts it. */
  async begin(): Promise<void> {
    const { place, screen } = this.#options;
    const state = place.state;
    if (state !== undefined && state.folder !== place.root) await this.#settleMove(state);
    else if (state !== undefined && (await this.#isOurs(state.url))) {
      this.#url = state.url;
      if (isRunning(state.owner) && state.owner !== process.pid) {
        screen.say(`service: ${state.url}, found: process ${state.owner} runs dev here, too`);
        return;
      }
      this.#adopted = state.pid;
      this.#note(state.pid);
      screen.say(`service: ${state.url}, found: an earlier dev left it running`);
      return;
    }
    await this.#start(this.#options.port ?? portOf(state?.url) ?? defaultPort);
  }

  /** The service as the owner of its databases. */
  async api(): Promise<Api> {
    const { place } = this.#options;
    const server = { url: this.#url, name: 'dev' };
    if (place.token === undefined) {
      const shape = object({ token: string });
      place.keepToken((await new Api(server, undefined).json('POST', '/v1/identity', shape)).token);
    }
    return new Api(server, place.token);
  }

  /**
   * Makes sure that the service answers: one that has ended is started again. Throws if it ends
   * again and again.
   */
  ensure(): Promise<void> {
    // Several ask at once when it ends, and one start is enough.
    this.#ensuring ??= this.#ensure().finally(() => {
      this.#ensuring = undefined;
    });
    return this.#ensuring;
  }

  async #ensure(): Promise<void> {
    if (this.#isEnding) return;
    if (this.#starting !== undefined) return this.#starting;
    if (this.#isChildAlive() || (await this.#isOurs(this.#url))) return;
    const { screen } = this.#options;
    // Another dev of this project may have started one meanwhile.
    const state = this.#options.place.state;
    if (state !== undefined && state.url !== this.#url && (await this.#isOurs(state.url))) {
      this.#url = state.url;
      return;
    }
    if (this.#isEnding) return;
    const now = performance.now();
    this.#restarts = this.#restarts.filter((at) => now - at < limits.devRestartMillis);
    if (this.#restarts.length >= limits.devRestartsMax) throw this.#failure('ends again and again');
    this.#restarts.push(now);
    screen.warn('the service has ended: starting it again; what was committed is there');
    await this.#start(portOf(this.#url) ?? defaultPort);
  }

  /** Ends the service that this process has started or taken over. */
  async end(): Promise<void> {
    this.#isEnding = true;
    await this.#ensuring?.catch(() => undefined);
    await this.#starting?.catch(() => undefined);
    const pid = this.#child?.pid ?? this.#adopted;
    if (pid === undefined || (this.#child !== undefined && !this.#isChildAlive())) return;
    await endProcess(pid);
  }

  /** For the exit of this process by surprise: nothing is awaited. */
  kill(): void {
    const pid = this.#isChildAlive() ? this.#child?.pid : this.#adopted;
    if (pid === undefined) return;
    try {
      process.kill(pid, 'SIGTERM');
    } catch {
      // It has ended.
    }
  }

  #isChildAlive(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && !this.#child.signalCode;
  }

  /** The folder is not where it was: its old service has its files under another path. */
  async #settleMove(state: DevState): Promise<void> {
    const { place, screen } = this.#options;
    // A service that still runs may have made the old folder again.
    const isSame = state.inode !== undefined && state.inode === inodeOf(place.root);
    if (!isSame && existsSync(state.folder)) {
      screen.say(`this project is a copy of ${state.folder}: its rows are a copy, too`);
      return;
    }
    screen.say(`this project was in ${state.folder} before: its rows have come along`);
    const isOld = isRunning(state.pid) && (await this.#isOurs(state.url));
    if (isOld) await endProcess(state.pid);
    this.#url = '';
    mkdirSync(place.folder, { recursive: true, mode: 0o700 });
  }

  /** Whether the service at an address is the one whose data are in this project. */
  async #isOurs(url: string): Promise<boolean> {
    const { publicKey } = this.#options.place;
    if (publicKey === undefined || url === '') return false;
    const signal = AbortSignal.timeout(limits.devLookMillis);
    try {
      const server = new Api({ url, name: 'dev' }, undefined);
      const answer = await server.send('GET', '/v1/identity/public-key', { signal });
      return answer.ok && (await answer.text()).trim() === publicKey;
    } catch {
      return false;
    }
  }

  #start(port: number): Promise<void> {
    this.#starting = this.#startAt(port).finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  /** From `from` on, the first port that is free, and stays so until the service has it. */
  async #startAt(wished: number, from = wished): Promise<void> {
    const { screen } = this.#options;
    const port = await freePort(from);
    if (port !== wished) screen.say(`port ${wished} is busy: the service takes ${port}`);
    const url = `http://127.0.0.1:${port}`;
    const { dataFolder, serviceLog } = this.#options.place;
    // A link in its place is removed, not followed.
    rmSync(serviceLog, { force: true });
    const output = openSync(serviceLog, 'wx', 0o600);
    const main = path.join(packageFolder, 'dist/cli/main.js');
    const words = ['start', '--data-dir', dataFolder, '--listen-addr', `127.0.0.1:${port}`];
    const tuning = ['--development', '--log-level', 'warn'];
    // In a group of its own: Ctrl-C is for this process, which ends the service in order.
    const child = spawn(process.execPath, [main, ...words, ...tuning], {
      stdio: ['ignore', output, output],
      detached: true,
      windowsHide: true,
    });
    closeSync(output);
    this.#child = child;
    this.#adopted = undefined;
    child.on('error', () => undefined);
    try {
      await this.#untilAnswering(child, url);
    } catch (error) {
      const isTaken = !this.#isChildAlive() && !(await isFree(port));
      if (!isTaken || port - wished >= limits.devPortsMax) throw error;
      // By somebody else, between the look and the start.
      return this.#startAt(wished, port + 1);
    }
    this.#url = url;
    if (child.pid !== undefined) this.#note(child.pid);
    screen.say(`service: ${url}, with its data in .reducerdb/`);
  }

  async #untilAnswering(child: ChildProcess, url: string): Promise<void> {
    const end = performance.now() + limits.devStartMillisMax;
    while (performance.now() < end) {
      if (!this.#isChildAlive() || child.pid === undefined) throw this.#failure('does not start');
      if (await this.#isOurs(url)) return;
      await wait(25);
    }
    child.kill('SIGKILL');
    throw this.#failure(`does not answer within ${limits.devStartMillisMax / 1000} s`);
  }

  /** What the service has said last says why. */
  #failure(what: string): CliError {
    const { serviceLog } = this.#options.place;
    const text = existsSync(serviceLog) ? readFileSync(serviceLog, 'utf8') : '';
    const lines = text.trimEnd().split('\n').slice(-limits.devTailLinesMax);
    return new CliError([`the service ${what}; ${serviceLog} ends with:`, ...lines].join('\n'));
  }

  #note(pid: number): void {
    const { place } = this.#options;
    const inode = inodeOf(place.root);
    place.noteState({ url: this.#url, pid, owner: process.pid, folder: place.root, inode });
  }
}

const defaultPort = 3000;

function portOf(url: string | undefined): number | undefined {
  if (url === undefined || !URL.canParse(url)) return undefined;
  const { port } = new URL(url);
  return port === '' ? undefined : Number(port);
}

async function freePort(wished: number): Promise<number> {
  const last = Math.min(wished + limits.devPortsMax, 65_536);
  for (let port = wished; port < last; port += 1) if (await isFree(port)) return port;
  throw new CliError(`no port from ${wished} to ${last - 1} is free; name another one with --port`);
}

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      server.close(() => resolve(true));
    });
  });
}

/** Asks a process to end, and waits until it has. */
async function endProcess(pid: number): Promise<void> {
  const end = performance.now() + limits.devStopMillisMax;
  try {
    process.kill(pid, 'SIGTERM');
    while (performance.now() < end) {
      if (!isRunning(pid)) return;
      await wait(25);
    }
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
