import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

export interface SourceFile {
  /** Relative to the project, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

/** Every TypeScript or JavaScript file below `src`, or below another folder, in path order. */
export function readSources(root: string, folder = 'src'): SourceFile[] {
  return readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(tsx?|js)$/.test(name))
    .map((name) => `${folder}/${name.split(path.sep).join('/')}`)
    .sort()
    .map((file) => ({ path: file, text: readFileSync(path.join(root, file), 'utf8') }));
}

/** The project's documents: those at its root and those below its folders. */
export function readDocuments(root: string): SourceFile[] {
  const folders = ['docs', 'src', 'bench', 'examples', 'templates'];
  const below = folders.flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' }).map(
      (name) => `${folder}/${name.split(path.sep).join('/')}`,
    ),
  );
  return [...readdirSync(root), ...below]
    .filter((name) => name.endsWith('.md') && !name.includes('node_modules'))
    .sort()
    .map((file) => ({ path: file, text: readFileSync(path.join(root, file), 'utf8') }));
}

/** The room a file is in, or `undefined` for the files beside the rooms. */
export function roomOf(file: string): string | undefined {
  const parts = file.split('/');
  return parts.length > 2 ? parts[1] : undefined;
}

/** The path of a file in its room. */
export function pathInRoom(file: string): string {
  return file.split('/').slice(2).join('/');
}

/** The folder of its room that a file is in, or `undefined` for files beside the folders. */
export function folderOf(file: string): string | undefined {
  const parts = file.split('/');
  return parts.length > 3 ? parts[2] : undefined;
}

/** Specifiers of all static and type-only imports and re-exports. */
export function importsOf(text: string): string[] {
  const statements = importStatements(text).map(([, specifier]) => specifier);
  const typeQueries = withoutComments(text).matchAll(/\bimport\(\s*['"]([^'"\n]+)['"]\s*\)/g);
  return [...statements, ...[...typeQueries].map((match) => match[1] ?? '')];
}

/** Paths of the files that are loaded with `start`, before anything of it runs; it comes first. */
export function loadedWith(start: string, files: readonly SourceFile[]): string[] {
  const texts = new Map(files.map(({ path, text }) => [path, text]));
  const loaded = new Set([start]);
  for (const file of loaded) {
    for (const [statement, specifier] of importStatements(texts.get(file) ?? '')) {
      const isErased = /^\s*(import|export)\s+type\s/.test(statement);
      if (!isErased && specifier.startsWith('.')) loaded.add(resolveImport(file, specifier));
    }
  }
  return [...loaded];
}

/** Each static import or re-export, with its specifier. */
function importStatements(text: string): (readonly [statement: string, specifier: string])[] {
  const statements = withoutComments(text).matchAll(
    /^\s*(?:import|export)\s(?:[^'"`;]*?\sfrom\s)?\s*['"]([^'"\n]+)['"]/gm,
  );
  return [...statements].map(([statement, specifier = '']) => [statement, specifier]);
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
}

/** The project path that a relative specifier in `file` names. */
export function resolveImport(file: string, specifier: string): string {
  return path.posix.normalize(path.posix.join(path.posix.dirname(file), specifier));
}

export function isTest(file: string): boolean {
  return /\.(test|bench)\.tsx?$/.test(file) || /\.property\.test\.ts$/.test(file);
}
