// What the client library costs a page: bundled, minified, compressed with brotli. `npm run build`
// prints it and a test holds it below its budget.
import path from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { build } from 'esbuild';

/** What programs import, and the most bytes that it may cost. */
export const budgets = [
  { name: 'connect', imports: ['connect'], bytesMax: 23_000 },
  {
    name: 'generated bindings',
    imports: [
      'DbConnectionBuilder',
      'DbConnectionImpl',
      'SubscriptionBuilderImpl',
      'convertToAccessorMap',
      'makeQueryBuilder',
      'procedureSchema',
      'procedures',
      'reducerSchema',
      'reducers',
      'schema',
      't',
      'table',
    ],
    bytesMax: 24_000,
  },
];

/** The sizes of `budgets` for the library whose entry is `entry`; and the modules in each bundle. */
export async function bundleSizes(entry) {
  const folder = path.dirname(entry);
  const sizes = [];
  for (const { name, imports, bytesMax } of budgets) {
    const contents = `export { ${imports.join(', ')} } from './${path.basename(entry)}';`;
    const { outputFiles, metafile } = await build({
      stdin: { contents, resolveDir: folder, loader: 'ts' },
      bundle: true,
      minify: true,
      format: 'esm',
      target: 'es2022',
      platform: 'browser',
      metafile: true,
      write: false,
    });
    const [{ contents: bytes }] = outputFiles;
    const [{ inputs }] = Object.values(metafile.outputs);
    const modules = Object.keys(inputs).filter((file) => inputs[file].bytesInOutput > 0);
    const text = Buffer.from(bytes).toString();
    sizes.push({ name, bytesMax, bytes: brotliCompressSync(bytes).length, modules, text });
  }
  return sizes;
}

/** One line for people. */
export function sizeText({ name, bytes, bytesMax }) {
  return `client, ${name}: ${bytes} bytes minified and compressed (at most ${bytesMax})`;
}
