import { createHash } from 'node:crypto';
import { refusal } from '../../database/outcome.ts';
import { limits } from '../../limits.ts';
import { list, number, object, parseAs, string, word } from '../../values/json-shape.ts';
import { parseHeaderRules } from './header-rules.ts';

/** One static file of a database. Its content is found by its hash. */
export interface SiteFile {
  /** Begins with `/`; of characters as they are, not percent-encoded. */
  readonly path: string;
  /** SHA-256 of the content, 64 hex digits. */
  readonly hash: string;
  readonly bytes: number;
}

/** All static files that a database serves at a time. */
export interface SiteSet {
  readonly files: readonly SiteFile[];
  /** Text of its `_headers` file; empty: there is none. */
  readonly headers: string;
}

/**
 * Checks a set that a publisher has announced, with the files in the order of their paths. Throws
 * `Refusal` `publish.invalid` with the first fault.
 */
export function checkedSet({ files, headers }: SiteSet): SiteSet {
  if (files.length > limits.siteFilesMax) {
    throw fault(`${files.length} files; at most ${limits.siteFilesMax}`);
  }
  parseHeaderRules(headers);
  const sizes = new Map<string, number>();
  const paths = new Set<string>();
  for (const { path, hash, bytes } of files) {
    const why = pathFault(path);
    if (why !== undefined) throw fault(`the path \`${shown(path)}\` ${why}`);
    if (paths.has(path)) throw fault(`the path \`${shown(path)}\` stands twice`);
    paths.add(path);
    if (!/^[\da-f]{64}$/.test(hash)) throw fault(`the hash of \`${shown(path)}\` is not a SHA-256`);
    const isSize = Number.isSafeInteger(bytes) && bytes >= 0;
    if (!isSize || bytes > limits.siteFileBytesMax) {
      throw fault(`\`${shown(path)}\` has ${bytes} bytes; at most ${limits.siteFileBytesMax}`);
    }
    if ((sizes.get(hash) ?? bytes) !== bytes) {
      throw fault(`\`${shown(path)}\` has another size than a file with the same hash`);
    }
    sizes.set(hash, bytes);
  }
  const total = bytesOf({ files, headers });
  if (total > limits.siteBytesMax) {
    throw fault(`all files have ${total} bytes; at most ${limits.siteBytesMax}`);
  }
  const byPath = (one: SiteFile, other: SiteFile) => (one.path < other.path ? -1 : 1);
  return { files: [...files].sort(byPath), headers };
}

/** Why a path cannot be that of a file; `undefined`: it can. */
export function pathFault(path: string): string | undefined {
  if (!path.startsWith('/')) return 'does not begin with /';
  if (Buffer.byteLength(path) > limits.sitePathBytesMax) {
    return `is longer than ${limits.sitePathBytesMax} bytes`;
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\u0000-\u001f\u007f\\]|[\ud800-\udfff]/u.test(path)) {
    return 'has a control character, a backslash or half a character';
  }
  const parts = path.slice(1).split('/');
  if (parts.some((part) => part === '' || part === '.' || part === '..')) {
    return 'has an empty part, or `.` or `..` as one';
  }
  if (isReserved(path)) return 'is reserved for the service';
  return undefined;
}

/** Paths at which an app's host never serves a file. */
export function isReserved(path: string): boolean {
  return /^\/(?:v1|console)(?:\/|$)/i.test(path) || path === databasePath || path === '/_headers';
}

/** Where a page finds the database that it belongs to. */
export const databasePath = '/.reducerdb.json';

/** The bytes of all contents, each counted once. */
export function bytesOf({ files }: SiteSet): number {
  const sizes = new Map(files.map(({ hash, bytes }) => [hash, bytes]));
  return [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
}

/** The set as text, in its one form: `docs/format/data-folder.md` is normative. */
export function encodeSet({ files, headers }: SiteSet): string {
  return JSON.stringify({
    format: 'static-1',
    headers,
    files: files.map(({ path, hash, bytes }) => ({ path, hash, bytes })),
  });
}

const setShape = object({
  format: word('static-1'),
  headers: string,
  files: list(object({ path: string, hash: string, bytes: number })),
});

/** Throws `JsonError` for other texts. */
export function decodeSet(text: string): SiteSet {
  const { files, headers } = parseAs(text, setShape);
  return { files, headers };
}

/** What names a set: the SHA-256 of its text, 64 hex digits. */
export function setId(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function fault(what: string) {
  return refusal('publish.invalid', `Static files: ${what}`);
}

/** Shortens a path and shows what is not a plain character as an escape. */
function shown(path: string): string {
  const text = JSON.stringify(path).slice(1, -1);
  return text.length > 120 ? `${text.slice(0, 120)}…` : text;
}
