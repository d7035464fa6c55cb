import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import path from 'node:path';
import { BackupError } from '../../backup/backup-error.ts';
import { Refusal } from '../../database/outcome.ts';
import { limits } from '../../limits.ts';
import { privateFolderMode } from '../../node/private-files.ts';
import { beginBehind, claimLog } from '../../shared-log/begin-log.ts';
import { bootId } from '../../shared-log/host-ids.ts';
import type { ImportedLog } from '../../shared-log/import-log.ts';
import { type LogName, logName } from '../../shared-log/log-name.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { RunningDatabases } from '../databases/running-databases.ts';
import type { DatabaseFiles } from '../registry/database-files.ts';
import type { RegisteredDatabase } from '../registry/registry-rows.ts';
import { untilTaken } from '../replication/engine-state.ts';
import type { HostCluster } from '../replication/host-cluster.ts';
import { notLeaderRefusal } from '../replication/not-leader.ts';
import { BackupThread } from './backup-thread.ts';
import type { BegunLog } from './begin-restored.ts';

export interface SharedRestoreOptions {
  /** Absent: this host is alone. */
  readonly cluster?: HostCluster | undefined;
  readonly files: DatabaseFiles;
  readonly running: RunningDatabases;
}

/** Of a database whose log is made. */
export type Generation = Pick<RegisteredDatabase, 'identity' | 'owner' | 'generation'>;

/**
 * What a restore does besides in a cluster, where the registry does not name the generation yet:
 *
 * ```
 *  fetched into `log-<n>/fetched` ─▶ `log-<n>`, at a snapshot ─▶ entry 0 of the generation's log in
 *  the engine ─▶ the snapshot, where hosts share them ─▶ the rest of that log
 * ```
 *
 * On a single machine the log stays as it was fetched.
 */
export class SharedRestore {
  readonly #options: SharedRestoreOptions;
  /** Logs in the engine that this host has begun, and that no registry names yet. */
  readonly #claimed = new Set<LogName>();

  constructor(options: SharedRestoreOptions) {
    this.#options = options;
  }

  /** An error with the host that has it: each has repositories and disks of its own. */
  named(error: Error): Error {
    const { cluster } = this.#options;
    if (cluster === undefined) return error;
    const message = `${error.message} (at host ${cluster.me.name})`;
    if (error instanceof BackupError) return new BackupError(error.code, message, error);
    if (error instanceof Refusal) return new Refusal({ ...error.body, message }, { cause: error });
    return new Error(message, { cause: error });
  }

  /** Throws `Refusal` where hosts could not share what is restored. */
  requirePossible(): void {
    const { cluster } = this.#options;
    if (cluster === undefined) return;
    const fault = cluster.storeSnapshot === undefined ? noPlaceText : undefined;
    const message = cluster.readRestarts?.() === false ? earlierHostText : fault;
    if (message !== undefined) throw new Refusal({ code: 'backup.invalid', message });
  }

  /** Throws `Refusal` `database.notLeader` unless this host leads it: others have later commits. */
  requireLead(database: DatabaseIdentity): void {
    const { cluster, running } = this.#options;
    const role = running.roles.of(database);
    if (cluster === undefined || role.kind === 'leader') return;
    throw notLeaderRefusal(role.kind === 'follower' ? role : undefined);
  }

  /** Where the log of a generation is fetched to; nothing is there. */
  async fetchFolder({ identity, generation }: Generation): Promise<string> {
    const { cluster, files, running } = this.#options;
    const directory = files.logDirectory(identity, generation) ?? '';
    if (cluster === undefined) return directory;
    await running.makeLogDirectory(identity, generation);
    return path.join(directory, 'fetched');
  }

  /**
   * Takes the static files of a new database out of its folder, where no host would find them;
   * returns the folder that has them now. `undefined`: they are where they are served from.
   */
  async siteBeside(folder: string): Promise<string | undefined> {
    const [from, to] = [path.join(folder, 'static'), path.join(folder, 'beside', 'static')];
    if (this.#options.cluster === undefined || !existsSync(from)) return undefined;
    await mkdir(path.dirname(to), { mode: privateFolderMode });
    await rename(from, to);
    return to;
  }

  /** Makes what was fetched the log of a generation that hosts share. */
  async share(generation: Generation): Promise<void> {
    const { cluster, files } = this.#options;
    if (cluster === undefined) return;
    const { identity } = generation;
    const directory = files.logDirectory(identity, generation.generation) ?? '';
    const from = await this.fetchFolder(generation);
    // Of its own: it has all rows in memory for a moment.
    const thread = new BackupThread(limits.restoreHeapMebibytes);
    const work = { kind: 'begin', identity, from, directory } as const;
    const begun = await thread.run(undefined, work).finally(() => thread.close());
    await untilTaken(cluster.engine);
    await this.#store(cluster, generation, directory, begun);
  }

  /** The generation does not count, and nobody has begun to say that it does. */
  async undone({ identity, generation }: Generation): Promise<void> {
    const { cluster } = this.#options;
    if (cluster === undefined) return;
    const log = logName(cluster.cluster, identity, generation);
    // Of another host's attempt this one removes nothing.
    if (!this.#claimed.delete(log)) return;
    // What stays is no generation's, and goes with the next one that is made.
    await cluster.sharedLog.remove(log).catch(() => undefined);
  }

  async #store(
    cluster: HostCluster,
    { identity, owner, generation }: Generation,
    directory: string,
    { segmentHeader, snapshot: name, point }: BegunLog,
  ): Promise<void> {
    const { sharedLog, entryBytesMax } = cluster;
    const log = logName(cluster.cluster, identity, generation);
    const beginning = { segmentHeader, owner, generation, origin: new Uint8Array(0) };
    const source: ImportedLog = {
      ...{ beginning, end: point, writesBehind: () => [] },
      chainAt: (position) => (position === point.position ? point.chain : undefined),
    };
    // A boot of its own, which gives the term to this host before anybody knows of the log.
    const boot = bootId(BigInt(`0x${randomBytes(16).toString('hex')}`));
    const next = { ...cluster.me, history: cluster.history() };
    const me = { ...next, boot, address: '' };
    const pause = (millis: number) => new Promise<void>((resolve) => setTimeout(resolve, millis));
    const options = { sharedLog, log, source, me, next, entryBytesMax, pause };
    // First, so that what is stored lies under a name that is this attempt's alone.
    const last = await claimLog(options);
    this.#claimed.add(log);
    await cluster.storeSnapshot?.(log, { directory, name, point, seq: 0 });
    await beginBehind(options, { last, point, term: 0 });
  }

  /** The registry names the generation, or may. */
  decided({ identity, generation }: Generation): void {
    const { cluster } = this.#options;
    if (cluster !== undefined) this.#claimed.delete(logName(cluster.cluster, identity, generation));
  }
}

const noPlaceText =
  'The hosts of this cluster share what is restored where they share snapshots, and have no ' +
  'place for these. Its operator starts all hosts with --snapshots';

const earlierHostText =
  'A host of an earlier version is in the cluster, which cannot read a log that begins at a ' +
  'snapshot. Upgrade all hosts first';
