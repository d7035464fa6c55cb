import { execFile } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { root } from '../service/harness.ts';

const run = promisify(execFile);

export interface ListedTemplate {
  readonly name: string;
  readonly description: string;
  readonly parts: readonly string[];
}

/** The templates with a page or a program, as the package lists them. */
export function frontTemplates(): readonly ListedTemplate[] {
  const file = path.join(root, 'templates/templates.json');
  const all: ListedTemplate[] = JSON.parse(readFileSync(file, 'utf8'));
  return all.filter(({ name }) => name !== 'basic');
}

/**
 * Where a stranger sits: a home and a folder, both empty but for the file that `npm pack` has
 * written. Needs `dist`.
 */
export class Stranger {
  readonly base = mkdtempSync(path.join(tmpdir(), 'reducerdb-stranger-'));
  readonly folder = path.join(this.base, 'folder');
  tarball = '';

  static async arrive(): Promise<Stranger> {
    const stranger = new Stranger();
    for (const name of ['folder', 'home']) mkdirSync(path.join(stranger.base, name));
    // What a build would make is there: the tests stand on it.
    const flags = ['--json', '--ignore-scripts', '--pack-destination', stranger.folder];
    const options = { cwd: root, maxBuffer: 2 ** 26 };
    const { stdout } = await run('npm', ['pack', ...flags], options);
    const [packed] = JSON.parse(stdout) as { filename: string }[];
    stranger.tarball = path.join(stranger.folder, packed?.filename ?? '');
    return stranger;
  }

  /** Of processes: nothing of this user's own, but for the packages that were downloaded before. */
  get environment(): NodeJS.ProcessEnv {
    const { PATH, HOME = '' } = process.env;
    return {
      PATH,
      HOME: path.join(this.base, 'home'),
      NO_COLOR: '1',
      NEXT_TELEMETRY_DISABLED: '1',
      npm_config_cache: process.env.npm_config_cache ?? path.join(HOME, '.npm'),
      npm_config_update_notifier: 'false',
    };
  }

  /** What a command prints; it fails with what it printed. */
  async run(cwd: string, command: string, ...args: readonly string[]): Promise<string> {
    const options = { cwd, env: this.environment, maxBuffer: 2 ** 26 };
    try {
      const { stdout, stderr } = await run(command, args, options);
      return stdout + stderr;
    } catch (error) {
      const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string };
      throw new Error(`${command} ${args.join(' ')}:\n${stdout}${stderr}`, { cause: error });
    }
  }

  /**
   * Puts the packed package and the packages of this repository where projects of this folder find
   * them, so that nothing is downloaded.
   */
  async installOffline(): Promise<void> {
    const modules = path.join(this.folder, 'node_modules');
    const own = path.join(modules, 'reducerdb');
    mkdirSync(own, { recursive: true });
    await this.run(own, 'tar', 'xzf', this.tarball, '--strip-components=1');
    const installed = path.join(root, 'node_modules');
    for (const name of readdirSync(installed)) {
      if (['reducerdb', '.package-lock.json', '.bin'].includes(name)) continue;
      symlinkSync(path.join(installed, name), path.join(modules, name));
    }
    mkdirSync(path.join(modules, '.bin'));
    for (const name of readdirSync(path.join(installed, '.bin'))) {
      if (name === 'reducerdb') continue;
      symlinkSync(path.join(installed, '.bin', name), path.join(modules, '.bin', name));
    }
    symlinkSync('../reducerdb/dist/cli/main.js', path.join(modules, '.bin/reducerdb'));
    const resolved = `file:${path.basename(this.tarball)}`;
    const packages = { 'node_modules/reducerdb': { resolved } };
    writeFileSync(path.join(modules, '.package-lock.json'), JSON.stringify({ packages }));
  }

  leave(): void {
    rmSync(this.base, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Whether packages can be downloaded from here. */
export async function hasRegistry(): Promise<boolean> {
  try {
    await run('npm', ['view', 'vite', 'version'], { timeout: 30_000 });
    return true;
  } catch {
    return false;
  }
}
