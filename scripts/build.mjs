// Compiles `src` to `dist`: JavaScript, type declarations and source maps, file by file, and for
// clients CommonJS; what modules import and what is started often becomes a few files; and the web
// console. A build that fails leaves the old `dist`: the new one is made beside it and put in its
// place at the end. `--quiet` prints no sizes.
import { chmodSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { buildCommonJs } from './build-commonjs.mjs';
import { buildConsole, consoleSizeText } from './build-console.mjs';
import { buildModuleSdk } from './build-module-sdk.mjs';
import { buildTemplates } from './build-templates.mjs';
import { bundleSizes, sizeText } from './bundle-size.mjs';
import { embedGuest } from './embed-guest.mjs';
import { packageBin, root, runNode } from './run.mjs';

const dist = path.join(root, 'dist');
const fresh = path.join(root, `.dist-${process.pid}`);
const old = `${fresh}-old`;
embedGuest();
try {
  process.exitCode = await runNode(packageBin('typescript', 'tsc'), [
    '-p',
    'tsconfig.build.json',
    '--outDir',
    fresh,
  ]);
  if (process.exitCode === 0) {
    chmodSync(path.join(fresh, 'cli/main.js'), 0o755);
    dropImportHelper(path.join(fresh, 'client/platform.js'));
    await buildCommonJs(fresh);
    await buildModuleSdk(fresh);
    await bundleWorkers(path.join(fresh, 'host'));
    await bundleCommand(path.join(fresh, 'cli'));
    const consoleSizes = await buildConsole(fresh);
    await buildTemplates(fresh);
    replace();
    if (!process.argv.includes('--quiet')) await printSizes(consoleSizes);
  }
} finally {
  for (const folder of [fresh, old]) rmSync(folder, { recursive: true, force: true });
}

async function printSizes(consoleSizes) {
  for (const size of consoleSizes) console.log(consoleSizeText(size));
  for (const size of await bundleSizes(dist, '.js')) console.log(sizeText(size));
}

/**
 * What threads and processes run, each as one file: they start several times as fast as from
 * hundreds. The process of a database may read nothing else besides its database's directory. The
 * bundler looks for its program beside its own file. The program of the most frequent thread is a
 * script, of which the engine can keep what it has compiled.
 */
async function bundleWorkers(folder) {
  const sources = [
    'workers/load',
    'workers/process',
    'workers/process-actor',
    'lanes/lane',
    'outbound/outbound',
    'snapshots/snapshot',
    'transfer/rows',
    'backups/backup',
    'linking/linker',
    'publishing/source',
    'spawner/spawner',
    '../cluster/engine',
    '../cluster/store-engine',
  ];
  await build({
    entryPoints: sources.map((name) => path.join(folder, `${name}-main.js`)),
    outdir: folder,
    entryNames: '[name]',
    outExtension: { '.js': '.bundle.mjs' },
    bundle: true,
    external: ['esbuild', 's3mini', 'age-encryption', 'pg'],
    platform: 'node',
    format: 'esm',
    target: 'node20',
    legalComments: 'inline',
    logLevel: 'warning',
  });
  const { bundleScript } = await import(
    pathToFileURL(path.join(folder, 'spawner/program-script.js')).href
  );
  const script = await bundleScript(build, {
    entryPoints: [path.join(folder, 'workers/thread-main.js')],
    outfile: 'thread-main',
    legalComments: 'inline',
    logLevel: 'warning',
  });
  writeFileSync(path.join(folder, 'thread-main.bundle.cjs'), script);
  for (const name of ['process-main', 'process-actor-main', 'lane-main']) {
    checkLatin1(path.join(folder, `${name}.bundle.mjs`));
  }
}

/**
 * One character beyond Latin-1 and the engine keeps the whole text with two bytes for each: twice
 * the memory of every database, and a slower start. The bundler escapes those of strings, but not
 * of comments that it keeps and of templates with raw text.
 */
function checkLatin1(file) {
  const lines = readFileSync(file, 'utf8').split('\n');
  const found = lines.find((line) => /[\u0100-\uffff]/.test(line));
  if (found !== undefined) throw new Error(`${file}: not Latin-1, escape it: ${found.trim()}`);
}

/**
 * The command, its rarer parts in files of their own, and without its packages, but for the small
 * ones that each start loads. It loads a few files where it would load several hundred: `reducerdb start` needs a third less time. Files that
 * are looked for beside a source are found from here as well: every room is as deep as this one.
 */
async function bundleCommand(folder) {
  const small = ['smol-toml', '@noble/hashes'];
  const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  const { dependencies, peerDependencies = {}, optionalDependencies = {} } = manifest;
  const packages = Object.keys({ ...dependencies, ...peerDependencies, ...optionalDependencies });
  await build({
    entryPoints: [path.join(folder, 'main.js')],
    outdir: folder,
    chunkNames: 'part-[hash]',
    allowOverwrite: true,
    bundle: true,
    splitting: true,
    external: packages.filter((name) => !small.includes(name)),
    platform: 'node',
    legalComments: 'inline',
    format: 'esm',
    target: 'node20',
    sourcemap: 'linked',
    sourcesContent: false,
    // A third less to read at each start; names stay, for stacks.
    minifyWhitespace: true,
    minifySyntax: true,
    logLevel: 'warning',
  });
}

/** Two renames: a program that starts in between would not find `dist`, so they stand together. */
function replace() {
  try {
    renameSync(dist, old);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  renameSync(fresh, dist);
}

/**
 * The compiler wraps an import whose name it cannot read in a helper that knows source files. Here
 * it is the name of a package; pages would load the helper, and their bundlers warn of it. Lines
 * stay where they are, for the source map.
 */
function dropImportHelper(file) {
  const helper = '__rewriteRelativeImportExtension';
  const text = readFileSync(file, 'utf8')
    .replace(new RegExp(`^var ${helper}.*?^};`, 'ms'), (found) => found.replace(/[^\n]/g, ''))
    .replace(new RegExp(`${helper}\\(([^)]*)\\)`), '$1');
  if (text.includes(helper)) throw new Error(`${file} still has ${helper}`);
  writeFileSync(file, text);
}
