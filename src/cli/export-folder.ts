import { createHash, type Hash } from 'node:crypto';
import { once } from 'node:events';
import {
  closeSync,
  createReadStream,
  createWriteStream,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { finished } from 'node:stream/promises';
import { createGzip, type Gzip } from 'node:zlib';
import type { RowFormat } from '../transfer/row-table.ts';
import { JsonError } from '../values/json-error.ts';
import { list, number, object, parseAs, type Shaped, string, word } from '../values/json-shape.ts';
import { CliError } from './io.ts';

/** A file of an export. */
const exportedFile = object({ file: string, bytes: number, sha256: string });

/** `manifest.json`, which is written last; see `docs/format/export.md`. */
const manifestShape = object({
  version: number,
  database: string,
  exported: string,
  position: string,
  program: string,
  format: word('ndjson', 'csv'),
  schema: exportedFile,
  tables: list(object({ name: string, rows: number, file: string, bytes: number, sha256: string })),
});

export type Manifest = Shaped<typeof manifestShape>;

const manifestName = 'manifest.json';
const schemaName = 'schema.json';

/** The longest name of a file on common systems. */
const nameBytesMax = 255;

/** What a folder says of its export. */
export type ManifestHead = Pick<Manifest, 'database' | 'position' | 'program'>;

/**
 * A folder that becomes an export when it is complete: until then it has another name, so that
 * nobody takes half of one for a whole. It never touches files that are there.
 */
export class ExportFolder {
  readonly #directory: string;
  readonly #part: string;
  readonly #format: RowFormat;
  readonly #files = new Map<string, TableFile>();

  constructor(directory: string, format: RowFormat) {
    this.#directory = realPlace(path.resolve(directory));
    this.#part = `${this.#directory}.part`;
    this.#format = format;
    if (!isFree(this.#directory)) {
      throw new CliError(`${directory} is not empty; export into a folder that does not exist`);
    }
    if (existsSync(this.#part)) {
      throw new CliError(
        `${this.#part} is there: another export is being written, or has been cut off; remove it`,
      );
    }
    mkdirSync(this.#part, { recursive: true });
  }

  async add(table: string, rows: number, bytes: Uint8Array): Promise<void> {
    let file = this.#files.get(table);
    if (file === undefined) {
      file = new TableFile(path.join(this.#part, this.#nameOf(table)));
      this.#files.set(table, file);
    }
    file.rows += rows;
    if (bytes.length > 0) await file.write(bytes);
  }

  /** Ends the files, writes the manifest, and gives the folder its name. */
  async finish(head: ManifestHead, schema: string): Promise<Manifest> {
    const tables: Manifest['tables'][number][] = [];
    for (const [name, file] of this.#files) {
      const { bytes, sha256 } = await file.end();
      const { base } = path.parse(file.path);
      tables.push({ name, rows: file.rows, file: base, bytes, sha256 });
    }
    const schemaBytes = Buffer.from(schema);
    writeSynced(path.join(this.#part, schemaName), schemaBytes);
    const manifest: Manifest = {
      version: 1,
      ...head,
      exported: new Date().toISOString(),
      format: this.#format,
      schema: { file: schemaName, bytes: schemaBytes.length, sha256: hashOf(schemaBytes) },
      tables,
    };
    writeSynced(path.join(this.#part, manifestName), Buffer.from(textOf(manifest)));
    syncFolder(this.#part);
    if (existsSync(this.#directory)) rmdirSync(this.#directory);
    renameSync(this.#part, this.#directory);
    syncFolder(path.dirname(this.#directory));
    return manifest;
  }

  /** Removes what was written. */
  discard(): void {
    for (const file of this.#files.values()) file.destroy();
    rmSync(this.#part, { recursive: true, force: true });
  }

  /** Two names can be the same file where case does not count, or where they are cut. */
  #nameOf(table: string): string {
    const safe = table.replace(/[^A-Za-z0-9_.-]|^\./g, (character) => {
      return encodeURIComponent(character).replace('.', '%2E');
    });
    const taken = new Set([...this.#files.values()].map((file) => file.path.toLowerCase()));
    for (let number = 1; ; number += 1) {
      const ending = `${number === 1 ? '' : `-${number}`}.${this.#format}.gz`;
      const name = `${safe.slice(0, nameBytesMax - ending.length)}${ending}`;
      if (!taken.has(path.join(this.#part, name).toLowerCase())) return name;
    }
  }
}

function textOf(manifest: Manifest): string {
  return `${JSON.stringify(manifest, undefined, 2)}\n`;
}

/** Where a link leads, since it is the folder that is replaced; a new folder is where it says. */
function realPlace(directory: string): string {
  if (lstatSync(directory, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return directory;
  if (existsSync(directory)) return realpathSync(directory);
  throw new CliError(`${directory} is a link that leads nowhere; export into another folder`);
}

function isFree(directory: string): boolean {
  if (!existsSync(directory)) return true;
  return statSync(directory).isDirectory() && readdirSync(directory).length === 0;
}

/** The rows of one table, packed as they come. */
class TableFile {
  readonly path: string;
  rows = 0;
  readonly #gzip: Gzip = createGzip();
  readonly #hash: Hash = createHash('sha256');
  readonly #done: Promise<void>;
  #bytes = 0;
  #fault: Error | undefined;

  constructor(file: string) {
    this.path = file;
    this.#gzip.on('data', (chunk: Buffer) => {
      this.#hash.update(chunk);
      this.#bytes += chunk.length;
    });
    this.#done = finished(this.#gzip.pipe(createWriteStream(file, { flags: 'wx' })));
    // It is awaited at the end; until then, the next write throws it.
    this.#gzip.on('error', () => undefined);
    this.#done.catch((error: Error) => {
      this.#fault = error;
      this.#gzip.destroy(error);
    });
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (this.#fault !== undefined) throw this.#fault;
    if (!this.#gzip.write(bytes)) await once(this.#gzip, 'drain');
  }

  async end(): Promise<{ readonly bytes: number; readonly sha256: string }> {
    this.#gzip.end();
    await this.#done;
    syncFile(this.path);
    return { bytes: this.#bytes, sha256: this.#hash.digest('hex') };
  }

  destroy(): void {
    this.#gzip.destroy();
  }
}

function writeSynced(file: string, bytes: Uint8Array): void {
  writeFileSync(file, bytes, { flag: 'wx' });
  syncFile(file);
}

function syncFile(file: string): void {
  const descriptor = openSync(file, 'r+');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Some systems cannot open a folder. */
function syncFolder(folder: string): void {
  try {
    const descriptor = openSync(folder, 'r');
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if (process.platform !== 'win32') throw error;
  }
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Reads what a folder says of itself, and checks that its files are those that were written. */
export async function readExport(directory: string): Promise<Manifest> {
  const manifest = readManifest(path.join(directory, manifestName));
  for (const { file, bytes, sha256 } of [manifest.schema, ...manifest.tables]) {
    if (path.basename(file) !== file) throw new CliError(`${directory}: \`${file}\` is not a name`);
    await checkFile(path.join(directory, file), bytes, sha256);
  }
  return manifest;
}

function readManifest(file: string): Manifest {
  if (!existsSync(file)) {
    throw new CliError(`${path.dirname(file)} is no export: ${manifestName} is missing`);
  }
  try {
    const manifest = parseAs(readFileSync(file, 'utf8'), manifestShape);
    if (manifest.version === 1) return manifest;
    const fault = `this export has version ${manifest.version}; this program reads version 1`;
    throw new CliError(`${file}: ${fault}`);
  } catch (cause) {
    if (!(cause instanceof JsonError)) throw cause;
    throw new CliError(`${file} cannot be read: ${cause.message}`, 1, { cause });
  }
}

async function checkFile(file: string, bytes: number, sha256: string): Promise<void> {
  if (!existsSync(file)) throw new CliError(`${file} is missing, and the manifest names it`);
  const hash = createHash('sha256');
  let length = 0;
  for await (const chunk of createReadStream(file)) {
    hash.update(chunk as Buffer);
    length += (chunk as Buffer).length;
  }
  const found = hash.digest('hex');
  if (found === sha256 && length === bytes) return;
  throw new CliError(`${file} is damaged: SHA-256 ${found}, expected ${sha256}`);
}
