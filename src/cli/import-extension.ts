import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import JSON5 from 'json5';

export type ImportExtension = '' | '.js' | '.ts';

/**
 * The extension that files in `folder` use to import each other, by the nearest `tsconfig.json`:
 * Node's resolution requires one, bundlers do not. The default is `.js`, which both accept.
 */
export function importExtensionFor(folder: string): ImportExtension {
  const file = findUpwards(folder, 'tsconfig.json');
  const options = file === undefined ? undefined : compilerOptions(file, 0);
  if (options === undefined) return '.js';
  const resolution = String(options.moduleResolution ?? options.module ?? '').toLowerCase();
  if (!/^node(next|\d\d)$/.test(resolution) || resolution === 'node10') return '';
  const { allowImportingTsExtensions, rewriteRelativeImportExtensions } = options;
  const takesSources =
    allowImportingTsExtensions === true || rewriteRelativeImportExtensions === true;
  return takesSources ? '.ts' : '.js';
}

/** A longer chain of `extends` is treated as a cycle. */
const extendedMax = 16;

/** The options of a file, over those of the files it extends; packages are not followed. */
function compilerOptions(file: string, depth: number): Record<string, unknown> | undefined {
  const parsed = parsedFile(file);
  if (parsed === undefined || depth > extendedMax) return undefined;
  const bases = [parsed.extends ?? []].flat().filter((base) => typeof base === 'string');
  const inherited = bases
    .filter((base) => base.startsWith('.'))
    .map((base) => path.resolve(path.dirname(file), base))
    .map((base) => compilerOptions(existsSync(base) ? base : `${base}.json`, depth + 1));
  return Object.assign({}, ...inherited, parsed.compilerOptions);
}

function parsedFile(file: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON5.parse(readFileSync(file, 'utf8'));
    return typeof parsed === 'object' && parsed !== null
      ? (parsed as Record<string, unknown>)
      : undefined;
  } catch {
    // The compiler will report what is wrong with it.
    return undefined;
  }
}

function findUpwards(start: string, name: string): string | undefined {
  for (let folder = path.resolve(start); ; folder = path.dirname(folder)) {
    const file = path.join(folder, name);
    if (existsSync(file)) return file;
    if (folder === path.dirname(folder)) return undefined;
  }
}
