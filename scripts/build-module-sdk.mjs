// What modules import, in a few files instead of 130: the bundler of a module reads and links those
// again for each program. The entries share one copy of each class.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';

/** `dist` holds the compiled modules; the files go to its folder `module-sdk`. */
export async function buildModuleSdk(dist) {
  const { metafile } = await build({
    entryPoints: ['server/index', 'values/index', 'server/web/globals'].map((name) =>
      path.join(dist, `${name}.js`),
    ),
    absWorkingDir: dist,
    outbase: dist,
    outdir: path.join(dist, 'module-sdk'),
    chunkNames: 'part-[hash]',
    bundle: true,
    splitting: true,
    metafile: true,
    external: ['spacetime:sys*'],
    platform: 'neutral',
    format: 'esm',
    target: 'esnext',
    charset: 'utf8',
    // A sixth less to link and to compile for each program; names stay, for stacks.
    minifySyntax: true,
    minifyWhitespace: true,
    logLevel: 'warning',
  });
  for (const name of Object.keys(metafile.outputs)) leaveUnmapped(path.join(dist, name));
}

/**
 * Gives a file a source map that says nothing but its name, on a line of its own. Traces end at the
 * author's code, and the map of a program would be twice as long with the lines of its SDK.
 */
function leaveUnmapped(file) {
  const map = { version: 3, sources: [path.basename(file)], names: [], mappings: 'AAAA' };
  const url = `data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString('base64')}`;
  const code = readFileSync(file, 'utf8').trimEnd();
  writeFileSync(file, `// Written by the build.\n${code}\n//# sourceMappingURL=${url}\n`);
}
