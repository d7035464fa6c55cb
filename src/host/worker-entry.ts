import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The file that a database's worker runs: `worker-main.js` beside this one in a built package. Run
 * from source, where the platform cannot load TypeScript in a worker, it is bundled once and kept
 * until a source file changes.
 */
export function workerEntry(): Promise<string> {
  cached ??= findEntry();
  return cached;
}

let cached: Promise<string> | undefined;

async function findEntry(): Promise<string> {
  const here = fileURLToPath(import.meta.url);
  const beside = path.join(path.dirname(here), 'worker-main.js');
  if (here.endsWith('.js')) return beside;
  const sources = path.resolve(path.dirname(here), '..');
  const folder = path.resolve(sources, '../node_modules/.cache/reducerdb');
  const file = path.join(folder, `worker-${fingerprint(sources)}.mjs`);
  if (!existsSync(file)) await bundle(path.join(path.dirname(here), 'worker-main.ts'), file);
  return file;
}

/** Changes when a source file does. */
function fingerprint(sources: string): string {
  const hash = createHash('sha256');
  for (const name of readdirSync(sources, { recursive: true, encoding: 'utf8' }).sort()) {
    if (!name.endsWith('.ts') || name.endsWith('.test.ts')) continue;
    const { size, mtimeMs } = statSync(path.join(sources, name));
    hash.update(`${name} ${size} ${mtimeMs}\n`);
  }
  return hash.digest('hex').slice(0, 16);
}

async function bundle(entry: string, file: string): Promise<void> {
  const { build } = await import('esbuild');
  mkdirSync(path.dirname(file), { recursive: true });
  const unfinished = `${file}.${process.pid}`;
  await build({
    entryPoints: [entry],
    outfile: unfinished,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    sourcemap: 'inline',
    logLevel: 'silent',
  });
  // Several test processes may do this at once; each finds a whole file.
  renameSync(unfinished, file);
}
