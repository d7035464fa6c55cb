import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The file that a worker or a linker runs, for example `thread-main.bundle.mjs`. It contains
 * everything it needs: a process of a database may read nothing else, and a thread or a linker
 * starts several times as fast as from hundreds of files.
 *
 * In a built package it lies in the folder of this room; this function may have become part of a
 * file of another one. Run from source, where the platform cannot load TypeScript in a worker, the
 * file is bundled once and kept until a source file changes.
 */
export function workerEntry(kind: WorkerKind): Promise<string> {
  cached[kind] ??= findEntry(kind);
  return cached[kind];
}

export type WorkerKind = 'thread' | 'process' | 'linker' | 'spawner';

const cached: { [kind in WorkerKind]?: Promise<string> } = {};

async function findEntry(kind: WorkerKind): Promise<string> {
  const here = fileURLToPath(import.meta.url);
  const folderOfThis = path.dirname(here);
  const sources = path.resolve(folderOfThis, '..');
  if (here.endsWith('.js')) return path.join(sources, 'host', `${kind}-main.bundle.mjs`);
  const folder = path.resolve(sources, '../node_modules/.cache/reducerdb');
  const file = path.join(folder, `${kind}-${fingerprint(sources)}.mjs`);
  if (!existsSync(file)) await bundle(path.join(folderOfThis, `${kind}-main.ts`), file);
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
    // The bundler looks for its program beside its own file.
    external: ['esbuild'],
    logLevel: 'silent',
  });
  // Several test processes can do this at once; each finds a complete file.
  renameSync(unfinished, file);
}
