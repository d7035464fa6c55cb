import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { findInstalled, findProject } from './project.ts';

export type TypeCheck =
  | { readonly kind: 'passed' }
  /** The compiler's own output. */
  | { readonly kind: 'failed'; readonly diagnostics: string }
  /** Nothing was checked; `notice` says why. */
  | { readonly kind: 'skipped'; readonly notice: string };

const diagnosticBytesMax = 4 * 1024 * 1024;

/**
 * Runs the type checker that the module's project has installed, with the project's own settings.
 * Throws `BuildError` when there is no module at `location`. `signal` ends it early: its result is
 * then of no use.
 */
export async function typeCheck(location: string, signal?: AbortSignal): Promise<TypeCheck> {
  const { root } = findProject(location);
  if (!existsSync(path.join(root, 'tsconfig.json'))) {
    return { kind: 'skipped', notice: 'types are not checked: the project has no tsconfig.json' };
  }
  const compiler = compilerOf(root);
  if (compiler === undefined) {
    return {
      kind: 'skipped',
      notice: 'types are not checked: TypeScript is not installed (npm install -D typescript)',
    };
  }
  if (lacksOwnPackage(root)) {
    return {
      kind: 'skipped',
      notice: 'types are not checked: reducerdb is not installed in the project (npm install)',
    };
  }
  return new Promise((resolve) => {
    const options = { cwd: root, maxBuffer: diagnosticBytesMax, shell: isWindows, signal };
    execFile(compiler, ['--noEmit', '--pretty', 'false'], options, (error, stdout, stderr) => {
      if (error === null) resolve({ kind: 'passed' });
      else resolve({ kind: 'failed', diagnostics: (stdout + stderr).trim() || error.message });
    });
  });
}

const isWindows = process.platform === 'win32';

/**
 * True if the project depends on this package but has not installed it yet: the compiler then
 * cannot find its types, though the bundler finds its code (see `own-package.ts`).
 */
function lacksOwnPackage(root: string): boolean {
  const manifest = path.join(root, 'package.json');
  if (!existsSync(manifest) || findInstalled(root, 'reducerdb') !== undefined) return false;
  return readFileSync(manifest, 'utf8').includes('"reducerdb"');
}

function compilerOf(root: string): string | undefined {
  return findInstalled(root, path.join('.bin', isWindows ? 'tsc.cmd' : 'tsc'));
}
