import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Entries of our package that a module can import. The root entry starts a service, which a module
 * cannot; inside a module it is only the values, the part that is safe there.
 */
const guestEntries: Readonly<Record<string, string>> = {
  reducerdb: 'values/index',
  'reducerdb/values': 'values/index',
  'reducerdb/server': 'server/index',
  'reducerdb/sdk': 'server/index',
};

/** What the bundler knows our own files by. */
export const ownNamespace = 'reducerdb';

const extension = path.extname(fileURLToPath(import.meta.url));

/**
 * Folder of the entries: `src` when run from source; of a built package `dist/module-sdk`, where
 * they are a few files instead of more than a hundred.
 */
const entriesFolder = fileURLToPath(
  new URL(extension === '.ts' ? '..' : '../module-sdk', import.meta.url),
);

/** File for a specifier, relative to that folder; `undefined` if a module must not import it. */
export function resolveOwnPackage(specifier: string): string | undefined {
  const entry = guestEntries[specifier];
  if (entry === undefined) return undefined;
  const file = `${entry}${extension}`;
  return existsSync(path.join(entriesFolder, file)) ? file : undefined;
}

/** File with the globals of the web that the bundler takes where sources name them. */
export const webGlobals: string = `server/web/globals${extension}`;

/** Text of a file that `resolveOwnPackage` named, or of one that such a file imports. */
export function readOwnSource(file: string): string {
  return readFileSync(path.join(entriesFolder, file), 'utf8');
}
