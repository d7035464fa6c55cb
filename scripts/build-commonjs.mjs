// The CommonJS build of `reducerdb` (what it is outside of Node) and `reducerdb/client`: the same
// files one by one, so that both entries share one copy of each class.
import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';

/** `dist` holds the compiled modules; the build goes to its folder `cjs`. */
export async function buildCommonJs(dist) {
  const root = path.join(dist, 'client/root.js');
  const { metafile } = await build({
    entryPoints: [root],
    absWorkingDir: dist,
    bundle: true,
    format: 'esm',
    metafile: true,
    write: false,
  });
  const modules = Object.keys(metafile.inputs);
  const target = path.join(dist, 'cjs');
  await build({
    entryPoints: modules,
    absWorkingDir: dist,
    outbase: dist,
    outdir: target,
    format: 'cjs',
    platform: 'node',
    target: 'node20',
  });
  // The declarations too: what they say is told apart as CommonJS by the folder's package.json.
  const rooms = [...new Set(modules.map((file) => path.dirname(file)))];
  for (const room of rooms) {
    mkdirSync(path.join(target, room), { recursive: true });
    for (const file of readdirSync(path.join(dist, room))) {
      if (!file.endsWith('.d.ts')) continue;
      copyFileSync(path.join(dist, room, file), path.join(target, room, file));
    }
  }
  const description = { type: 'commonjs', sideEffects: false };
  writeFileSync(path.join(target, 'package.json'), `${JSON.stringify(description)}\n`);
}
