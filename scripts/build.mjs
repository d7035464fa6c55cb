// Compiles `src` to `dist`: JavaScript, type declarations and source maps, file by file. A build
// that fails leaves the old `dist`: the new one is made beside it and put in its place at the end.
import { chmodSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { bundleSizes, sizeText } from './bundle-size.mjs';
import { packageBin, root, runNode } from './run.mjs';

const dist = path.join(root, 'dist');
const fresh = path.join(root, `.dist-${process.pid}`);
const old = `${fresh}-old`;
try {
  process.exitCode = await runNode(packageBin('typescript', 'tsc'), [
    '-p',
    'tsconfig.build.json',
    '--outDir',
    fresh,
  ]);
  if (process.exitCode === 0) {
    chmodSync(path.join(fresh, 'cli/main.js'), 0o755);
    replace();
    const sizes = await bundleSizes(path.join(dist, 'client/index.js'));
    for (const size of sizes) console.log(sizeText(size));
  }
} finally {
  for (const folder of [fresh, old]) rmSync(folder, { recursive: true, force: true });
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
