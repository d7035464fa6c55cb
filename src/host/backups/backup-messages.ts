import type { MessagePort } from 'node:worker_threads';
import type { ArchiveReport } from '../../backup/archive.ts';
import type { BackupErrorCode } from '../../backup/backup-error.ts';
import type { FetchedLog } from '../../backup/fetch.ts';
import type { RestoreRequest } from '../../backup/holdings.ts';
import type { ListedArchive, ListedBackup } from '../../backup/list.ts';
import type { LocalFile } from '../../backup/local-source.ts';
import type { DatabaseRecord, LineagePoint, LogPoint } from '../../backup/manifest.ts';
import type { RestorePlan } from '../../backup/restore-plan.ts';
import type { S3Keys, S3Settings } from '../../backup/s3-settings.ts';
import type { DatabaseSource } from '../../backup/ship.ts';
import type { JobProgress } from '../databases/jobs.ts';
import type { BegunLog, RestoredLog } from './begin-restored.ts';

/** A repository that the operator has named in the configuration. */
export interface RepositorySettings extends S3Settings {
  readonly name: string;
  /** A folder, or `s3://bucket/prefix`. */
  readonly url: string;
  readonly recipients: readonly string[];
  /** Path of a file with keys that open it, for restores; absent: the service cannot read it. */
  readonly identityFile?: string | undefined;
  /** Secrets of the store, from variables or a file; never shown. */
  readonly keys?: S3Keys | undefined;
}

/** A database whose files are in a folder of this machine, as it is to be backed up. */
export interface BackedUpDatabase {
  readonly identity: string;
  readonly record: DatabaseRecord;
  /** Folder of its log. */
  readonly directory: string;
  readonly files: readonly LocalFile[];
  readonly end: DatabaseEnd;
  /** True if a process that a module may have taken over can write to the folder. */
  readonly isForeign: boolean;
}

/**
 * Where a backup of a database ends. `sealed`: the caller knows. `offset`: at a commit that is in
 * sealed segments. `files`: nobody has the log open, and its files say how far it reaches.
 */
export type DatabaseEnd =
  | { readonly kind: 'sealed'; readonly at: LogPoint }
  | { readonly kind: 'offset'; readonly offset: number }
  | { readonly kind: 'files'; readonly fault: string };

/** What the thread does, in a repository. */
export type BackupWork =
  | {
      readonly kind: 'create';
      readonly databases: readonly BackedUpDatabase[];
      /** Files of the host itself. */
      readonly files: readonly LocalFile[];
      /** True if they have keys, which only an encrypted repository takes. */
      readonly hasKeys: boolean;
      readonly isWhole: boolean;
      readonly withHistory: boolean;
      readonly program: string;
    }
  | { readonly kind: 'plan'; readonly request: RestoreRequest }
  | {
      readonly kind: 'fetch';
      readonly plan: RestorePlan;
      /** Made for the log; its parent is there. */
      readonly directory: string;
      /** Where files beside the log go; it is made if need be. */
      readonly folder: string;
      /** False: the logs of its module are left out. */
      readonly withLogs: boolean;
      readonly freeBytes: number | undefined;
    }
  | { readonly kind: 'list' }
  /** One pass of the archive of a database. */
  | {
      readonly kind: 'archive';
      /** Names this service: 32 hexadecimal digits. */
      readonly host: string;
      readonly database: BackedUpDatabase;
      readonly lagBytesMax: number;
    }
  /** Needs no repository, and neither does `copy`. */
  | { readonly kind: 'describe'; readonly database: BackedUpDatabase }
  | { readonly kind: 'copy'; readonly from: string; readonly directory: string }
  /** Needs none either, but memory for all of a database. */
  | ({ readonly kind: 'begin' } & RestoredLog);

export type CreateWork = Extract<BackupWork, { readonly kind: 'create' }>;

/** What came of it. */
export interface BackupResults {
  readonly create: CreatedBackup;
  readonly plan: RestorePlan;
  readonly fetch: FetchedLog;
  readonly list: ListedRepository;
  readonly archive: ArchivedDatabase;
  readonly describe: DescribedDatabase;
  readonly copy: LineagePoint;
  readonly begin: BegunLog;
}

/** `holdFrom`: the first commit that the archive still needs of the log. */
export interface ArchivedDatabase extends ArchiveReport {
  readonly holdFrom: number | undefined;
}

/** All that a backup of a database consists of, but the bytes. */
export type DescribedDatabase = Omit<DatabaseSource, 'read'>;

export interface ListedRepository {
  readonly backups: readonly ListedBackup[];
  readonly archives: readonly ListedArchive[];
}

export interface CreatedBackup {
  readonly id: string;
  readonly timeMicros: number;
  readonly newObjects: number;
  readonly newBytes: number;
  /** Bytes of all objects of the backup, as they are stored. */
  readonly bytes: number;
  readonly databases: readonly {
    readonly identity: string;
    readonly names: readonly string[];
    readonly end: LogPoint;
    readonly fault: string;
  }[];
}

/** To the thread that works on repositories: one piece of work, with a port of its own. */
export interface BackupOrder {
  readonly port: MessagePort;
  /** Absent: the work needs none. */
  readonly repository: RepositorySettings | undefined;
  readonly work: BackupWork;
}

/** To the thread, through that port: the work is not wanted any more. */
export interface CancelBackup {
  readonly kind: 'cancel';
}

export type FromBackupThread =
  | { readonly kind: 'progress'; readonly progress: JobProgress }
  | { readonly kind: 'done'; readonly result: BackupResults[keyof BackupResults] }
  /** `code`: absent if it is not the user who can do something about it. */
  | {
      readonly kind: 'failed';
      readonly code: BackupErrorCode | undefined;
      readonly message: string;
    };
