import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import JSON5 from 'json5';
import { object, optional, parseAs, record, string } from '../values/json-shape.ts';
import { packageFolder } from './installation.ts';
import { CliError } from './io.ts';
import { ownDependency } from './own-dependency.ts';

const examples = path.join(packageFolder, 'examples');

/** Examples of the package that are module projects, in alphabetical order. */
export function exampleNames(): readonly string[] {
  if (!existsSync(examples)) return [];
  return readdirSync(examples).filter((name) => {
    return existsSync(path.join(examples, name, 'src/index.ts'));
  });
}

/** What an example is: the first paragraph of its README. */
export function exampleSummary(name: string): string {
  const text = readFileSync(path.join(examples, name, 'README.md'), 'utf8');
  const [, paragraph = ''] = text.split('\n\n');
  return paragraph.replaceAll('\n', ' ').replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1');
}

/**
 * Copies an example to `folder`, as a project that stands by itself. Files that are there stay.
 * What its README says of the repository is replaced by what it says of a copy.
 */
export function copyExample(name: string, folder: string, projectName: string): void {
  if (!exampleNames().includes(name)) {
    throw new CliError(`No such example: ${name}. Available: ${exampleNames().join(', ')}`);
  }
  cpSync(path.join(examples, name), folder, {
    recursive: true,
    force: false,
    errorOnExist: false,
    filter: (file) => !['node_modules', 'dist'].includes(path.basename(file)),
  });
  const readme = path.join(folder, 'README.md');
  writeFileSync(readme, readmeOfCopy(readFileSync(readme, 'utf8'), projectName));
  const manifest = path.join(folder, 'package.json');
  const text = readFileSync(manifest, 'utf8');
  const { dependencies = {}, ...others } = parseAs(text, projectManifest);
  const own = { ...dependencies, reducerdb: ownDependency(folder) };
  // What the shape does not name is kept, in its order.
  const all: object = { ...JSON.parse(text), ...others, name: projectName, dependencies: own };
  writeFileSync(manifest, `${JSON.stringify(all, null, 2)}\n`);
  for (const part of ['.', 'client', 'web']) ownCompilation(path.join(folder, part));
}

/**
 * ```
 * <!-- in the repository -->
 * what a reader of the repository does
 * <!-- in a copy
 * what the owner of a copy does, whose database is {{name}}
 * -->
 * ```
 */
export function readmeOfCopy(text: string, projectName: string): string {
  const parts = /<!-- in the repository -->\n.*?<!-- in a copy\n(.*?)-->\n/gs;
  return text.replaceAll(parts, (_, own: string) => own.replaceAll('{{name}}', projectName));
}

const projectManifest = object({ dependencies: optional(record(string)) });

interface CompilerSettings {
  readonly compilerOptions?: Readonly<Record<string, unknown>>;
  readonly include?: readonly string[];
}

/** In the repository an example compiles with the library's sources; a project has it installed. */
function ownCompilation(folder: string): void {
  const file = path.join(folder, 'tsconfig.json');
  if (!existsSync(file)) return;
  const settings: CompilerSettings = JSON5.parse(readFileSync(file, 'utf8'));
  const { paths: _, ...options } = settings.compilerOptions ?? {};
  const include = settings.include ?? [];
  const own = include.filter((entry) => !entry.endsWith('/engine-globals.d.ts'));
  // The file that a project does not have declares the globals of a module.
  const globals = own.length === include.length ? {} : { types: ['reducerdb/globals'] };
  const compilerOptions = { ...options, ...globals };
  const text = JSON.stringify({ ...settings, compilerOptions, include: own }, null, 2);
  writeFileSync(file, `${text}\n`);
}
