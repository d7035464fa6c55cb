import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { BackupError } from '../../backup/backup-error.ts';
import type { Clock } from '../../database/clock.ts';
import { limits } from '../../limits.ts';
import { atMost } from '../../node/at-most.ts';
import { readFileIfPresent, writeFileAtomically } from '../../node/atomic-file.ts';
import type { Report } from '../../node/report-line.ts';
import { identityToHex } from '../../values/identity.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { HeldHistory, HoldHistory } from '../databases/history-holds.ts';
import type { Registry } from '../registry/registry.ts';
import type { RegisteredDatabase } from '../registry/registry-rows.ts';
import type { DatabaseHandle } from '../supervision/database-handle.ts';
import type { ArchivedDatabase, BackedUpDatabase, DatabaseEnd } from './backup-messages.ts';
import type { BackupThread } from './backup-thread.ts';
import type { Repositories } from './repositories.ts';

/** What the operator has said of the archive. */
export interface ArchiveSettings {
  readonly repository: string;
  readonly intervalMillis: number;
  /** Names or identities; `all`: each. */
  readonly databases: 'all' | readonly string[];
  /** Log that an archive that cannot be reached keeps from being deleted. */
  readonly lagBytes: number;
}

export interface ArchiverOptions {
  readonly settings: ArchiveSettings;
  readonly repositories: Repositories;
  readonly registry: Registry;
  readonly thread: BackupThread;
  readonly hold: HoldHistory;
  readonly handleOf: (database: DatabaseIdentity) => DatabaseHandle | undefined;
  readonly describe: (database: RegisteredDatabase, end: DatabaseEnd) => BackedUpDatabase;
  /** The data folder. */
  readonly directory: string;
  readonly clock: Clock;
  readonly report: Report;
  /** The name of this service in archives; absent: a file of the data folder has it. */
  readonly host?: string;
}

/** How the archive of a database is, for metrics. */
export interface ArchiveFigures {
  /** Time since the archive had all that was durable, and bytes of log that it does not have. */
  readonly lagMillis: number;
  readonly lagBytes: number;
  /** True if there are commits that it will never have. */
  readonly hasGap: boolean;
  readonly failures: number;
}

interface Archived {
  /** Durable offset when the archive last had everything; -1: it is not known to have. */
  offset: number;
  /** Bytes of the log at the last pass that succeeded, and of them those that it left out. */
  logBytes: number;
  /** When the archive last had everything that was durable. */
  completeAt: number;
  lagBytes: number;
  hasGap: boolean;
  failures: number;
  isFailing: boolean;
  /** Another service archives it. */
  isStopped: boolean;
  held: HeldHistory | undefined;
}

/**
 * The continuous archive: in every interval, the new durable commits of databases that have some
 * are put into a repository, by the thread that works on backups. A database that is closed, or
 * rests, costs nothing.
 */
export class Archiver {
  readonly #options: ArchiverOptions;
  readonly #databases = new Map<DatabaseIdentity, Archived>();
  readonly #abort = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  /** Settles when the last pass that was begun has ended: there is one at a time. */
  #lastPass: Promise<void> = Promise.resolve();
  #host: string | undefined;

  constructor(options: ArchiverOptions) {
    this.#options = options;
    this.#schedule();
  }

  figures(database: DatabaseIdentity): ArchiveFigures | undefined {
    const archived = this.#databases.get(database);
    if (archived === undefined) return undefined;
    const { handleOf, clock } = this.#options;
    const { hasGap, failures } = archived;
    const { durableOffset = 0, used } = handleOf(database)?.statistics() ?? {};
    if (Number(durableOffset) <= archived.offset) {
      return { lagMillis: 0, lagBytes: 0, hasGap, failures };
    }
    const since = Math.max(0, (used?.logBytes ?? 0) - archived.logBytes);
    const lagMillis = clock.monotonicMillis() - archived.completeAt;
    return { lagMillis, lagBytes: archived.lagBytes + since, hasGap, failures };
  }

  /** Ends the pass under way; one that does not end is not waited for. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#abort.abort();
    await atMost(limits.archiveCloseMillisMax, Promise.all([this.#running, this.#lastPass]));
  }

  #schedule(): void {
    this.#timer = setTimeout(() => {
      this.#running = this.#passAll().finally(() => {
        if (!this.#abort.signal.aborted) this.#schedule();
      });
    }, this.#options.settings.intervalMillis);
    this.#timer.unref();
  }

  async #passAll(): Promise<void> {
    const { registry } = this.#options;
    for (const record of [...registry.databases]) {
      if (this.#abort.signal.aborted) return;
      if (this.#isChosen(record)) await this.#passInTurn(record);
    }
    for (const [identity, { held }] of this.#databases) {
      if (registry.database(identity) !== undefined) continue;
      held?.release();
      this.#databases.delete(identity);
    }
  }

  #isChosen({ identity }: RegisteredDatabase): boolean {
    const { settings, registry } = this.#options;
    const { databases } = settings;
    if (databases === 'all' || databases.includes(identityToHex(identity))) return true;
    return registry.namesOf(identity).some(({ name }) => databases.includes(name));
  }

  #passInTurn(record: RegisteredDatabase): Promise<void> {
    const isOver = () => this.#abort.signal.aborted;
    const pass = this.#lastPass.then(() => (isOver() ? undefined : this.#pass(record)));
    this.#lastPass = pass.catch(() => undefined);
    return pass;
  }

  /** Archives what is durable now, before its turn comes. */
  async #catchUp(identity: DatabaseIdentity): Promise<void> {
    const record = this.#options.registry.database(identity);
    if (record !== undefined) await this.#passInTurn(record);
  }

  async #pass(record: RegisteredDatabase): Promise<void> {
    const { handleOf, clock } = this.#options;
    const handle = handleOf(record.identity);
    const archived = this.#of(record.identity);
    if (handle === undefined || archived.isStopped) return;
    const { state } = handle.statistics();
    // What sleeps may have fallen asleep before all of it was archived.
    const isKnown = state === 'asleep' && archived.offset >= 0;
    if (state !== 'serving' && !isKnown) return;
    const { durableOffset, used } = handle.statistics();
    const offset = Number(durableOffset);
    const at = clock.monotonicMillis();
    if (offset === archived.offset) {
      archived.completeAt = at;
      return;
    }
    const watch = setTimeout(() => this.#late(record), limits.archiveStallMillis);
    try {
      const done = await this.#archiveAsItIs(record, offset);
      if (done.needsSnapshot) await handle.snapshot(this.#abort.signal);
      this.#note(record, archived, done);
      archived.logBytes = used.logBytes;
      if (done.lagBytes > 0) return;
      archived.offset = offset;
      archived.completeAt = at;
    } catch (error) {
      if (!this.#abort.signal.aborted) this.#failed(record, archived, error);
    } finally {
      clearTimeout(watch);
    }
  }

  /** A store that does not answer is asked again for long, and others wait meanwhile. */
  #late({ identity }: RegisteredDatabase): void {
    const seconds = limits.archiveStallMillis / 1_000;
    this.#complain(
      identity,
      `its archive has not ended a pass for ${seconds} s; look whether the repository ` +
        `${this.#options.settings.repository} answers`,
    );
  }

  /** Looks again, at once, when a file of the log is packed or deleted while it is read. */
  async #archiveAsItIs(record: RegisteredDatabase, offset: number): Promise<ArchivedDatabase> {
    for (let triesLeft = limits.archiveTriesMax; ; triesLeft--) {
      try {
        return await this.#archive(record, offset);
      } catch (error) {
        if (triesLeft <= 1 || !isFileGone(error) || this.#abort.signal.aborted) throw error;
      }
    }
  }

  async #archive(record: RegisteredDatabase, offset: number): Promise<ArchivedDatabase> {
    const { settings, repositories, thread, describe } = this.#options;
    this.#host ??= this.#options.host ?? (await hostId(this.#options.directory));
    const database = describe(record, { kind: 'offset', offset });
    const { lagBytes: lagBytesMax } = settings;
    const work = { kind: 'archive', host: this.#host, database, lagBytesMax } as const;
    const { signal } = this.#abort;
    return thread.run(repositories.find(settings.repository), work, { signal });
  }

  #note({ identity }: RegisteredDatabase, archived: Archived, done: ArchivedDatabase): void {
    archived.lagBytes = done.lagBytes;
    archived.isFailing = false;
    if (done.isNewLine) {
      this.#complain(
        identity,
        `its log does not continue its archive: line ${done.line} of the archive begins`,
      );
    }
    if (done.gap !== undefined) {
      archived.hasGap = true;
      const { after, until } = done.gap;
      this.#complain(identity, `its archive has a gap from commit ${after} to ${until}`);
    }
    this.#hold(identity, archived, done.holdFrom);
  }

  #hold(identity: DatabaseIdentity, archived: Archived, from: number | undefined): void {
    const { hold, settings } = this.#options;
    if (from === undefined) {
      archived.held?.release();
      archived.held = undefined;
    } else if (archived.held === undefined) {
      const catchUp = () => this.#catchUp(identity);
      const need = { by: 'archive', fromOffset: from, bytesMax: settings.lagBytes, catchUp };
      archived.held = hold(identity, need);
    } else archived.held.progress(from);
  }

  /** A failure is reported once, until a pass succeeds. */
  #failed({ identity }: RegisteredDatabase, archived: Archived, error: unknown): void {
    archived.failures += 1;
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof BackupError && error.code === 'backup.otherHost') {
      archived.isStopped = true;
      archived.held?.release();
      archived.held = undefined;
    } else if (archived.isFailing) return;
    archived.isFailing = true;
    const level = isFileGone(error) ? 'warn' : 'error';
    this.#complain(identity, `it is not archived: ${message}`, level);
  }

  #complain(identity: DatabaseIdentity, problem: string, level: 'warn' | 'error' = 'error'): void {
    const message = `Database ${identityToHex(identity)}: ${problem}`;
    this.#options.report({ level, message });
  }

  #of(identity: DatabaseIdentity): Archived {
    const known = this.#databases.get(identity);
    if (known !== undefined) return known;
    const archived: Archived = {
      offset: -1,
      logBytes: 0,
      completeAt: this.#options.clock.monotonicMillis(),
      lagBytes: 0,
      hasGap: false,
      failures: 0,
      isFailing: false,
      isStopped: false,
      held: undefined,
    };
    this.#databases.set(identity, archived);
    return archived;
  }
}

/** A file of the log, not of the repository; errors come as text from another thread. */
function isFileGone(error: unknown): boolean {
  const isOfRepository = error instanceof BackupError;
  return error instanceof Error && !isOfRepository && /\bENOENT\b/.test(error.message);
}

/** The name of this service in archives, which a copy of its data folder has as well. */
async function hostId(directory: string): Promise<string> {
  const file = path.join(directory, 'archive-host');
  const known = (await readFileIfPresent(file))?.toString('utf8').trim();
  if (known !== undefined && /^[0-9a-f]{32}$/.test(known)) return known;
  const made = randomBytes(16).toString('hex');
  await writeFileAtomically(file, `${made}\n`);
  return made;
}
