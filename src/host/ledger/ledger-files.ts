import fs from 'node:fs';
import path from 'node:path';
import { limits } from '../../limits.ts';
import {
  makeDirectoryDurably,
  readFileIfPresent,
  writeFileAtomically,
} from '../../node/atomic-file.ts';
import { noFollow, privateFileMode, refuseLink } from '../../node/private-files.ts';
import { identityFromHex, identityToHex } from '../../values/identity.ts';
import { type DatabaseIdentity, databaseIdentity } from '../../values/identity-roles.ts';

/** What is kept of ledgers. */
export interface LedgerBounds {
  /** 0: there are no ledgers. */
  readonly keepMillis: number;
  /** Of one database. */
  readonly bytesMax: number;
}

/** Blocks of the ledgers of databases, in files of ascending numbers. */
export interface LedgerStore {
  /** Appends blocks; `nowMillis` is when. */
  append(database: DatabaseIdentity, blocks: Uint8Array, nowMillis: number): Promise<void>;
  /** The numbers of the files that there are, ascending. */
  files(database: DatabaseIdentity): Promise<readonly number[]>;
  /** The blocks of a file; `undefined`: it is gone. */
  read(database: DatabaseIdentity, file: number): Promise<Uint8Array | undefined>;
  /** Deletes what is older than the ledger is kept, of all databases. */
  sweep(nowMillis: number): Promise<void>;
  forget(database: DatabaseIdentity): Promise<void>;
  /** When services ended without notice, as the next one found; microseconds, ascending. */
  readonly crashes: readonly bigint[];
  close(): Promise<void>;
}

/** Begins each file, with the version of its format. */
export const fileHead = new TextEncoder().encode('RDBLEDG2');
const namePattern = /^(\d{8,15})\.ledger$/;
const runningName = 'running';
const crashesName = 'crashes';

interface OpenFile {
  number: number;
  bytes: number;
  /** The UTC day on which it was begun. */
  day: number;
}

/**
 * The ledgers in a folder: `<folder>/<identity>/<number>.ledger`. Blocks are appended without a
 * sync. Each service begins files of its own, so what a crash has cut is at the end of one.
 */
export class LedgerFolder implements LedgerStore {
  readonly #folder: string;
  readonly #bounds: LedgerBounds;
  readonly #open = new Map<DatabaseIdentity, OpenFile>();
  /** Databases whose open file is being written. */
  readonly #appending = new Set<DatabaseIdentity>();
  readonly crashes: readonly bigint[];

  private constructor(folder: string, bounds: LedgerBounds, crashes: readonly bigint[]) {
    this.#folder = folder;
    this.#bounds = bounds;
    this.crashes = crashes;
  }

  /** Notes that a service runs; a mark of another one says that it ended without notice. */
  static async open(
    folder: string,
    bounds: LedgerBounds,
    nowMicros: bigint,
  ): Promise<LedgerFolder> {
    refuseLink(folder);
    await makeDirectoryDurably(folder);
    const mark = path.join(folder, runningName);
    const notes = path.join(folder, crashesName);
    const text = (await readFileIfPresent(notes))?.toString('utf8') ?? '';
    const known = text.split('\n').filter((line) => /^\d{1,18}$/.test(line));
    const crashes = known.map(BigInt);
    if ((await readFileIfPresent(mark)) !== undefined) {
      crashes.push(nowMicros);
      const kept = crashes.slice(-limits.ledgerCrashesMax);
      await writeFileAtomically(notes, kept.map((micros) => `${micros}\n`).join(''));
    }
    await writeFileAtomically(mark, '');
    return new LedgerFolder(folder, bounds, crashes.slice(-limits.ledgerCrashesMax));
  }

  async append(database: DatabaseIdentity, block: Uint8Array, nowMillis: number): Promise<void> {
    this.#appending.add(database);
    try {
      await this.#append(database, block, nowMillis);
    } finally {
      this.#appending.delete(database);
    }
  }

  async #append(database: DatabaseIdentity, block: Uint8Array, nowMillis: number): Promise<void> {
    const file = await this.#fileFor(database, block.length, nowMillis);
    const place = this.#place(database, file.number);
    const flags = fs.constants.O_APPEND | fs.constants.O_CREAT | fs.constants.O_WRONLY | noFollow;
    const handle = await fs.promises.open(place, flags, privateFileMode);
    try {
      if (file.bytes === 0) await handle.appendFile(fileHead);
      await handle.appendFile(block);
      file.bytes += block.length;
    } catch (error) {
      // What it has written of the block ends the file; without another block, it goes again.
      if (file.bytes === 0) await fs.promises.rm(place, { force: true });
      else file.bytes = Number.POSITIVE_INFINITY;
      throw error;
    } finally {
      await handle.close();
    }
  }

  async files(database: DatabaseIdentity): Promise<readonly number[]> {
    return numbersIn(await namesIn(this.#folderOf(database)));
  }

  async read(database: DatabaseIdentity, file: number): Promise<Uint8Array | undefined> {
    const place = this.#place(database, file);
    refuseLink(place);
    const bytes = await readFileIfPresent(place);
    return bytes?.subarray(fileHead.length);
  }

  async sweep(nowMillis: number): Promise<void> {
    for (const name of await namesIn(this.#folder)) {
      const identity = identityFromHex(name);
      if (identity !== undefined) await this.#prune(databaseIdentity(identity), nowMillis);
    }
  }

  async forget(database: DatabaseIdentity): Promise<void> {
    this.#open.delete(database);
    await fs.promises.rm(this.#folderOf(database), { recursive: true, force: true });
  }

  async close(): Promise<void> {
    await fs.promises.rm(path.join(this.#folder, runningName), { force: true });
  }

  async #fileFor(
    database: DatabaseIdentity,
    byteCount: number,
    nowMillis: number,
  ): Promise<OpenFile> {
    const day = Math.floor(nowMillis / dayMillis);
    const open = this.#open.get(database);
    const isFull = open !== undefined && open.bytes + byteCount > limits.ledgerFileBytesMax;
    if (open !== undefined && !isFull && open.day === day) return open;
    const folder = this.#folderOf(database);
    if (open === undefined) {
      refuseLink(folder);
      await makeDirectoryDurably(folder);
    }
    const last = (await this.files(database)).at(-1) ?? 0;
    const file = { number: Math.max(last, open?.number ?? 0) + 1, bytes: 0, day };
    this.#open.set(database, file);
    await this.#prune(database, nowMillis);
    return file;
  }

  /**
   * Deletes the oldest files, until the rest is young and small enough; the open one, if nothing
   * was written to it for as long as a ledger is kept.
   */
  async #prune(database: DatabaseIdentity, nowMillis: number): Promise<void> {
    const { keepMillis, bytesMax } = this.#bounds;
    const numbers = await this.files(database);
    const open = this.#open.get(database)?.number;
    let bytes = limits.ledgerFileBytesMax;
    for (const number of [...numbers].reverse()) {
      const place = this.#place(database, number);
      const facts = await factsOf(place);
      if (facts === undefined) continue;
      const isOld = facts.mtimeMs < nowMillis - keepMillis;
      if (number === open) {
        if (!isOld || this.#appending.has(database)) continue;
        this.#open.delete(database);
      } else bytes += facts.size;
      if (isOld || bytes > bytesMax) await fs.promises.rm(place, { force: true });
    }
  }

  #folderOf(database: DatabaseIdentity): string {
    return path.join(this.#folder, identityToHex(database));
  }

  #place(database: DatabaseIdentity, file: number): string {
    return path.join(this.#folderOf(database), `${String(file).padStart(8, '0')}.ledger`);
  }
}

const dayMillis = 24 * 3_600_000;

/** `undefined`: it is gone. */
async function factsOf(place: string): Promise<fs.Stats | undefined> {
  try {
    return await fs.promises.lstat(place);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await fs.promises.readdir(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw error;
  }
}

function numbersIn(names: readonly string[]): number[] {
  return names
    .flatMap((name) => namePattern.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((one, other) => one - other);
}

/** The newest blocks of each database, of a service without a disk. */
export class LedgerMemory implements LedgerStore {
  readonly crashes: readonly bigint[] = [];
  readonly #databases = new Map<DatabaseIdentity, { first: number; blocks: Uint8Array[] }>();

  append(database: DatabaseIdentity, block: Uint8Array): Promise<void> {
    const kept = this.#databases.get(database) ?? { first: 1, blocks: [] };
    this.#databases.set(database, kept);
    kept.blocks.push(block);
    let bytes = kept.blocks.reduce((sum, { length }) => sum + length, 0);
    while (bytes > limits.ledgerMemoryBytesMax && kept.blocks.length > 1) {
      bytes -= kept.blocks.shift()?.length ?? 0;
      kept.first += 1;
    }
    return Promise.resolve();
  }

  files(database: DatabaseIdentity): Promise<readonly number[]> {
    const { first, blocks } = this.#databases.get(database) ?? { first: 1, blocks: [] };
    return Promise.resolve(blocks.map((_, at) => first + at));
  }

  read(database: DatabaseIdentity, file: number): Promise<Uint8Array | undefined> {
    const kept = this.#databases.get(database);
    return Promise.resolve(kept?.blocks[file - kept.first]);
  }

  sweep(): Promise<void> {
    return Promise.resolve();
  }

  forget(database: DatabaseIdentity): Promise<void> {
    this.#databases.delete(database);
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
