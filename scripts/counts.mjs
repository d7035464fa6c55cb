// What makes the code easier or harder to join, in numbers: `node scripts/counts.mjs [FOLDER]`
// prints them for this checkout or for another one, whose rules and documents may be missing.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { parse } from 'acorn';
import { build, transformSync } from 'esbuild';
import { root } from './run.mjs';

const checkout = path.resolve(process.argv[2] ?? root);
const linesMax = 70;

const tidy = await loadTidy();
const files = tidy
  .readSources(checkout)
  .filter(({ path: file }) => !tidy.writtenFiles.includes(file));
const product = files.filter(({ path: file }) => !tidy.isTest(file));
const tests = [
  ...files.filter(({ path: file }) => tidy.isTest(file)),
  ...tidy.readSources(checkout, 'test'),
];
const lines = product.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0);
const rules = rulesOfCheckout();
const circles = tidy.circlesOf(files);
const casts = count(product, / as (?!const\b)[A-Z{[a-z]/g);
const documents = tidy.readDocuments(checkout);

print([
  ['files of the product', product.length],
  ['lines of the product', lines],
  ['import circles', `${circles.length}, with ${circles.flat().length} files`],
  [`functions over ${linesMax} lines`, product.reduce((sum, file) => sum + longFunctions(file), 0)],
  ['`as` per thousand lines', ((casts * 1_000) / lines).toFixed(1)],
  ['rules', rules.length],
  ['rules without a test', tidy.untestedRules(tests, rules).length],
  ['listed phrases, code', tidy.foundPhrases(product).length],
  ['listed phrases, documents', tidy.foundPhrases(documents).length],
  ...paths(),
]);

/** The rules of the tidy test, which are in TypeScript. */
async function loadTidy() {
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-counts-'));
  try {
    const names = ['arrows', 'source-file', 'circles', 'spec-rules', 'phrases'];
    const contents = names.map((name) => `export * from './${name}.ts';`).join('\n');
    const resolveDir = path.join(root, 'test/tidy');
    const outfile = path.join(folder, 'tidy.mjs');
    const options = { bundle: true, platform: 'node', format: 'esm', logLevel: 'warning' };
    await build({ stdin: { contents, resolveDir, loader: 'ts' }, outfile, ...options });
    return await import(pathToFileURL(outfile).href);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function rulesOfCheckout() {
  const folder = path.join(checkout, 'docs/spec');
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .flatMap((name) =>
      tidy.rulesOf({ path: name, text: readFileSync(path.join(folder, name), 'utf8') }),
    );
}

function count(sources, pattern) {
  return sources.reduce((sum, { text }) => sum + (text.match(pattern)?.length ?? 0), 0);
}

/** Functions and methods of a file without its types, those of code in long templates too. */
function longFunctions({ path: file, text }) {
  const loader = path.extname(file).slice(1);
  return longFunctionsIn(transformSync(text, { loader, jsx: 'automatic', target: 'es2023' }).code);
}

function longFunctionsIn(code) {
  let found = 0;
  const visit = (node) => {
    if (node === null || typeof node !== 'object') return;
    const isFunction = /Function/.test(node.type) && node.loc !== undefined;
    if (isFunction && node.loc.end.line - node.loc.start.line >= linesMax) found += 1;
    const guest = node.type === 'TemplateElement' ? node.value.raw : '';
    if (guest.split('\n').length > linesMax) found += longFunctionsOfGuest(guest);
    for (const child of Object.values(node)) visit(child);
  };
  visit(parse(code, { ecmaVersion: 'latest', sourceType: 'module', locations: true }));
  return found;
}

/** Templates that are no program by themselves count as none. */
function longFunctionsOfGuest(code) {
  try {
    return longFunctionsIn(code);
  } catch {
    return 0;
  }
}

/** Files that the sections "… file by file" of ARCHITECTURE.md name. */
function paths() {
  const text = readFileSync(path.join(checkout, 'ARCHITECTURE.md'), 'utf8');
  return text
    .split(/^## /m)
    .filter((section) => /^[^\n]*file by file/.test(section))
    .map((section) => {
      const named = section.matchAll(/\]\((src\/[^)#]+\.ts)\)/g);
      const title = section.slice(0, section.indexOf('\n'));
      return [title, `${new Set([...named].map(([, file]) => file)).size} files`];
    });
}

function print(rows) {
  const width = Math.max(...rows.map(([name]) => name.length));
  for (const [name, value] of rows) console.log(`${name.padEnd(width)}  ${value}`);
}
