import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { BuildOptions } from 'esbuild';
import { isBuilt, sourcesFolder } from '../../node/sources-folder.ts';
import { bundleScript } from './program-script.ts';

/**
 * The file that a worker or a linker runs, for example `lane-main.bundle.mjs`. It contains
 * everything it needs: a process of a database may read nothing else, and a thread or a linker
 * starts several times as fast as from hundreds of files.
 *
 * In a built package it lies in the folder of this room. Run from source, where the platform cannot
 * load TypeScript in a worker, the file is bundled once and kept until a source file changes.
 * `thread` is a script (see `program-script.ts`), which `load` runs.
 */
export function workerEntry(kind: WorkerKind): Promise<string> {
  cached[kind] ??= findEntry(kind);
  return cached[kind];
}

/** What there is to run, and in which folder its source lies, as seen from this room. */
const folders = {
  load: 'workers',
  thread: 'workers',
  process: 'workers',
  'process-actor': 'workers',
  lane: 'lanes',
  outbound: 'outbound',
  snapshot: 'snapshots',
  rows: 'transfer',
  backup: 'backups',
  linker: 'linking',
  source: 'publishing',
  spawner: 'spawner',
  engine: '../cluster',
  'store-engine': '../cluster',
};

export type WorkerKind = keyof typeof folders;

const cached: { [kind in WorkerKind]?: Promise<string> } = {};

async function findEntry(kind: WorkerKind): Promise<string> {
  const isScript = kind === 'thread';
  const extension = isScript ? 'cjs' : 'mjs';
  if (isBuilt) return path.join(sourcesFolder, 'host', `${kind}-main.bundle.${extension}`);
  const folder = path.resolve(sourcesFolder, '../node_modules/.cache/reducerdb');
  const file = path.join(folder, `${kind}-${fingerprint(sourcesFolder)}.${extension}`);
  const source = path.join(sourcesFolder, 'host', folders[kind], `${kind}-main.ts`);
  if (!existsSync(file)) await bundle(source, file, isScript);
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

async function bundle(entry: string, file: string, isScript: boolean): Promise<void> {
  const { build } = await import('esbuild');
  mkdirSync(path.dirname(file), { recursive: true });
  const unfinished = `${file}.${process.pid}`;
  const given: BuildOptions = {
    entryPoints: [entry],
    outfile: unfinished,
    // The bundler looks for its program beside its own file; the others are loaded when used.
    external: ['esbuild', 's3mini', 'age-encryption', 'pg'],
    logLevel: 'silent',
  };
  if (isScript) writeFileSync(unfinished, await bundleScript(build, given));
  else await build({ ...given, bundle: true, platform: 'node', format: 'esm', target: 'node20' });
  // Several test processes can do this at once; each finds a complete file.
  renameSync(unfinished, file);
}
