import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { type RunResult, resultOf } from '../service/harness.ts';

/** Programs of others that want a newer Node than the product does, and that Node. */
const packages = {
  node: '22.23.3',
  conformance: 'npm:@modelcontextprotocol/conformance@0.1.16',
  'conformance-alpha': 'npm:@modelcontextprotocol/conformance@0.2.0-alpha.12',
  inspector: 'npm:@modelcontextprotocol/inspector@2.12.0',
} as const;

export type ToolName = Exclude<keyof typeof packages, 'node'>;

const scripts: Readonly<Record<ToolName, string>> = {
  conformance: 'dist/index.js',
  'conformance-alpha': 'dist/index.js',
  inspector: 'clients/launcher/build/index.js',
};

/**
 * A folder outside of the repository with those programs. It is installed by npm when it is not
 * there, and kept; other versions get a folder of their own.
 */
export class Tools {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async install(): Promise<Tools> {
    const manifest = JSON.stringify({ private: true, dependencies: packages });
    const version = createHash('sha256').update(manifest).digest('hex').slice(0, 12);
    const cache = process.env.XDG_CACHE_HOME || path.join(homedir(), '.cache');
    const folder = path.join(cache, 'reducerdb-tools', version);
    if (!existsSync(folder)) await installInto(folder, manifest);
    return new Tools(folder);
  }

  /** Runs one of them to its end. */
  run(tool: ToolName, args: readonly string[]): Promise<RunResult> {
    const modules = path.join(this.#folder, 'node_modules');
    const script = path.join(modules, tool, scripts[tool]);
    return run(path.join(modules, 'node/bin/node'), [script, ...args]);
  }
}

/** The folder appears when all of it is there; of two who install at once, one wins. */
async function installInto(folder: string, manifest: string): Promise<void> {
  mkdirSync(path.dirname(folder), { recursive: true });
  const draft = mkdtempSync(`${folder}-`);
  try {
    writeFileSync(path.join(draft, 'package.json'), manifest);
    const { code, stderr } = await run('npm', ['install', '--no-audit', '--no-fund'], draft);
    if (code !== 0) throw new Error(`the tools cannot be installed:\n${stderr}`);
    if (!existsSync(folder)) renameSync(draft, folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function run(command: string, args: readonly string[], cwd?: string): Promise<RunResult> {
  return resultOf(spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] }));
}
