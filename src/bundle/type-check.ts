import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

export type TypeCheck =
  | { readonly kind: 'passed' }
  /** What the compiler printed. */
  | { readonly kind: 'failed'; readonly text: string }
  /** Why nothing was checked. */
  | { readonly kind: 'skipped'; readonly text: string };

/**
 * Checks the types of the module project in `folder` with the project's own compiler and settings,
 * so that a build says what the author's editor says. Without a compiler in reach nothing is checked.
 */
export async function typeCheck(folder: string): Promise<TypeCheck> {
  const compiler = findCompiler(folder);
  if (compiler === undefined) {
    const text = `Types are not checked: TypeScript is not installed in ${folder} (npm install).`;
    return { kind: 'skipped', text };
  }
  if (!existsSync(path.join(folder, 'tsconfig.json'))) {
    return { kind: 'skipped', text: `Types are not checked: ${folder} has no tsconfig.json.` };
  }
  if (findPackage(folder, 'reducerdb') === undefined) {
    const text = `Types are not checked: reducerdb is not installed in ${folder} (npm install).`;
    return { kind: 'skipped', text };
  }
  const { code, output } = await run(compiler, folder);
  return code === 0 ? { kind: 'passed' } : { kind: 'failed', text: output.trim() };
}

/** The file that starts the `tsc` that the project, or a folder above it, has installed. */
function findCompiler(folder: string): string | undefined {
  const place = findPackage(folder, 'typescript');
  if (place === undefined) return undefined;
  const manifest = readFileSync(path.join(place, 'package.json'), 'utf8');
  const { bin } = JSON.parse(manifest) as { bin?: { tsc?: string } };
  return bin?.tsc === undefined ? undefined : path.join(place, bin.tsc);
}

/** The folder of a package that code in `folder` can import. */
function findPackage(folder: string, name: string): string | undefined {
  const { resolve } = createRequire(path.join(path.resolve(folder), 'package.json'));
  return (resolve.paths(name) ?? [])
    .map((place) => path.join(place, name))
    .find((place) => existsSync(path.join(place, 'package.json')));
}

function run(compiler: string, folder: string): Promise<{ code: number; output: string }> {
  return new Promise((resolve, reject) => {
    const args = [compiler, '--noEmit', '--pretty', 'false'];
    const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const collect = (chunk: Buffer) => {
      output += chunk.toString('utf8');
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    child.on('error', reject);
    child.on('close', (code) => resolve({ code: code ?? 1, output }));
  });
}
