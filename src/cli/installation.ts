import { existsSync, readFileSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { object, optional, parseAs, record, string } from '../values/json-shape.ts';

/** Folder of this package: a clone of its repository, or where a package manager installed it. */
export const packageFolder = fileURLToPath(new URL('../../', import.meta.url));

/** False for a clone, which a package manager cannot find by name. */
export const isInstalled = packageFolder.split(path.sep).includes('node_modules');

/** Whether a package manager has installed it for the project that `folder` is of. */
export function isInstalledFor(folder: string): boolean {
  if (!isInstalled) return false;
  const project = path.dirname(path.dirname(path.resolve(packageFolder)));
  const inside = path.relative(realpathSync(project), realpathSync(folder));
  return inside !== '..' && !inside.startsWith(`..${path.sep}`) && !path.isAbsolute(inside);
}

/**
 * The file (`npm pack`) that the package in `folder` was installed from; `undefined` if it came
 * from a registry, or if this is not recorded. `folder` is directly in a `node_modules`.
 */
export function packedFile(folder: string): string | undefined {
  const modules = path.dirname(path.resolve(folder));
  const list = path.join(modules, '.package-lock.json');
  if (!existsSync(list)) return undefined;
  const { packages = {} } = parseAs(readFileSync(list, 'utf8'), installedPackages);
  const name = path.basename(folder);
  const source = packages[`node_modules/${name}`]?.resolved ?? '';
  if (!source.startsWith('file:')) return undefined;
  const file = path.resolve(path.dirname(modules), source.slice('file:'.length));
  return existsSync(file) ? file : undefined;
}

/** The part of `node_modules/.package-lock.json` that is read here. */
const installedPackages = object({
  packages: optional(record(object({ resolved: optional(string) }))),
});
