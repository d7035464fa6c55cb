import { decodePathPart } from '../doors/request-target.ts';
import { extensionOf } from '../host/sites/media-types.ts';
import type { ServedSite } from '../host/sites/served-site.ts';
import { isReserved, pathFault, type SiteFile } from '../host/sites/site-set.ts';
import { limits } from '../limits.ts';

export type FileChoice =
  | { readonly kind: 'file'; readonly file: SiteFile; readonly status: 200 | 404 }
  /** The path is that of a folder, and relative links in its page need the `/` at the end. */
  | { readonly kind: 'folder' }
  | { readonly kind: 'none' };

/**
 * Chooses the file for a path, as it was sent. Files are found by their names in a list: no path
 * leads anywhere else. `wantsPage`: the client shows what it gets.
 */
export function chooseFile(
  site: ServedSite,
  rawPath: string,
  { wantsPage, nowMillis }: { readonly wantsPage: boolean; readonly nowMillis: number },
): FileChoice {
  const path = decodedPath(rawPath);
  if (path === undefined) return { kind: 'none' };
  const isFolder = path.endsWith('/');
  const file = site.file(isFolder ? `${path}index.html` : path);
  if (file !== undefined) return { kind: 'file', file, status: 200 };
  if (!isFolder && site.file(`${path}/index.html`) !== undefined) return { kind: 'folder' };
  const earlier = site.earlierFile(path, nowMillis);
  if (earlier !== undefined) return { kind: 'file', file: earlier, status: 200 };
  if (!wantsPage) return { kind: 'none' };
  const ownPage = site.file('/404.html');
  if (ownPage !== undefined) return { kind: 'file', file: ownPage, status: 404 };
  const page = extensionOf(path) === '' ? site.file('/index.html') : undefined;
  return page === undefined ? { kind: 'none' } : { kind: 'file', file: page, status: 200 };
}

/**
 * The path that a client means, decoded once; `undefined`: no file can have it. It may end with
 * `/`.
 */
export function decodedPath(rawPath: string): string | undefined {
  if (rawPath.length > 3 * limits.sitePathBytesMax) return undefined;
  const parts: string[] = [];
  for (const part of rawPath.split('/')) {
    const decoded = decodePathPart(part);
    if (decoded === undefined || decoded.includes('/')) return undefined;
    parts.push(decoded);
  }
  const path = parts.join('/');
  const inner = path.endsWith('/') ? path.slice(0, -1) : path;
  if (inner !== '' && (pathFault(inner) !== undefined || isReserved(inner))) return undefined;
  return path;
}

/**
 * Whether a name carries a hash of its content, as bundlers write it: `app-DiwrgTda.js`,
 * `main.3f2a1b9c.css`. Where that is a guess it is no: such a file is asked for again.
 */
export function carriesHash(path: string): boolean {
  const [, folder = '', name = ''] = /^(.*\/)([^/]+)$/.exec(path) ?? [];
  // A source map has the name of its file and an extension more; some bundlers add a word.
  const stem = name.replace(/\.map$/, '').replace(/(?:\.chunk)?\.[^.]+$/, '');
  const [, hex] = /[.-]([\da-f]{8,64})$/.exec(stem) ?? [];
  if (hex !== undefined && /\d/.test(hex) && /[a-f]/.test(hex)) return true;
  const [, token = ''] = /[.-]([\w-]{8})$/.exec(stem) ?? [];
  if (/^\d+x\d+$/.test(token) || !/[A-Z]/.test(token)) return false;
  if (/\d/.test(token)) return true;
  // Letters alone may be a word: then the folder has to be one of a bundler.
  return /[a-z]/.test(token) && /\/(?:assets|chunks|immutable|_astro)\//.test(folder);
}
