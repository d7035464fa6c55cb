import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import type { LinkedProgram } from '../../module/runner.ts';
import { writeFileAtomically } from '../../node/atomic-file.ts';
import { syncDirectory } from '../../node/disk.ts';
import { sameBytes } from '../../values/bytes.ts';
import { fromHex } from '../../values/hex.ts';
import { decodeLinked, linkedFileBytesMax, linkedFileName, originOf } from './linked-file.ts';
import { linkerVersion } from './linker-version.ts';

/** Linked programs that are kept for one database besides the one that runs. */
const othersMax = 1;

/**
 * The folder of one database's linked programs, as the gateway sees it: it writes and removes
 * files, and reads none. Only the gateway may write there, because the content is executed.
 */
export class KeptPrograms {
  readonly folder: string;
  /** Hash of the program that runs, in hex; '' = not known yet. */
  #running = '';
  /** The last operation; they run one at a time, so that nothing is removed while it is written. */
  #last: Promise<void> = Promise.resolve();

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Keeps a linked program; durable when this resolves. The folder of the database exists. */
  keep(linked: Uint8Array): Promise<void> {
    return this.#inTurn(async () => {
      await this.#makeFolder();
      const file = path.join(this.folder, linkedFileName(originOf(linked)));
      await writeFileAtomically(file, linked, 0o600);
      await this.#prune();
    });
  }

  /** Records which program runs; the others are removed, except the last of them. */
  runs(programHash: string): Promise<void> {
    this.#running = programHash;
    return this.#inTurn(() => this.#prune());
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  /** Creates no parent folders: a database that was deleted meanwhile stays deleted. */
  async #makeFolder(): Promise<void> {
    try {
      await fs.promises.mkdir(this.folder, { mode: 0o700 });
      await syncDirectory(path.dirname(this.folder));
    } catch (error) {
      if (!isCode(error, 'EEXIST')) throw error;
    }
  }

  async #prune(): Promise<void> {
    const files = await this.#list();
    const version = Buffer.from(linkerVersion()).toString('hex');
    const current = files.filter(({ name }) => name.endsWith(`-${version}.linked`));
    const others = current.filter(({ name }) => !this.#isRunning(name));
    others.sort((one, other) => other.millis - one.millis);
    const count = this.#running === '' ? othersMax + 1 : othersMax;
    const kept = new Set(others.slice(0, count).map(({ name }) => name));
    for (const { name } of current) if (this.#isRunning(name)) kept.add(name);
    for (const { name } of files) {
      if (!kept.has(name)) await fs.promises.rm(path.join(this.folder, name), { force: true });
    }
  }

  #isRunning(name: string): boolean {
    return this.#running !== '' && name.startsWith(`${this.#running}-`);
  }

  async #list(): Promise<{ readonly name: string; readonly millis: number }[]> {
    const found: { name: string; millis: number }[] = [];
    for (const name of await namesIn(this.folder)) {
      const stat = await fs.promises.lstat(path.join(this.folder, name));
      if (!stat.isDirectory()) found.push({ name, millis: stat.mtimeMs });
    }
    return found;
  }
}

/** Where an actor finds linked programs of its database, and which it takes. */
export interface KeptPlace {
  readonly folder: string;
  /** As hex, see `linker-version.ts`. */
  readonly linkerVersion: string;
}

/**
 * Reads the linked form of a program in the actor; `undefined` when there is none. A damaged file
 * is reported to `warn` and counts as none.
 */
export function readKept(
  { folder, linkerVersion: version }: KeptPlace,
  programHash: Uint8Array,
  warn: (message: string) => void,
): LinkedProgram | undefined {
  const origin = { programHash, linkerVersion: fromHex(version) ?? new Uint8Array(0) };
  const file = path.join(folder, linkedFileName(origin));
  try {
    return decodeLinked(readFile(file), origin);
  } catch (error) {
    if (!isCode(error, 'ENOENT')) {
      warn(`links its program again: ${file} cannot be used: ${messageOf(error)}`);
    }
    return undefined;
  }
}

/**
 * Finds a linked program whose hash is not known: one of the few files has its seed, which is
 * computed in a fraction of the time. `unclear`: a file is damaged; the lookup by hash reports it.
 */
export function findKept(
  { folder, linkerVersion: version }: KeptPlace,
  program: Uint8Array,
): FoundProgram | 'none' | 'unclear' {
  const seed = createHash('sha256').update(program).digest();
  try {
    for (const name of fs.readdirSync(folder)) {
      if (!name.endsWith(`-${version}.linked`)) continue;
      const file = readFile(path.join(folder, name));
      const linked = decodeLinked(file);
      const origin = originOf(file);
      if (linkedFileName(origin) !== name) return 'unclear';
      if (!sameBytes(linked.seed, seed)) continue;
      return { linked, programHash: new Uint8Array(origin.programHash) };
    }
  } catch (error) {
    return isCode(error, 'ENOENT') ? 'none' : 'unclear';
  }
  return 'none';
}

export interface FoundProgram {
  readonly linked: LinkedProgram;
  readonly programHash: Uint8Array;
}

/** Follows no link: what is read is executed. */
function readFile(file: string): Uint8Array {
  const descriptor = fs.openSync(file, fs.constants.O_RDONLY | (fs.constants.O_NOFOLLOW ?? 0));
  try {
    const { size } = fs.fstatSync(descriptor);
    if (size > linkedFileBytesMax) throw new Error(`it has ${size} bytes`);
    return fs.readFileSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await fs.promises.readdir(folder);
  } catch (error) {
    if (isCode(error, 'ENOENT')) return [];
    throw error;
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
