import { setTimeout as sleep } from 'node:timers/promises';
import { BackupError } from '../../backup/backup-error.ts';
import type { LogPoint } from '../../backup/manifest.ts';
import { Refusal } from '../../database/outcome.ts';
import type { RollOutcome } from '../../database/turn.ts';
import { limits } from '../../limits.ts';
import type { Report } from '../../node/report-line.ts';
import { identityToHex } from '../../values/identity.ts';
import type { CallerIdentity, DatabaseIdentity } from '../../values/identity-roles.ts';
import type { HeldHistory, HoldHistory, HoldOptions } from '../databases/history-holds.ts';
import type { JobProgress, Jobs } from '../databases/jobs.ts';
import type { Access } from '../registry/access.ts';
import type { AuditLog } from '../registry/audit-log.ts';
import type { DatabaseFiles } from '../registry/database-files.ts';
import type { HostCaller } from '../registry/host-caller.ts';
import { type Registry, registryIdentity } from '../registry/registry.ts';
import type { RegisteredDatabase } from '../registry/registry-rows.ts';
import type { DatabaseHandle } from '../supervision/database-handle.ts';
import {
  filesBesideLog,
  hostFilesOf,
  pointOf,
  recordOf,
  registryHex,
  registryRecord,
} from './backed-up.ts';
import type {
  BackedUpDatabase,
  CreatedBackup,
  CreateWork,
  DatabaseEnd,
  DescribedDatabase,
  ListedRepository,
  RepositorySettings,
} from './backup-messages.ts';
import type { BackupThread, RunOptions } from './backup-thread.ts';
import type { Repositories } from './repositories.ts';
import { partOf, positionText } from './shown-repository.ts';
import { type StreamedObject, streamedObject } from './streamed-object.ts';
import { errorForCaller } from './without-places.ts';

export interface BackupControlOptions {
  readonly access: Access;
  readonly audit: AuditLog;
  readonly jobs: Jobs;
  readonly registry: Registry;
  readonly files: DatabaseFiles;
  readonly repositories: Repositories;
  readonly thread: BackupThread;
  readonly hold: HoldHistory;
  readonly handleOf: (database: DatabaseIdentity) => DatabaseHandle | undefined;
  /** False: other hosts of the cluster have it, and this one has no copy. */
  readonly hasCopy: (database: DatabaseIdentity) => boolean;
  /** Whether a process that its module may have taken over writes to the folder of a database. */
  readonly isForeign: (database: DatabaseIdentity) => boolean;
  /** False: databases are in memory. */
  readonly isKept: boolean;
  /** The data folder, and the folder of the host's keys. */
  readonly directory: string | undefined;
  readonly keyDirectory: string | undefined;
  /** Name and version of the program. */
  readonly program: string;
  readonly nowMillis: () => number;
  readonly report: Report;
}

interface StartedBackup {
  readonly action: 'back up database' | 'back up host';
  /** `undefined`: the whole host. */
  readonly database: DatabaseIdentity | undefined;
  /** The databases whose histories are needed, when the job begins. */
  readonly held: () => readonly DatabaseIdentity[];
  readonly prepare: (signal: AbortSignal, show: Show) => Promise<PreparedBackup>;
}

type Show = (progress: JobProgress) => void;
type PreparedBackup = Omit<CreateWork, 'kind' | 'program' | 'withHistory'>;

export interface BackupChoice {
  /** Name of a configured repository; absent: the only one. */
  readonly repository: string | undefined;
  /** True to add all of the log that is kept, for a restore to earlier places. */
  readonly withHistory: boolean;
  /** True to add the logs of modules. */
  readonly withLogs: boolean;
  /** True to add the keys of the host; whole hosts only. */
  readonly withKeys: boolean;
}

type Target = RegisteredDatabase & { readonly handle: DatabaseHandle };

/** Takes backups of databases and of the whole host, as jobs. */
export class BackupControl {
  readonly #options: BackupControlOptions;
  /** Holds of those who read a backup over HTTP; each ends when it is not read for a while. */
  readonly #streamed = new Map<DatabaseIdentity, Map<CallerIdentity, HeldHistory>>();
  /** Where logs were sealed a moment ago, and when they may be again. */
  readonly #sealed = new Map<
    DatabaseIdentity,
    { readonly offset: number; readonly nextAt: number }
  >();
  /** When the last backup succeeded of each database, in seconds since the Unix epoch. */
  readonly #lastSuccess = new Map<DatabaseIdentity, number>();

  constructor(options: BackupControlOptions) {
    this.#options = options;
  }

  lastSuccessSeconds(database: DatabaseIdentity): number | undefined {
    return this.#lastSuccess.get(database);
  }

  /** Backs up one database; returns the id of the job. */
  create(by: HostCaller, target: Target, choice: BackupChoice): string {
    const { identity, handle } = target;
    this.#options.access.require(by, target, 'backUp');
    return this.#start(by, choice, {
      action: 'back up database',
      database: identity,
      held: () => [identity],
      prepare: async (signal, show) => {
        show({ phase: 'snapshot', done: 0, total: 0 });
        await this.#freshSnapshot(handle, signal);
        const database = this.backedUp(target, await this.#endOf(identity, handle, signal), choice);
        return { databases: [database], files: [], hasKeys: false, isWhole: false };
      },
    });
  }

  /**
   * Backs up all databases and the registry, each up to what was durable in one tick. Those that
   * cannot serve are read as far as their files are intact; the result names them.
   */
  createAll(by: HostCaller, choice: BackupChoice): string {
    const { access, registry } = this.#options;
    access.requireOperator(by, 'back up host');
    const { withKeys: hasKeys } = choice;
    return this.#start(by, choice, {
      action: 'back up host',
      database: undefined,
      held: () => [...registry.databases].map(({ identity }) => identity),
      prepare: async (signal, show) => {
        const databases = await this.#allDatabases(choice, signal, show);
        return { databases, files: hostFilesOf(this.#options, hasKeys), hasKeys, isWhole: true };
      },
    });
  }

  /** Starts a job that prepares a backup, ships it, and holds the histories that it needs. */
  #start(by: HostCaller, choice: BackupChoice, started: StartedBackup): string {
    const { jobs, repositories, hold } = this.#options;
    this.#requireHistory();
    const repository = repositories.find(choice.repository);
    const { action, database, held, prepare } = started;
    let progress: JobProgress = waiting;
    const show: Show = (next) => {
      progress = next;
    };
    return jobs.start(by, {
      kind: 'backup',
      database: database ?? registryIdentity,
      progress: () => progress,
      run: async (cancelled) => {
        const dropped = new AbortController();
        const need = { ...this.#needOf(by), dropped: () => dropped.abort() };
        const holds = held().map((identity) => hold(identity, need));
        const signal = AbortSignal.any([cancelled, dropped.signal]);
        try {
          const prepared = await prepare(signal, show);
          const work = { ...prepared, withHistory: choice.withHistory };
          const onProgress = (next: JobProgress): void => {
            for (const one of holds) one.progress();
            show(next);
          };
          const created = await this.#ship(repository, work, { signal, onProgress });
          await this.#note(by, action, database, repository.name, created);
          return shown(repository.name, created);
        } catch (error) {
          throw this.#forCaller(
            dropped.signal.aborted ? new Error(forgottenText) : error,
            repository,
          );
        } finally {
          for (const one of holds) one.release();
        }
      },
    });
  }

  /**
   * What a backup of a database consists of, for a client that writes it elsewhere. The files that
   * it names stay while they are read.
   */
  async describe(by: HostCaller, target: Target): Promise<DescribedDatabase> {
    const { access, hold } = this.#options;
    access.require(by, target, 'backUp');
    this.#requireHistory();
    const { identity } = target;
    const held = this.#streamed.get(identity) ?? new Map<CallerIdentity, HeldHistory>();
    this.#streamed.set(identity, held);
    held.get(by.identity)?.release();
    const idleMillisMax = limits.streamedHoldMillisMax;
    const dropped = (): void => this.#forgetStream(by, identity, own);
    const own = hold(identity, { ...this.#needOf(by), idleMillisMax, dropped });
    held.set(by.identity, own);
    const described = await this.#described(target).catch((error: unknown) => {
      own.release();
      this.#forgetStream(by, identity, own);
      throw error;
    });
    const position = positionText(described.end);
    const note = { action: 'back up database', caller: by, database: identity } as const;
    await this.#options.audit.note({ ...note, outcome: 'done', detail: { position } });
    return described;
  }

  async #described(target: Target): Promise<DescribedDatabase> {
    const database = this.backedUp(target, await this.#endOf(target.identity, target.handle));
    const work = this.#options.thread.run(undefined, { kind: 'describe', database });
    return refusing(work.catch((error: unknown) => Promise.reject(this.#forCaller(error))));
  }

  /** Who has read a backup needs its files no longer. */
  release(by: HostCaller, target: Target): void {
    this.#options.access.require(by, target, 'backUp');
    const { identity } = target;
    const held = this.#streamed.get(identity)?.get(by.identity);
    if (held === undefined) return;
    held.release();
    this.#forgetStream(by, identity, held);
  }

  #forgetStream(by: HostCaller, database: DatabaseIdentity, hold: HeldHistory): void {
    const held = this.#streamed.get(database);
    if (held?.get(by.identity) !== hold) return;
    held.delete(by.identity);
    if (held.size === 0) this.#streamed.delete(database);
  }

  /** Backups need all that is kept; that of an operator outranks the owner who has it deleted. */
  #needOf(by: HostCaller): HoldOptions {
    const endsFor = this.#options.access.isOperator(by) ? 'operator' : 'owner';
    return { by: 'backup', fromOffset: 0, who: identityToHex(by.identity), endsFor };
  }

  #forCaller(error: unknown, repository?: RepositorySettings): Error {
    const { directory, report } = this.#options;
    return errorForCaller(error, { directory, repository }, report);
  }

  /** One of the files that a backup consists of. Throws `Refusal` `backup.unknownObject`. */
  object(by: HostCaller, target: Target, name: string): StreamedObject {
    const { access, files } = this.#options;
    access.require(by, target, 'backUp');
    const { identity, generation } = target;
    const held = this.#streamed.get(identity)?.get(by.identity);
    const progress = (): void => held?.progress();
    progress();
    const directory = files.logDirectory(identity, generation);
    const folder = files.staticFolder(identity);
    const found =
      directory === undefined || folder === undefined
        ? undefined
        : streamedObject({ directory, folder }, name);
    if (found !== undefined) {
      return { ...found, read: (...part) => eachTaken(found.read(...part), progress) };
    }
    const message = `There is no object \`${name}\``;
    throw new Refusal({ code: 'backup.unknownObject', message });
  }

  /** What a repository holds of a database, for those who may back it up. */
  async listOf(
    by: HostCaller,
    target: Target,
    repository: string | undefined,
  ): Promise<ListedRepository> {
    const { access, thread, repositories } = this.#options;
    access.require(by, target, 'backUp');
    const held = await refusing(thread.run(repositories.find(repository), { kind: 'list' }));
    return partOf(held, target.identity);
  }

  /** What a repository holds, for operators. */
  list(by: HostCaller, repository: string | undefined): Promise<ListedRepository> {
    const { access, thread, repositories } = this.#options;
    access.requireOperator(by, 'list backups');
    return refusing(thread.run(repositories.find(repository), { kind: 'list' }));
  }

  /** One tick decides for all: there is no `await` between the first end and the last. */
  async #allDatabases(
    choice: BackupChoice,
    signal: AbortSignal,
    show: Show,
  ): Promise<BackedUpDatabase[]> {
    const { registry, handleOf, hasCopy } = this.#options;
    const here = () => [...registry.databases].filter(({ identity }) => hasCopy(identity));
    const records = here();
    const until = performance.now() + limits.backupOpeningMillisMax;
    for (const [done, { identity }] of records.entries()) {
      signal.throwIfAborted();
      show({ phase: 'snapshots', done, total: records.length });
      const handle = handleOf(identity);
      const state = handle === undefined ? 'closed' : await openedState(handle, until, signal);
      if (handle === undefined || state !== 'serving') continue;
      try {
        await this.#freshSnapshot(handle, signal);
      } catch (error) {
        // There is more to read without it, and that is all.
        if (!isOfDatabase(error)) throw error;
      }
    }
    const ends = here().map((record) => {
      const handle = handleOf(record.identity);
      const { state, durableOffset } = handle?.statistics() ?? { state: 'closed' as const };
      return { record, handle, state, offset: Number(durableOffset ?? 0) };
    });
    const ofRegistry = Number(registry.handle.statistics().durableOffset);
    const databases: BackedUpDatabase[] = [await this.#registryAt(ofRegistry)];
    for (const [done, { record, handle, state, offset }] of ends.entries()) {
      signal.throwIfAborted();
      show({ phase: 'sealing', done, total: ends.length });
      const end = await this.#endAt(record.identity, handle, { state, offset });
      databases.push(this.backedUp(record, end, choice));
    }
    return databases;
  }

  async #endAt(
    database: DatabaseIdentity,
    handle: DatabaseHandle | undefined,
    { state, offset }: { readonly state: string; readonly offset: number },
  ): Promise<DatabaseEnd> {
    const isAtRest = state === 'closed' || state === 'asleep';
    if (handle === undefined || isAtRest) return { kind: 'files', fault: '' };
    if (state === 'broken') return { kind: 'files', fault: 'it cannot serve' };
    if (state === 'opening') return { kind: 'files', fault: 'it was still opening' };
    try {
      const end = await this.#endOf(database, handle);
      return end.kind === 'sealed' && end.at.offset > offset ? { kind: 'offset', offset } : end;
    } catch (error) {
      if (!isOfDatabase(error)) throw error;
      return { kind: 'files', fault: error.message };
    }
  }

  async #registryAt(offset: number): Promise<BackedUpDatabase> {
    const { registry, files } = this.#options;
    const at = placeOf(await registry.handle.roll());
    const end: DatabaseEnd =
      at.offset > offset ? { kind: 'offset', offset } : { kind: 'sealed', at };
    const directory = files.registry ?? '';
    return {
      ...{ identity: registryHex, record: registryRecord, directory },
      ...{ files: [], end, isForeign: false },
    };
  }

  /** A restore reads the log behind the newest snapshot: there should not be much of it. */
  async #freshSnapshot(handle: DatabaseHandle, signal: AbortSignal): Promise<void> {
    const { snapshots } = handle.statistics();
    if (snapshots.logBytes <= limits.backupSnapshotLogBytesMax) return;
    const outcome = await handle.snapshot(signal);
    if (outcome.kind === 'failed') throw new BackupError('backup.source', outcome.message);
  }

  /**
   * Seals the log up to now. Backups one after another, with a few commits in between, would make
   * many small segments: they wait a moment for each other. Without new commits nothing is sealed.
   */
  async #endOf(
    database: DatabaseIdentity,
    handle: DatabaseHandle,
    signal?: AbortSignal,
  ): Promise<DatabaseEnd> {
    const last = this.#sealed.get(database);
    const wait = last === undefined ? 0 : last.nextAt - performance.now();
    if (wait > 0 && handle.statistics().offset !== last?.offset) {
      await sleep(wait, undefined, { ...(signal !== undefined && { signal }) });
    }
    const at = placeOf(await handle.roll());
    for (const [one, { nextAt }] of this.#sealed) {
      if (nextAt < performance.now()) this.#sealed.delete(one);
    }
    const nextAt = performance.now() + limits.backupSealMillisMin;
    this.#sealed.set(database, { offset: at.offset, nextAt });
    return { kind: 'sealed', at };
  }

  /** A database as the thread needs it. */
  backedUp(
    database: RegisteredDatabase,
    end: DatabaseEnd,
    { withLogs = false }: Partial<BackupChoice> = {},
  ): BackedUpDatabase {
    const { registry, files, handleOf, isForeign } = this.#options;
    const { identity, generation } = database;
    const program = handleOf(identity)?.description?.programHash;
    return {
      identity: identityToHex(identity),
      record: recordOf(registry, database, program),
      directory: files.logDirectory(identity, generation) ?? '',
      files: filesBesideLog(files, database, withLogs),
      end,
      isForeign: isForeign(identity),
    };
  }

  async #ship(
    repository: RepositorySettings,
    work: Omit<CreateWork, 'kind' | 'program'>,
    options: RunOptions,
  ): Promise<CreatedBackup> {
    const { thread, program, nowMillis, registry } = this.#options;
    const created = await thread.run(repository, { ...work, kind: 'create', program }, options);
    const isWhole = ({ fault }: { readonly fault: string }) => fault === '';
    const whole = new Set(created.databases.filter(isWhole).map(({ identity }) => identity));
    const seconds = Math.floor(nowMillis() / 1_000);
    for (const { identity } of registry.databases) {
      if (whole.has(identityToHex(identity))) this.#lastSuccess.set(identity, seconds);
    }
    return created;
  }

  async #note(
    caller: HostCaller,
    action: StartedBackup['action'],
    database: DatabaseIdentity | undefined,
    repository: string,
    created: CreatedBackup,
  ): Promise<void> {
    const position = created.databases.length === 1 ? created.databases[0] : undefined;
    const detail = {
      ...{ repository, backup: created.id },
      ...(position !== undefined && { position: positionText(position.end) }),
    };
    const about = database === undefined ? {} : { database };
    await this.#options.audit.note({ action, caller, ...about, outcome: 'done', detail });
  }

  #requireHistory(): void {
    if (this.#options.isKept) return;
    const message = 'This service keeps its databases in memory: they have no history';
    throw new Refusal({ code: 'history.off', message });
  }
}

const forgottenText = 'The history of the database was deleted meanwhile; back it up again';

const waiting: JobProgress = { phase: 'waiting', done: 0, total: 0 };

function placeOf(outcome: RollOutcome): LogPoint {
  if (outcome.kind === 'sealed') return pointOf(outcome.place);
  throw new BackupError('backup.source', `The log cannot be sealed: ${outcome.message}`);
}

/** Waits for a database that opens, until then at most; returns the state that it has. */
async function openedState(
  handle: DatabaseHandle,
  until: number,
  signal: AbortSignal,
): Promise<string> {
  while (handle.statistics().state === 'opening' && performance.now() < until) {
    await sleep(limits.backupOpeningLookMillis, undefined, { signal });
  }
  return handle.statistics().state;
}

/** Whether it is one database that cannot do something, so that others still can. */
function isOfDatabase(error: unknown): error is Refusal | BackupError {
  return error instanceof Refusal || error instanceof BackupError;
}

/** The result of the job. Times are microseconds since the Unix epoch. */
function shown(repository: string, created: CreatedBackup): Readonly<Record<string, unknown>> {
  const { id, timeMicros, newObjects, newBytes, bytes, databases } = created;
  return {
    ...{ backup: id, repository, time: timeMicros },
    ...{ new_objects: newObjects, new_bytes: newBytes, bytes },
    databases: databases.map(({ identity, names, end, fault }) => ({
      ...{ identity, names, position: positionText(end), offset: end.offset, time: end.micros },
      fault: fault === '' ? null : fault,
    })),
  };
}

/** What the user can do something about becomes a refusal, with its text. */
async function refusing<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof BackupError)) throw error;
    throw new Refusal({ code: 'backup.invalid', message: error.message }, { cause: error });
  }
}

/** Passes pieces on, and calls `onTaken` when one has been taken. */
async function* eachTaken<Piece>(
  pieces: AsyncIterable<Piece>,
  onTaken: () => void,
): AsyncIterable<Piece> {
  for await (const piece of pieces) {
    yield piece;
    onTaken();
  }
}
