// What modules import, in a few files instead of 130: the bundler of a module reads and links those
// again for each program. The entries share one copy of each class.
import path from 'node:path';
import { build } from 'esbuild';

/** `dist` holds the compiled modules; the files go to its folder `module-sdk`. */
export async function buildModuleSdk(dist) {
  await build({
    entryPoints: ['server/index', 'values/index', 'server/web/globals'].map((name) =>
      path.join(dist, `${name}.js`),
    ),
    outbase: dist,
    outdir: path.join(dist, 'module-sdk'),
    chunkNames: 'part-[hash]',
    bundle: true,
    splitting: true,
    external: ['spacetime:sys*'],
    platform: 'neutral',
    format: 'esm',
    target: 'esnext',
    charset: 'utf8',
    // A sixth less to link and to compile for each program; names stay, for stacks.
    minifySyntax: true,
    minifyWhitespace: true,
    // Traces name the sources that these were made of.
    sourcemap: 'linked',
    sourcesContent: false,
    logLevel: 'warning',
  });
}
