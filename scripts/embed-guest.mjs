// Writes `src/module/javascript/guest-text.ts`: the files of `guest/`, which run in the guest realm,
// as texts. It is not committed. `npm ci`, the build, the type check, the tests and the benchmarks
// write it.
//
// What runs is what the files say. Each script is its entry and the files that it imports, in the
// order in which an engine would evaluate them, one after another in one scope. Import statements,
// the word `export`, comments and empty lines are removed; nothing is added. `assemble` rejects
// whatever would make this another program than the modules are: a name that two files declare or
// that hides a global, exports and imports under another name.
import { existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'acorn';
import { root } from './run.mjs';

const folder = path.join(root, 'src/module/javascript');
const file = path.join(folder, 'guest-text.ts');

/** The scripts, by the name of their text. */
const scripts = {
  sizeGuards: 'prelude/size-guards.js',
  patternGuards: 'prelude/pattern-guards.js',
  bridge: 'bridge/bridge.js',
};

/** Brings `guest-text.ts` up to date. */
export function embedGuest() {
  const text = guestText();
  if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeFileSync(file, text);
}

function guestText() {
  const read = (name) => readFileSync(path.join(folder, 'guest', name), 'utf8');
  const texts = Object.entries(scripts).map(([name, entry]) => {
    const text = assemble(entry, read).replace(/[\\`]|\$(?=\{)/g, '\\$&');
    return `\n/** \`guest/${entry}\` and what it imports: the body of a function. */\nexport const ${name}: string = \`${text}\`;\n`;
  });
  return `// Written by scripts/embed-guest.mjs from the files of \`guest/\`.\n${texts.join('')}`;
}

/** The script that starts with `entry`; `read` gives the text of a file by its path. */
export function assemble(entry, read) {
  const declaredIn = new Map();
  const bodies = filesInOrder(entry, read).map((module) => {
    for (const name of module.names) {
      const other = declaredIn.get(name);
      if (other !== undefined) throw new Error(`${module.name}: ${other} has a name ${name}, too`);
      declaredIn.set(name, module.name);
    }
    return module.body;
  });
  const text = bodies.join('');
  const foreign = /[^\n\x20-\x7e]/.exec(text);
  if (foreign !== null) throw new Error(`${entry}: not ASCII, escape it: ${foreign[0]}`);
  return text;
}

/** Files that a file imports come before it. */
function filesInOrder(entry, read) {
  const found = new Map();
  const visit = (name) => {
    if (found.has(name)) return;
    found.set(name, undefined);
    const module = readModule(name, read(name));
    for (const imported of module.imports) visit(imported);
    found.delete(name);
    found.set(name, module);
  };
  visit(entry);
  return [...found.values()];
}

function readModule(name, text) {
  const cuts = [];
  const tree = parse(text, {
    ecmaVersion: 'latest',
    sourceType: 'module',
    onComment: (_isBlock, _text, start, end) => cuts.push([start, end]),
    onToken: (token) => {
      if (token.type.label === 'template' && text.slice(token.start, token.end).includes('\n')) {
        throw new Error(`${name}: a text over several lines`);
      }
    },
  });
  const refuse = (what) => {
    throw new Error(`${name}: ${what}`);
  };
  const imports = [];
  const names = [];
  for (const node of tree.body) {
    if (node.type === 'ImportDeclaration') {
      imports.push(importedFile(name, node, refuse));
      cuts.push([node.start, node.end]);
    } else if (node.type === 'ExportNamedDeclaration' && node.declaration !== null) {
      names.push(...declaredNames(node.declaration, refuse));
      cuts.push([node.start, node.declaration.start]);
    } else if (node.type.startsWith('Export')) {
      refuse('an export that is not of a declaration');
    } else {
      names.push(...declaredNames(node, refuse));
    }
  }
  return { name, imports, names, body: withoutCuts(text, cuts) };
}

function importedFile(name, node, refuse) {
  for (const specifier of node.specifiers) {
    const isPlain = specifier.type === 'ImportSpecifier';
    if (!isPlain || specifier.imported.name !== specifier.local.name) refuse('a renamed import');
  }
  if (!node.source.value.startsWith('.')) refuse(`an import of ${node.source.value}`);
  return path.posix.join(path.posix.dirname(name), node.source.value);
}

/** Names that a statement declares for the whole file. */
function declaredNames(node, refuse) {
  if (node.type === 'FunctionDeclaration' || node.type === 'ClassDeclaration') {
    return [usable(node.id.name, refuse)];
  }
  if (node.type !== 'VariableDeclaration') return [];
  if (node.kind === 'var') refuse('a variable that is declared with var');
  return node.declarations.flatMap(({ id }) =>
    boundNames(id, refuse).map((name) => usable(name, refuse)),
  );
}

function boundNames(pattern, refuse) {
  if (pattern.type === 'Identifier') return [pattern.name];
  if (pattern.type !== 'ObjectPattern') refuse('a pattern of a kind that is not expected');
  return pattern.properties.flatMap(({ value }) => boundNames(value, refuse));
}

/** Other files of the script would find it where they mean the global. */
function usable(name, refuse) {
  if (Object.hasOwn(globalThis, name)) refuse(`${name} hides a global`);
  return name;
}

/** What is left, without empty lines. */
function withoutCuts(text, cuts) {
  let kept = '';
  let end = 0;
  for (const [start, next] of cuts.sort(([one], [other]) => one - other)) {
    kept += text.slice(end, start);
    end = next;
  }
  kept += text.slice(end);
  const lines = kept.split('\n').map((line) => line.trimEnd());
  return lines
    .filter((line) => line !== '')
    .map((line) => `${line}\n`)
    .join('');
}

const started = process.argv[1];
if (started !== undefined && realpathSync(started) === fileURLToPath(import.meta.url)) embedGuest();
