// Builds the web console from `console/` into `<dist>/console`: hashed files, each also compressed
// as .gz and .br for the service to send as they are. What a first visit loads is held below a
// budget, and each page has to be a chunk of its own.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build } from 'vite';
import { root } from './run.mjs';

/** The most bytes that a first visit loads, compressed with gzip, the larger of the two. */
export const firstLoadBytesMax = 200_000;
/** The most bytes that one further page costs. */
export const pageBytesMax = 200_000;

const compressedKinds = /\.(js|css|html|svg|json|txt)$/;
/** Below this, compressing does not save a packet. */
const compressedBytesMin = 1_000;

/** Builds the console with the client library in `dist`, and gives its sizes. */
export async function buildConsole(dist) {
  process.env.REDUCERDB_DIST = dist;
  const configFile = path.join(root, 'console/vite.config.ts');
  await build({ configFile, logLevel: 'warn', mode: 'production' });
  const folder = path.join(dist, 'console');
  const manifestFile = path.join(folder, 'manifest.json');
  const manifest = JSON.parse(readFileSync(manifestFile, 'utf8'));
  // It says how the console was built, which is nobody's business who visits it.
  rmSync(manifestFile);
  for (const file of filesOf(folder)) compress(path.join(folder, file));
  return sizesOf(folder, manifest);
}

/** What a first visit loads, and what each page adds, in bytes; refuses what is too much. */
export function sizesOf(folder, manifest) {
  const bytesOf = (file) => gzipSync(readFileSync(path.join(folder, file)), { level: 9 }).length;
  const sumOf = (files) => [...files].reduce((sum, file) => sum + bytesOf(file), 0);
  const entry = Object.keys(manifest).find((key) => manifest[key].isEntry);
  const first = new Set(['index.html', ...filesWith(manifest, entry)]);
  const sizes = [{ name: 'first load', bytes: sumOf(first), bytesMax: firstLoadBytesMax }];
  for (const page of manifest[entry].dynamicImports ?? []) {
    const files = [...filesWith(manifest, page)].filter((file) => !first.has(file));
    sizes.push({
      name: `later, ${manifest[page].name}`,
      bytes: sumOf(files),
      bytesMax: pageBytesMax,
    });
  }
  for (const { name, bytes, bytesMax } of sizes) {
    if (bytes > bytesMax) throw new Error(`console, ${name}: ${bytes} bytes, over ${bytesMax}`);
  }
  return sizes;
}

/** A chunk's files, its style sheets, and those of all that it imports at once. */
function filesWith(manifest, key, found = new Set()) {
  const chunk = manifest[key];
  if (chunk === undefined || found.has(chunk.file)) return found;
  for (const file of [chunk.file, ...(chunk.css ?? [])]) found.add(file);
  for (const other of chunk.imports ?? []) filesWith(manifest, other, found);
  return found;
}

function filesOf(folder) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' });
}

function compress(file) {
  if (!compressedKinds.test(file)) return;
  const bytes = readFileSync(file);
  if (bytes.length < compressedBytesMin) return;
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  };
  writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params }));
  writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
}

/** One line for people. */
export function consoleSizeText({ name, bytes, bytesMax }) {
  return `console, ${name}: ${bytes} bytes compressed (at most ${bytesMax})`;
}
