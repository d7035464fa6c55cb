import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { limits } from '../../limits.ts';
import { safeText } from '../safe-text.ts';
import type { DevScreen } from './dev-screen.ts';
import { pageAddress } from './page-address.ts';

/** Set for everything that `dev` runs: a `dev` within a `dev` would start itself forever. */
export const insideVariable = 'REDUCERDB_INSIDE_DEV';

/** Prefixes by which build tools recognize variables that pages may see. */
const prefixes = ['', 'VITE_', 'NEXT_PUBLIC_', 'REACT_APP_', 'EXPO_PUBLIC_', 'PUBLIC_'];

/** The variables that say where the database is. */
export function placeVariables(url: string, database: string): Record<string, string> {
  const pairs = prefixes.flatMap((prefix) => [
    [`${prefix}REDUCERDB_URL`, url],
    [`${prefix}REDUCERDB_DATABASE`, database],
  ]);
  return Object.fromEntries(pairs);
}

/** A command, and the folder that it runs in. */
export interface FrontEndCommand {
  readonly command: string;
  readonly folder: string;
}

/** Names scripts of `package.json` that would start this very command again. */
const startsDev = /\breducerdb\s+(?:\S+\s+)*?dev\b/;

/**
 * The front end's own command: the given one, else the script `dev` of the project, unless that is
 * `reducerdb dev` itself.
 */
export function frontEndCommand(
  root: string,
  given: string | undefined,
): FrontEndCommand | undefined {
  if (given !== undefined) return { command: given, folder: root };
  const script = scriptsOf(root).dev;
  if (script === undefined || startsDev.test(script)) return undefined;
  return { command: `${packageManagerOf(root)} run dev`, folder: root };
}

/** The command that runs the tests of a project, if it has some. */
export function testCommand(root: string): FrontEndCommand | undefined {
  if (scriptsOf(root).test === undefined) return undefined;
  return { command: `${packageManagerOf(root)} run test`, folder: root };
}

function scriptsOf(root: string): Readonly<Record<string, string | undefined>> {
  try {
    const text = readFileSync(path.join(root, 'package.json'), 'utf8');
    const { scripts } = JSON.parse(text) as { scripts?: unknown };
    const entries = Object.entries(Object(scripts)).filter(([, script]) => {
      return typeof script === 'string';
    });
    return Object.fromEntries(entries) as Record<string, string>;
  } catch {
    // The build says what is wrong with it.
    return {};
  }
}

/** By the lock file of the project. */
function packageManagerOf(root: string): string {
  const files = { pnpm: ['pnpm-lock.yaml'], yarn: ['yarn.lock'], bun: ['bun.lock', 'bun.lockb'] };
  const found = Object.entries(files).find(([, names]) => {
    return names.some((name) => existsSync(path.join(root, name)));
  });
  return found?.[0] ?? 'npm';
}

export interface RunOptions extends FrontEndCommand {
  readonly screen: DevScreen;
  /** Before each line. */
  readonly mark: string;
  readonly environment: NodeJS.ProcessEnv;
  /** Receives an address on this machine that it prints; `true`: it is that of its page. */
  readonly onPage?: (url: string) => boolean;
}

/** A command that runs beside `dev`, in a process group that ends as a whole. */
export class SideCommand {
  readonly ended: Promise<number | null>;
  readonly #child: ChildProcess;
  readonly #options: RunOptions;
  #isEnding = false;
  #hasPage = false;

  constructor(options: RunOptions) {
    this.#options = options;
    const { command, folder, environment } = options;
    const isWindows = process.platform === 'win32';
    this.#child = spawn(command, {
      cwd: folder,
      shell: true,
      env: { ...environment, PATH: pathWith(folder, environment), [insideVariable]: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: !isWindows,
    });
    this.#child.stdout?.setEncoding('utf8').on('data', this.#printer());
    this.#child.stderr?.setEncoding('utf8').on('data', this.#printer());
    this.ended = new Promise((resolve) => {
      this.#child.once('error', () => resolve(null));
      this.#child.once('exit', (code) => resolve(code));
    });
  }

  /** True once it was asked to end. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** Ends it with all that it has started. */
  kill(): void {
    this.#isEnding = true;
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      if (process.platform === 'win32') this.#child.kill();
      else process.kill(-pid, 'SIGTERM');
    } catch {
      // It has ended.
    }
  }

  /** Prints whole lines. */
  #printer(): (text: string) => void {
    let rest = '';
    return (text) => {
      const lines = (rest + text).slice(-limits.devLineCharactersMax).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.#line(line.trimEnd());
    };
  }

  #line(line: string): void {
    const plain = stripVTControlCharacters(line);
    this.#options.screen.asIs(`${this.#options.mark}${safeText(plain)}`);
    const url = this.#hasPage ? undefined : pageAddress(plain);
    if (url === undefined) return;
    this.#hasPage = this.#options.onPage?.(url) === true;
  }
}

/** With the commands that the project's packages bring, as scripts of a package manager have it. */
function pathWith(folder: string, environment: NodeJS.ProcessEnv): string {
  const folders: string[] = [];
  for (let at = folder; ; at = path.dirname(at)) {
    folders.push(path.join(at, 'node_modules', '.bin'));
    if (at === path.dirname(at)) break;
  }
  return [...folders, environment.PATH ?? ''].join(path.delimiter);
}
