import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { limits } from '../limits.ts';
import { CliError } from './io.ts';

/** A file to publish, as it is announced, and where it is. */
export interface LocalFile {
  /** Begins with `/`. */
  readonly path: string;
  /** SHA-256 of the content, in hex. */
  readonly hash: string;
  readonly bytes: number;
  readonly place: string;
}

export interface LocalFiles {
  readonly files: readonly LocalFile[];
  /** The text of `_headers`; empty: there is none. */
  readonly headers: string;
}

/**
 * Reads what a folder publishes: all its files but those whose name, or folder, begins with a dot
 * (`.well-known` is published). Links are followed to files inside of the folder. Throws
 * `CliError`.
 */
export async function readStaticFolder(folder: string): Promise<LocalFiles> {
  const root = realFolder(folder);
  const places: { path: string; place: string }[] = [];
  collect(root, '', places);
  if (places.length === 0) throw new CliError(`${folder} has no files to publish`);
  const files: LocalFile[] = [];
  let total = 0;
  for (const { path: at, place } of places) {
    const file = { path: at, place, ...(await digestOf(place)) };
    total += file.bytes;
    if (file.bytes > limits.siteFileBytesMax) throw tooLarge(place, limits.siteFileBytesMax);
    if (total > limits.siteBytesMax) throw tooLarge(`All of ${folder}`, limits.siteBytesMax);
    files.push(file);
  }
  return { files, headers: headersIn(root) };
}

function realFolder(folder: string): string {
  if (!fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new CliError(`${folder} is not a folder. Build the page first, or name another folder.`);
  }
  return fs.realpathSync(folder);
}

function collect(root: string, below: string, places: { path: string; place: string }[]): void {
  const folder = path.join(root, below);
  const entries = reading(folder, () => fs.readdirSync(folder, { withFileTypes: true }));
  for (const entry of entries) {
    const { name } = entry;
    const at = `${below}/${name}`;
    const place = path.join(root, at);
    if (name === 'node_modules') {
      throw new CliError(
        `${place}: packages are not published. Name the folder of the built page.`,
      );
    }
    if ((name.startsWith('.') && name !== '.well-known') || at === '/_headers') continue;
    checkName(name, place);
    if (entry.isDirectory()) collect(root, at, places);
    else places.push({ path: at, place: fileAt(root, place) });
    if (places.length > limits.siteFilesMax) {
      throw new CliError(`${root} has more than ${limits.siteFilesMax} files`);
    }
  }
}

/** The file itself, if it is one, or a link to one inside of the folder. */
function fileAt(root: string, place: string): string {
  const real = reading(place, () => fs.realpathSync(place));
  const isLink = real !== place;
  if (isLink && !real.startsWith(root + path.sep)) {
    throw new CliError(`${place} is a link that leads out of the folder, to ${real}`);
  }
  if (fs.statSync(real).isFile()) return real;
  throw new CliError(`${place} is not a file${isLink ? ', but a link to something else' : ''}`);
}

function checkName(name: string, place: string): void {
  // A name that is not UTF-8 is read with a replacement character.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (!/[\u0000-\u001f\u007f\\\ufffd]|[\ud800-\udfff]/u.test(name)) return;
  const fault = 'the name has a control character, a backslash, or is not UTF-8. Rename the file.';
  throw new CliError(`${JSON.stringify(place)}: ${fault}`);
}

async function digestOf(place: string): Promise<{ hash: string; bytes: number }> {
  const digest = createHash('sha256');
  let bytes = 0;
  try {
    for await (const piece of fs.createReadStream(place)) {
      digest.update(piece);
      bytes += piece.length;
    }
  } catch (cause) {
    throw unreadable(place, cause);
  }
  return { hash: digest.digest('hex'), bytes };
}

function headersIn(root: string): string {
  const place = path.join(root, '_headers');
  if (!fs.existsSync(place)) return '';
  return reading(place, () => fs.readFileSync(fileAt(root, place), 'utf8'));
}

function reading<Result>(place: string, read: () => Result): Result {
  try {
    return read();
  } catch (cause) {
    throw cause instanceof CliError ? cause : unreadable(place, cause);
  }
}

function unreadable(place: string, cause: unknown): CliError {
  return new CliError(`${place} cannot be read: ${(cause as Error).message}`, 1, { cause });
}

function tooLarge(what: string, most: number): CliError {
  return new CliError(`${what} has more than ${sizeText(most)}`);
}

/** `812 B`, `3.4 MB`: units of 1,000. */
export function sizeText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB'];
  let value = bytes;
  let unit = 0;
  for (; value >= 1_000 && unit < units.length - 1; unit += 1) value /= 1_000;
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}
