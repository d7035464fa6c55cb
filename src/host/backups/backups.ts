import type { Clock } from '../../database/clock.ts';
import { limits } from '../../limits.ts';
import type { Report } from '../../node/report-line.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { HoldHistory } from '../databases/history-holds.ts';
import type { Jobs } from '../databases/jobs.ts';
import type { RunningDatabases } from '../databases/running-databases.ts';
import type { Access } from '../registry/access.ts';
import type { AuditLog } from '../registry/audit-log.ts';
import type { DatabaseFiles, ReplacedLog } from '../registry/database-files.ts';
import type { HostCaller } from '../registry/host-caller.ts';
import type { KnownSchedules } from '../registry/known-schedules.ts';
import type { Quotas } from '../registry/quotas.ts';
import type { Registry } from '../registry/registry.ts';
import type { RegisteredDatabase } from '../registry/registry-rows.ts';
import { type ArchiveFigures, Archiver, type ArchiveSettings } from './archiver.ts';
import { BackupControl } from './backup-control.ts';
import type { RepositorySettings } from './backup-messages.ts';
import { BackupThread } from './backup-thread.ts';
import { Repositories } from './repositories.ts';
import { RestoreControl, type RestoreControlOptions } from './restore-control.ts';

export interface BackupsOptions {
  readonly access: Access;
  readonly audit: AuditLog;
  readonly jobs: Jobs;
  readonly registry: Registry;
  readonly running: RunningDatabases;
  readonly files: DatabaseFiles;
  readonly quotas: Quotas;
  readonly schedules: KnownSchedules;
  readonly issuer: string;
  readonly directory: string | undefined;
  readonly clock: Clock;
  readonly report: Report;
  readonly repositories?: readonly RepositorySettings[];
  readonly keepReplacedMillis?: number;
  readonly program?: string;
  readonly archive?: ArchiveSettings | undefined;
  /** The folder of the keys that sign tokens; absent: there are none to back up. */
  readonly keyDirectory?: string | undefined;
}

/** What backups need of other parts of the host. */
export interface BackupNeighbours extends Pick<RestoreControlOptions, 'turns' | 'sites'> {
  readonly isForeign: (database: DatabaseIdentity) => boolean;
  readonly hold: HoldHistory;
}

/** Backups and restores of the databases of a host, and the logs that restores have replaced. */
export class Backups {
  readonly control: BackupControl;
  readonly restores: RestoreControl;
  readonly #options: BackupsOptions;
  readonly #thread = new BackupThread();
  readonly #archiver: Archiver | undefined;
  #timer: NodeJS.Timeout | undefined;

  static open(options: BackupsOptions, neighbours: BackupNeighbours): Backups {
    const backups = new Backups(options, neighbours);
    void backups.#forgetReplaced();
    return backups;
  }

  private constructor(options: BackupsOptions, { isForeign, hold, ...others }: BackupNeighbours) {
    const { clock, running, directory, program = 'reducerdb' } = options;
    this.#options = options;
    const parts = {
      ...options,
      repositories: new Repositories(options.repositories),
      thread: this.#thread,
    };
    this.control = new BackupControl({
      ...parts,
      program,
      directory,
      keyDirectory: options.keyDirectory,
      isForeign,
      hold,
      handleOf: (database) => running.find(database)?.handle,
      hasCopy: (database) => running.hasCopy(database),
      isKept: directory !== undefined,
      nowMillis: () => Number(clock.nowMicros() / 1_000n),
    });
    const { archive } = options;
    if (archive !== undefined && directory !== undefined) {
      this.#archiver = new Archiver({
        ...parts,
        directory,
        settings: archive,
        hold,
        handleOf: (database) => running.find(database)?.handle,
        describe: (database, end) => this.control.backedUp(database, end),
      });
    }
    this.restores = new RestoreControl({
      ...parts,
      ...others,
      nowMicros: () => clock.nowMicros(),
    });
  }

  /** The logs that restores in place have replaced. Action `back up database`. */
  replaced(by: HostCaller, database: RegisteredDatabase): readonly ReplacedLog[] {
    this.#options.access.require(by, database, 'backUp');
    return this.#options.files.replaced(database.identity);
  }

  /** How the archive of a database is; `undefined`: it is not archived. */
  archived(database: DatabaseIdentity): ArchiveFigures | undefined {
    return this.#archiver?.figures(database);
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#archiver?.close();
    await this.#thread.close();
  }

  async #forgetReplaced(): Promise<void> {
    const { registry, files, clock, report } = this.#options;
    const { keepReplacedMillis = limits.replacedKeptMillis } = this.#options;
    const before = Number(clock.nowMicros() / 1_000n) - keepReplacedMillis;
    for (const { identity } of registry.databases) {
      try {
        await files.forgetReplaced(identity, before);
      } catch (error) {
        report({ level: 'warn', message: `A replaced log stays: ${String(error)}` });
      }
    }
    this.#timer = setTimeout(() => void this.#forgetReplaced(), limits.replacedLookMillis);
    this.#timer.unref();
  }
}
