// What the client library costs a page: bundled, minified, compressed with brotli. `npm run build`
// prints it and a test holds it below its budget.
import path from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { build } from 'esbuild';

/** What generated bindings import. */
const bindings = [
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
];

const boundHooks = ['ReducerDBProvider', 'useConnection', 'useProcedure', 'useReducer', 'useTable'];

/**
 * What programs import, by module, and the most bytes that it may cost; with `minus`, what it may
 * cost on top of the budget of that name.
 *
 * The core is what every program has, whichever face it uses: the connection and its return after a
 * loss, calls, subscriptions, the cache with its indexes. The query builder is how queries are
 * written down. `connect` and generated bindings are the faces, whole, as programs import them.
 * Predictions of optimistic calls are loaded by themselves, after the connection is made; so is what
 * looks after a connection, and goes on where it was after a loss.
 */
export const budgets = [
  { name: 'core', imports: { 'client/core': ['Core'] }, bytesMax: 14_900 },
  {
    name: 'core with query builder',
    imports: { 'client/core': ['Core'], 'client/query-roots': ['rootsOf', 'sqlOf'] },
    bytesMax: 18_000,
  },
  { name: 'connect', imports: { 'client/index': ['connect'] }, bytesMax: 24_500 },
  {
    name: 'predictions of calls',
    imports: { 'client/index': ['connect'], 'client/optimistic': ['Optimistic'] },
    minus: 'connect',
    bytesMax: 2_000,
  },
  {
    name: 'conditions for predictions',
    imports: { 'client/index': ['connect'], 'client/one-table-query': ['parseOneTable'] },
    minus: 'connect',
    bytesMax: 1_000,
  },
  {
    name: 'going on after a loss',
    imports: { 'client/index': ['connect'], 'client/resuming': ['Resuming'] },
    minus: 'connect',
    bytesMax: 1_500,
  },
  { name: 'generated bindings', imports: { 'client/index': bindings }, bytesMax: 22_700 },
  {
    name: 'React hooks',
    imports: { 'client/index': ['connect'], 'react/index': ['createHooks'] },
    minus: 'connect',
    bytesMax: 3_000,
  },
  {
    // A connection has watched queries only where somebody shows them.
    name: 'generated bindings with watched queries',
    imports: { 'client/index': bindings, 'client/connection-source': ['sourceOf'] },
    bytesMax: 26_300,
  },
  {
    name: 'React hooks for generated bindings',
    imports: { 'client/index': bindings, 'react/index': boundHooks },
    minus: 'generated bindings with watched queries',
    bytesMax: 3_000,
  },
];

/** What is loaded later does not count. */
const withoutLater = {
  name: 'without-later',
  setup: ({ onResolve }) => {
    onResolve({ filter: /./ }, ({ kind, path: name }) => {
      return kind === 'dynamic-import' ? { path: name, external: true } : undefined;
    });
  },
};

/**
 * The sizes of `budgets` for the library whose modules lie in `folder` and end in `ending`; and the
 * modules in each bundle. Those of `src` and of `dist` are some 40 bytes apart: the minifier chooses
 * names by how often letters occur in the sources, types and the endings of imports among them.
 */
export async function bundleSizes(folder, ending) {
  const sizes = [];
  for (const { name, imports, minus, bytesMax } of budgets) {
    const lines = Object.entries(imports).map(([module, names]) => {
      return `export { ${names.join(', ')} } from './${module}${ending}';`;
    });
    const { outputFiles, metafile } = await build({
      stdin: { contents: lines.join('\n'), resolveDir: folder, loader: 'ts' },
      bundle: true,
      minify: true,
      format: 'esm',
      target: 'es2022',
      platform: 'browser',
      external: ['react'],
      plugins: [withoutLater],
      metafile: true,
      write: false,
    });
    const [{ contents }] = outputFiles;
    const [{ inputs }] = Object.values(metafile.outputs);
    const modules = Object.keys(inputs)
      .filter((file) => inputs[file].bytesInOutput > 0)
      .map((file) => path.relative(folder, file));
    const less = sizes.find((size) => size.name === minus)?.bytes ?? 0;
    const bytes = brotliCompressSync(contents).length - less;
    sizes.push({ name, bytesMax, bytes, modules, text: Buffer.from(contents).toString() });
  }
  return sizes;
}

/** One line for people. */
export function sizeText({ name, bytes, bytesMax }) {
  return `client, ${name}: ${bytes} bytes minified and compressed (at most ${bytesMax})`;
}
