import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { BuildError } from './build-error.ts';

/** A module's sources: where they are and where they begin. Paths are absolute. */
export interface Project {
  readonly root: string;
  readonly entry: string;
}

const entryExtensions = ['.ts', '.tsx', '.mts', '.js', '.mjs'];

/**
 * Finds the module at `location`: a file, which is then the entry, or a folder, whose entry is
 * `src/index.ts` or, in its absence, the `main` of its `package.json` when that is a source file.
 * Throws `BuildError` when there is none.
 */
export function findProject(location: string): Project {
  const absolute = path.resolve(location);
  if (!existsSync(absolute)) throw new BuildError(`there is no module at ${location}`);
  if (statSync(absolute).isFile()) return { root: rootOfFile(absolute), entry: absolute };
  const entry = entryOf(absolute);
  if (entry === undefined) {
    throw new BuildError(
      `${location} has no entry file: neither src/index.ts, ` +
        'nor a file that "main" in its package.json names',
    );
  }
  return { root: absolute, entry };
}

/** The entry of the module in a folder, if it has one. */
export function entryOf(root: string): string | undefined {
  return [path.join(root, 'src/index.ts'), mainOf(root)].find(
    (file) => file !== undefined && existsSync(file),
  );
}

/** The package installed under a name, in the project or, in a workspace, in a folder above it. */
export function findInstalled(root: string, name: string): string | undefined {
  for (let folder = root; ; folder = path.dirname(folder)) {
    const file = path.join(folder, 'node_modules', name);
    if (existsSync(file)) return file;
    if (folder === path.dirname(folder)) return undefined;
  }
}

/** The nearest folder above a single file that is a package; else the file's own folder. */
function rootOfFile(file: string): string {
  const start = path.dirname(file);
  for (let folder = start; ; folder = path.dirname(folder)) {
    if (existsSync(path.join(folder, 'package.json'))) return folder;
    if (folder === path.dirname(folder)) return start;
  }
}

function mainOf(root: string): string | undefined {
  const file = path.join(root, 'package.json');
  if (!existsSync(file)) return undefined;
  let main: unknown;
  try {
    ({ main } = JSON.parse(readFileSync(file, 'utf8')) as { main?: unknown });
  } catch (cause) {
    throw new BuildError(`${path.relative(process.cwd(), file)} is not JSON`, { cause });
  }
  if (typeof main !== 'string' || !entryExtensions.includes(path.extname(main))) return undefined;
  return path.join(root, main);
}
