// What modules import, in a few files instead of 130: the bundler of a module reads and links those
// again for each program. The entries share one copy of each class.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

/** `dist` holds the compiled modules; the files go to its folder `module-sdk`. */
export async function buildModuleSdk(dist) {
  const options = optionsIn(dist);
  const whole = await build({ ...options, write: false });
  const texts = Object.keys(whole.metafile.inputs)
    .filter((name) => !name.endsWith('limits.js'))
    .map((name) => readFileSync(path.join(dist, name), 'utf8'));
  const limits = await namedLimits(dist, texts);
  const { metafile } = await build({ ...options, plugins: [limits] });
  for (const name of Object.keys(metafile.outputs)) leaveUnmapped(path.join(dist, name));
}

function optionsIn(dist) {
  return {
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
  };
}

/**
 * The limits that these texts name, instead of the limits of the whole product: the bundler takes
 * an object whole, and that one would be a sixth of each program.
 */
async function namedLimits(dist, texts) {
  const file = path.join(dist, 'limits.js');
  const { limits } = await import(pathToFileURL(file).href);
  const words = new Set(texts.flatMap((text) => text.match(/\w+/g) ?? []));
  const kept = Object.entries(limits).filter(([name]) => words.has(name));
  for (const text of texts) {
    if (/\blimits(?:\[|\s*[,})])|\.\.\.limits/.test(text.replace(/^import .*$/gm, ''))) {
      throw new Error('module-sdk: limits must be named one by one, as limits.name');
    }
  }
  for (const [name, value] of kept) {
    if (typeof value !== 'number') throw new Error(`module-sdk: the limit ${name} is no number`);
  }
  const contents = `export const limits = ${JSON.stringify(Object.fromEntries(kept))};\n`;
  return {
    name: 'named-limits',
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]limits\.js$/ }, (args) => {
        return path.resolve(args.path) === file ? { contents, loader: 'js' } : undefined;
      });
    },
  };
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
