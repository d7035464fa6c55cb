import {
  existsSync,
  lstatSync,
  readdirSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { limits } from '../../limits.ts';
import { originName } from '../../log/origin.ts';
import { segmentSequence } from '../../log/segment.ts';
import { makeDirectoryDurably } from '../../node/atomic-file.ts';
import { syncDirectory } from '../../node/disk.ts';
import {
  LogFile,
  type LogFileBounds,
  MemoryModuleLog,
  type ModuleLog,
} from '../../node/log-file.ts';
import { privateFileMode, refuseLink } from '../../node/private-files.ts';
import { type LineStore, MemoryLines, SyncedLines } from '../../node/synced-lines.ts';
import { identityFromHex, identityToHex } from '../../values/identity.ts';
import { type DatabaseIdentity, databaseIdentity } from '../../values/identity-roles.ts';
import {
  type LedgerBounds,
  LedgerFolder,
  LedgerMemory,
  type LedgerStore,
} from '../ledger/ledger-files.ts';
import { KeptPrograms } from '../linking/kept-programs.ts';

/** The content of the data folder is unknown: its registry is missing, or cannot be read. */
export class RegistryError extends Error {
  override readonly name = 'RegistryError';
}

/** The log of a database, as far as its files show it without being read. */
export interface LogExtent {
  /** Bytes of its segments. */
  readonly bytes: number;
  /** When one of them was last written, in milliseconds since the Unix epoch. */
  readonly writtenMillis: number;
}

/** A log that a restore in place has replaced. */
export interface ReplacedLog {
  readonly number: number;
  /** When it was replaced, in milliseconds since the Unix epoch. */
  readonly replacedMillis: number;
  /** Bytes of its segments. */
  readonly bytes: number;
}

/**
 * Where the files of a host are:
 *
 * ```
 * <data>/audit/                                   who did what, one file a month
 * <data>/ledger/<identity>/                       who did what in a database
 * <data>/registry/                                the registry's log
 * <data>/databases/<identity>/log-<generation>/   a database's log; each reset begins another
 * <data>/databases/<identity>/replaced-<n>/       the log that a restore in place has replaced
 * <data>/databases/<identity>/asleep              marks a database that sleeps, and says until when
 * <data>/databases/<identity>/restoring           marks a database that is not registered yet
 * <data>/databases/<identity>/module-logs/        its module's log
 * <data>/databases/<identity>/programs/           its programs as they were linked
 * <data>/databases/<identity>/static/             the static files that it publishes
 * <data>/databases/<identity>/deploys/            what was published, and earlier programs
 * <data>/databases/<identity>.removed/            what is left of what was removed: a database,
 *                                                 or the log of a copy
 * ```
 *
 * The registry says which generation counts, so that a reset is one change there. A directory that
 * the registry does not name was left behind by a crash or a failed creation.
 */
export class DatabaseFiles {
  readonly #root: string | undefined;
  readonly #programs = new Map<DatabaseIdentity, KeptPrograms>();
  /** Bytes of replaced logs, as far as they were counted. */
  readonly #replacedBytes = new Map<DatabaseIdentity, number>();
  /** Folders of replaced logs that are read. */
  readonly #readFolders = new Set<string>();
  /** Called when the replaced logs of a database have become others. */
  replacedChanged: (identity: DatabaseIdentity) => void = () => undefined;

  /** `undefined`: there are no files; everything is kept in memory. */
  constructor(root: string | undefined) {
    this.#root = root;
  }

  get registry(): string | undefined {
    return this.#root === undefined ? undefined : path.join(this.#root, 'registry');
  }

  /**
   * Creates the registry's directory. Throws when databases exist without a registry, unless it is
   * going to be told of them.
   */
  async makeRegistry(adoptsDatabases = false): Promise<void> {
    if (this.#root === undefined || this.registry === undefined) return;
    const databases = path.join(this.#root, 'databases');
    const isNew = !existsSync(this.registry) || readdirSync(this.registry).length === 0;
    if (isNew && !adoptsDatabases && existsSync(databases) && readdirSync(databases).length > 0) {
      const text = `${this.#root} holds databases but no registry of them; restore it first`;
      throw new RegistryError(text);
    }
    await makeDirectoryDurably(this.registry);
  }

  /** True when nothing was ever written to the registry. */
  get isRegistryNew(): boolean {
    return this.registry === undefined || readdirSync(this.registry).length === 0;
  }

  /** The lines of the audit log; reports to `warn` what had to be set aside. */
  async openAuditLines(warn?: (message: string) => void): Promise<LineStore> {
    if (this.#root === undefined) return new MemoryLines(limits.auditMemoryLinesMax);
    return SyncedLines.open(path.join(this.#root, 'audit'), warn);
  }

  /** The ledgers of all databases. */
  openLedgers(bounds: LedgerBounds, nowMicros: bigint): Promise<LedgerStore> {
    if (this.#root === undefined) return Promise.resolve(new LedgerMemory());
    return LedgerFolder.open(path.join(this.#root, 'ledger'), bounds, nowMicros);
  }

  /** Removes what was kept of ledgers. */
  async removeLedgers(): Promise<void> {
    if (this.#root === undefined) return;
    await rm(path.join(this.#root, 'ledger'), { recursive: true, force: true });
  }

  logDirectory(identity: DatabaseIdentity, generation: number): string | undefined {
    const folder = this.#folder(identity);
    return folder === undefined ? undefined : path.join(folder, `log-${generation}`);
  }

  /** The extent of a log on disk; `undefined`: it does not exist, or cannot be inspected. */
  logExtent(identity: DatabaseIdentity, generation: number): LogExtent | undefined {
    return segmentsOf(this.logDirectory(identity, generation));
  }

  /** The mark of a database that sleeps; `undefined`: there are no files. */
  sleepMark(identity: DatabaseIdentity): string | undefined {
    const folder = this.#folder(identity);
    return folder === undefined ? undefined : path.join(folder, 'asleep');
  }

  async makeLogDirectory(
    identity: DatabaseIdentity,
    generation: number,
  ): Promise<string | undefined> {
    const directory = this.logDirectory(identity, generation);
    if (directory !== undefined) await makeDirectoryDurably(directory);
    return directory;
  }

  /** A generation above `current` that no directory has. */
  freeGeneration(identity: DatabaseIdentity, current: number): number {
    const taken = [...this.#generations(identity), ...this.#numbered(identity, 'replaced')];
    return Math.max(current, ...taken) + 1;
  }

  /**
   * Removes every generation but one; a crash can leave some, which the next start removes. If that
   * one does not exist, a copy or the registry is incomplete, and all of them stay. Those in front
   * of one that was restored are set aside instead.
   */
  async keepGeneration(identity: DatabaseIdentity, kept: number): Promise<void> {
    const generations = this.#generations(identity);
    if (!generations.includes(kept)) return;
    const isRestored = this.#isRestored(identity, kept);
    for (const generation of generations) {
      if (generation === kept) continue;
      if (isRestored && generation < kept) await this.#setAside(identity, generation);
      else await this.removeGeneration(identity, generation);
    }
  }

  /** The logs that restores in place have replaced, oldest first. */
  replaced(identity: DatabaseIdentity): ReplacedLog[] {
    const numbers = this.#numbered(identity, 'replaced');
    return numbers
      .sort((one, other) => one - other)
      .flatMap((number) => {
        const found = extentOf(this.#replacedFolder(identity, number));
        return found === undefined ? [] : [{ number, ...found }];
      });
  }

  /**
   * Bytes of all of them. They are counted once, and again when they have changed; 0 if they cannot
   * be inspected.
   */
  replacedBytes(identity: DatabaseIdentity): number {
    const known = this.#replacedBytes.get(identity);
    if (known !== undefined) return known;
    try {
      const bytes = this.replaced(identity).reduce((sum, one) => sum + one.bytes, 0);
      this.#replacedBytes.set(identity, bytes);
      return bytes;
    } catch {
      return 0;
    }
  }

  /** The folder of a replaced log, if there is one. */
  replacedLog(identity: DatabaseIdentity, number: number): string | undefined {
    if (!this.#numbered(identity, 'replaced').includes(number)) return undefined;
    return this.#replacedFolder(identity, number);
  }

  /** Keeps a replaced log from being removed while work reads it. Throws when it is gone. */
  async whileReplaced<Result>(
    identity: DatabaseIdentity,
    number: number,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const folder = this.replacedLog(identity, number);
    if (folder === undefined) throw new Error(`the replaced log ${number} was deleted meanwhile`);
    this.#readFolders.add(folder);
    try {
      return await work();
    } finally {
      this.#readFolders.delete(folder);
    }
  }

  /**
   * Removes the logs that were replaced before `beforeMillis`, but for one that is read; returns
   * how many there were.
   */
  async forgetReplaced(identity: DatabaseIdentity, beforeMillis: number): Promise<number> {
    const isOld = ({ replacedMillis, number }: ReplacedLog) =>
      replacedMillis < beforeMillis && !this.#isRead(identity, number);
    const old = this.replaced(identity).filter(isOld);
    for (const { number } of old) await this.removeReplaced(identity, number);
    return old.length;
  }

  /** Throws while it is read. */
  async removeReplaced(identity: DatabaseIdentity, number: number): Promise<void> {
    if (this.#isRead(identity, number)) throw new Error('it is being restored');
    try {
      await this.#remove(this.#replacedFolder(identity, number));
    } finally {
      this.#noteReplaced(identity);
    }
  }

  #isRead(identity: DatabaseIdentity, number: number): boolean {
    return this.#readFolders.has(this.#replacedFolder(identity, number) ?? '');
  }

  #noteReplaced(identity: DatabaseIdentity): void {
    this.#replacedBytes.delete(identity);
    this.replacedChanged(identity);
  }

  /** Makes the folder of a database that will be registered when it was restored whole. */
  async beginRestore(identity: DatabaseIdentity): Promise<void> {
    const folder = this.#folder(identity);
    if (folder === undefined) return;
    await makeDirectoryDurably(folder);
    writeFileSync(path.join(folder, restoringName), '', { mode: privateFileMode });
    await syncDirectory(folder);
  }

  /** It is registered. */
  async endRestore(identity: DatabaseIdentity): Promise<void> {
    const folder = this.#folder(identity);
    if (folder === undefined) return;
    rmSync(path.join(folder, restoringName), { force: true });
    await syncDirectory(folder);
  }

  /** True while a database is restored that is not registered yet. */
  isRestoring(identity: DatabaseIdentity): boolean {
    const folder = this.#folder(identity);
    return folder !== undefined && existsSync(path.join(folder, restoringName));
  }

  /** Removes what a crash has left of restores; `isKnown`: whether a database is registered. */
  async endRestores(isKnown: (identity: DatabaseIdentity) => boolean): Promise<void> {
    const databases = this.#root && path.join(this.#root, 'databases');
    if (databases === undefined || !existsSync(databases)) return;
    for (const name of readdirSync(databases)) {
      const identity = identityFromHex(name);
      const place = path.join(databases, name);
      if (identity === undefined || !existsSync(path.join(place, restoringName))) continue;
      refuseLink(place);
      if (isKnown(databaseIdentity(identity))) await this.endRestore(databaseIdentity(identity));
      else await this.#remove(place);
    }
  }

  /** A log with an origin in front of which there is another one has replaced that one. */
  #isRestored(identity: DatabaseIdentity, generation: number): boolean {
    const directory = this.logDirectory(identity, generation);
    return directory !== undefined && existsSync(path.join(directory, originName));
  }

  /** Its time counts from now; the name that it had is not taken again. */
  async #setAside(identity: DatabaseIdentity, generation: number): Promise<void> {
    const directory = this.logDirectory(identity, generation);
    const replaced = this.#replacedFolder(identity, generation);
    if (directory === undefined || replaced === undefined) return;
    const now = new Date();
    utimesSync(directory, now, now);
    renameSync(directory, replaced);
    await syncDirectory(path.dirname(replaced));
    this.#noteReplaced(identity);
  }

  #replacedFolder(identity: DatabaseIdentity, number: number): string | undefined {
    const folder = this.#folder(identity);
    return folder === undefined ? undefined : path.join(folder, `replaced-${number}`);
  }

  /**
   * Removes the log of a copy that other hosts have. It gets another name before this returns, so
   * that another one can begin at once. What was set aside of it, which nobody else has, stays with
   * it.
   */
  async removeCopy(identity: DatabaseIdentity, generation: number): Promise<void> {
    const directory = this.logDirectory(identity, generation);
    if (directory === undefined || !existsSync(directory)) return;
    if (readdirSync(directory).some((name) => /\.deposed-\d+$/.test(name))) return;
    const removed = freeName(`${path.dirname(directory)}.removed`);
    renameSync(directory, removed);
    for (const changed of [directory, removed]) await syncDirectory(path.dirname(changed));
    await this.#remove(removed);
  }

  async removeGeneration(identity: DatabaseIdentity, generation: number): Promise<void> {
    await this.#remove(this.logDirectory(identity, generation));
  }

  /**
   * Removes all files of a database. Its folder gets another name first, so that nothing finds it
   * any more that may still be at work there. What cannot be removed goes at the next start; then
   * it rejects.
   */
  async removeDatabase(identity: DatabaseIdentity): Promise<void> {
    this.#programs.delete(identity);
    this.#replacedBytes.delete(identity);
    const folder = this.#folder(identity);
    if (folder === undefined || !existsSync(folder)) return;
    const removed = freeName(`${folder}.removed`);
    renameSync(folder, removed);
    await syncDirectory(path.dirname(folder));
    await this.#remove(removed);
  }

  /** The databases that have a folder here. */
  withFolder(): DatabaseIdentity[] {
    const databases = this.#root && path.join(this.#root, 'databases');
    if (databases === undefined || !existsSync(databases)) return [];
    const identities = readdirSync(databases).map((name) => identityFromHex(name));
    return identities.flatMap((one) => (one === undefined ? [] : [databaseIdentity(one)]));
  }

  /** Removes what is left of databases that were removed; returns what stays, and why. */
  async endRemovals(): Promise<string[]> {
    const databases = this.#root && path.join(this.#root, 'databases');
    if (databases === undefined || !existsSync(databases)) return [];
    const left: string[] = [];
    for (const name of readdirSync(databases)) {
      if (!removedNames.test(name)) continue;
      const place = path.join(databases, name);
      try {
        refuseLink(place);
        await this.#remove(place);
      } catch (error) {
        left.push(`${place} stays: ${String(error)}`);
      }
    }
    return left;
  }

  /** `undefined`: there is nowhere to keep them. */
  keptPrograms(identity: DatabaseIdentity): KeptPrograms | undefined {
    const folder = this.#folder(identity);
    if (folder === undefined) return undefined;
    const known = this.#programs.get(identity) ?? new KeptPrograms(path.join(folder, 'programs'));
    this.#programs.set(identity, known);
    return known;
  }

  /** Where its static files are; `undefined`: in memory. */
  staticFolder(identity: DatabaseIdentity): string | undefined {
    const folder = this.#folder(identity);
    return folder === undefined ? undefined : path.join(folder, 'static');
  }

  /** Where its deploys are, with their programs; `undefined`: in memory. */
  deployFolder(identity: DatabaseIdentity): string | undefined {
    const folder = this.#folder(identity);
    return folder === undefined ? undefined : path.join(folder, 'deploys');
  }

  openModuleLog(identity: DatabaseIdentity, bounds: LogFileBounds): ModuleLog {
    const folder = this.#folder(identity);
    if (folder === undefined) return new MemoryModuleLog();
    return new LogFile(path.join(folder, 'module-logs'), bounds);
  }

  #folder(identity: DatabaseIdentity): string | undefined {
    if (this.#root === undefined) return undefined;
    return path.join(this.#root, 'databases', identityToHex(identity));
  }

  #generations(identity: DatabaseIdentity): number[] {
    return this.#numbered(identity, 'log');
  }

  #numbered(identity: DatabaseIdentity, word: 'log' | 'replaced'): number[] {
    const folder = this.#folder(identity);
    if (folder === undefined || !existsSync(folder)) return [];
    // What a link leads to must neither be counted nor removed.
    refuseLink(folder);
    return readdirSync(folder)
      .map((name) => /^(log|replaced)-(\d+)$/.exec(name))
      .filter((found) => found?.[1] === word)
      .map((found) => Number(found?.[2]));
  }

  async #remove(directory: string | undefined): Promise<void> {
    if (directory === undefined || !existsSync(directory)) return;
    const { removalTriesMax: maxRetries, removalRetryMillis: retryDelay } = limits;
    await rm(directory, { recursive: true, force: true, maxRetries, retryDelay });
    await syncDirectory(path.dirname(directory));
  }
}

function freeName(name: string): string {
  let free = name;
  for (let number = 2; existsSync(free); number++) free = `${name}-${number}`;
  return free;
}

/** Folders of databases that were removed, and logs of copies, while they are there. */
const removedNames = /^[0-9a-f]{64}\.removed(-\d+)?$/;

/** Marks the folder of a database that is being restored and is not registered yet. */
const restoringName = 'restoring';

function segmentsOf(directory: string | undefined): LogExtent | undefined {
  if (directory === undefined) return undefined;
  try {
    const names = readdirSync(directory).filter((name) => segmentSequence(name) !== undefined);
    const found = names.map((name) => lstatSync(path.join(directory, name)));
    if (found.length === 0) return undefined;
    const bytes = found.reduce((sum, { size }) => sum + size, 0);
    return { bytes, writtenMillis: Math.max(...found.map(({ mtimeMs }) => mtimeMs)) };
  } catch {
    // Opening it fails, with the reason.
    return undefined;
  }
}

/** The time of a folder is that of its last new name; nothing is written to a replaced one. */
function extentOf(directory: string | undefined): Omit<ReplacedLog, 'number'> | undefined {
  if (directory === undefined) return undefined;
  const replacedMillis = lstatSync(directory, { throwIfNoEntry: false })?.mtimeMs;
  if (replacedMillis === undefined) return undefined;
  return { replacedMillis, bytes: segmentsOf(directory)?.bytes ?? 0 };
}
