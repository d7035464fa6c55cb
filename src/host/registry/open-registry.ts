import type { Clock } from '../../database/clock.ts';
import type { Entropy } from '../../database/entropy.ts';
import { Refusal } from '../../database/outcome.ts';
import type { SnapshotDesk } from '../../database/snapshots/snapshot-desk.ts';
import { limits } from '../../limits.ts';
import type { Disk } from '../../log/disk.ts';
import { commandEnd } from '../../log/log-error.ts';
import { verifyLog } from '../../log/verify.ts';
import type { RunnerContext } from '../../module/runner.ts';
import { MachineDisk } from '../../node/disk.ts';
import { FolderSpace } from '../../node/folder-space.ts';
import { MemoryDisk } from '../../node/memory-disk.ts';
import type { Report } from '../../node/report-line.ts';
import type { WriterPlace } from '../../node/writer-mark.ts';
import { programHash } from '../linking/program-hash.ts';
import type { HostCluster } from '../replication/host-cluster.ts';
import { HistoryDesk } from '../seats/history-desk.ts';
import type { HistoryAnswer, HistoryTask } from '../seats/history-task.ts';
import { LocalSeat } from '../seats/local-seat.ts';
import type { SeatMode } from '../seats/seat.ts';
import type { ProgramSource } from '../supervision/database-handle.ts';
import { SupervisedDatabase } from '../supervision/supervised-database.ts';
import { type DatabaseFiles, RegistryError } from './database-files.ts';
import { isOfLaterVersion } from './look-at-registry.ts';
import { Registry, registryIdentity, registryOwner } from './registry.ts';
import { RegistryCopy } from './registry-copy.ts';
import { RegistryRunner, registryProgram } from './registry-module.ts';

/** Time for an older registry to add its new tables. */
const registryMillisMax = 60_000;

/** Takes snapshots of the registry, and works on its history. */
export interface RegistryKeeping {
  readonly snapshotDesk: SnapshotDesk;
  history(task: HistoryTask, signal: AbortSignal): Promise<HistoryAnswer>;
  close(): Promise<void>;
}

/** What the registry's database needs of a host's options. */
export interface RegistryOptions {
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly report: Report;
  readonly writer?: WriterPlace | undefined;
  /** Absent: its log is kept whole, and read whole by the next opening. */
  readonly keeping?: RegistryKeeping | undefined;
  /** The cluster whose registry it is; absent: that of this host alone. */
  readonly cluster?: HostCluster | undefined;
}

/**
 * Opens the registry's database in this thread, or creates it. `disk` holds its log, if the files
 * do not. Rejects with `RegistryError` when it cannot.
 */
export async function openRegistry(
  options: RegistryOptions,
  files: DatabaseFiles,
  disk = diskOf(files, options),
): Promise<Registry> {
  const program = { kind: 'js', bytes: registryProgram() } as const;
  if (isOfLaterVersion(disk, program.bytes)) {
    await options.keeping?.close();
    throw laterVersionError(files.registry);
  }
  const copy = options.cluster && copyFor(options.cluster, options);
  const database = registryDatabase(options, files, program, disk, copy);
  const telling = options.cluster && tellWaiting(options.cluster, options.report);
  try {
    await database.started();
    return await Registry.open(database, {
      ...{ keeping: options.keeping, copy },
      // A registry of an earlier version lacks tables; the same program does nothing.
      renew: async () => {
        // A host of an earlier version may lead it next, and knows none but its own.
        if (options.cluster?.readRestarts?.() === false) return;
        const permission = { policy: 'compatible', token: undefined } as const;
        await database.update(program, permission, registryMillisMax);
      },
    });
  } catch (cause) {
    await database.close();
    await options.keeping?.close();
    throw registryError(files.registry, cause);
  } finally {
    clearTimeout(telling);
  }
}

/** Says what a host that starts waits for; the timer is for its end. */
function tellWaiting({ engine }: HostCluster, report: Report): NodeJS.Timeout {
  const begun = performance.now();
  const tell = async (): Promise<void> => {
    const trouble = await engine?.findTrouble();
    const why =
      trouble === undefined
        ? 'the engine answers; either the log is read, or no host leads the registry yet'
        : `the engine says: ${trouble}`;
    const seconds = Math.round((performance.now() - begun) / 1_000);
    const message = `The host is not ready: it waits ${seconds} s for the registry's log; ${why}`;
    report({ level: 'warn', message });
  };
  const timer = setTimeout(() => {
    void tell();
    timer.refresh();
  }, limits.startWaitTellMillis);
  return timer.unref();
}

/**
 * Opens a copy of the registry in memory, so that the one in the files, or in `directory`, stays as
 * it is. Rejects with `RegistryError`.
 */
export function openRegistryCopy(
  { clock, entropy }: Pick<RegistryOptions, 'clock' | 'entropy'>,
  files: DatabaseFiles,
  directory = files.registry,
): Promise<Registry> {
  const options = { clock, entropy, report: () => undefined };
  if (directory === undefined) return openRegistry(options, files);
  return openRegistry(options, files, copyOf(new MachineDisk(directory)));
}

function copyOf(disk: MachineDisk): MemoryDisk {
  const copy = new MemoryDisk();
  for (const name of disk.list()) {
    const file = disk.open(name, 'existing');
    const bytes = new Uint8Array(file.size());
    file.read(bytes, 0);
    file.close();
    copy.open(name, 'create').write(bytes, 0);
  }
  return copy;
}

function registryError(directory: string | undefined, cause: unknown): RegistryError {
  const text = cause instanceof Error ? cause.message : String(cause);
  if (cause instanceof Refusal && cause.body.code.startsWith('migration.')) {
    return laterVersionError(directory, { cause });
  }
  if (directory === undefined || !isDamaged(directory)) {
    return new RegistryError(`${directory}: ${text}`, { cause });
  }
  const advice = `\`reducerdb verify${commandEnd} checks every log; restore this from a backup.`;
  return new RegistryError(`${directory}: ${text}. ${advice}`, { cause });
}

function laterVersionError(directory: string | undefined, options?: ErrorOptions): RegistryError {
  const message =
    `${directory} was written by a later version of reducerdb, and this one does not know all ` +
    'of its tables. Start that version or a later one, or put back a copy of the data folder ' +
    'from before that version was started';
  return new RegistryError(message, options);
}

/** Whether the log itself is at fault, rather than its disk or how its folder was put there. */
function isDamaged(directory: string): boolean {
  try {
    const { kind } = verifyLog(new MachineDisk(directory), registryIdentity);
    return kind === 'damaged' || kind === 'forked';
  } catch {
    // Something else keeps it from being read, and the error says so already.
    return false;
  }
}

function diskOf({ registry }: DatabaseFiles, { writer }: Pick<RegistryOptions, 'writer'>): Disk {
  return registry === undefined ? new MemoryDisk() : new MachineDisk(registry, { writer });
}

function copyFor(cluster: HostCluster, { report }: Pick<RegistryOptions, 'report'>): RegistryCopy {
  const identity = registryIdentity;
  const database = { identity, ownerIdentity: registryOwner, generation: 0 };
  const complain = (problem: string): void => {
    report({ level: 'error', message: `The registry: ${problem}` });
  };
  return new RegistryCopy({ cluster, database, report: complain });
}

/** Opens the database alone; `program` is used to create it when there is none. */
export function registryDatabase(
  { clock, entropy, report, writer, keeping }: RegistryOptions,
  files: DatabaseFiles,
  program: ProgramSource,
  disk = diskOf(files, { writer }),
  copy?: RegistryCopy,
): SupervisedDatabase {
  const seat = {
    member: copy?.place,
    identity: registryIdentity,
    ownerIdentity: registryOwner,
    disk,
    clock,
    entropy,
    loaderFor:
      () =>
      ({ bytes }: ProgramSource, { store }: RunnerContext) =>
        Promise.resolve(new RegistryRunner(store, bytes)),
    hash: programHash,
    statementMillisMax: limits.callMillisMax,
    ...(keeping !== undefined && {
      snapshotDesk: keeping.snapshotDesk,
      history: (task: HistoryTask, signal: AbortSignal) => keeping.history(task, signal),
      historyDesk: new HistoryDesk(),
    }),
  };
  const mode: SeatMode = { kind: 'openOrCreate', program, createdMicros: clock.nowMicros() };
  return new SupervisedDatabase(
    {
      identity: registryIdentity,
      clock,
      hash: programHash,
      takeSeat: (start, events) => {
        const taken = new LocalSeat(seat, start, events);
        return copy?.sits(taken) ?? taken;
      },
      ...(copy !== undefined && { role: (role) => copy.noteRole(role) }),
      examine: ({ bytes }) => Promise.resolve(bytes),
      lines: () => undefined,
      space: files.registry === undefined ? undefined : new FolderSpace(files.registry),
      report: (level, message, about) => {
        report({
          level,
          message: `The registry ${message}`,
          ...(about !== undefined && { about }),
        });
      },
      warn: (sentence) => report({ level: 'warn', message: `The registry: ${sentence}` }),
    },
    mode,
  );
}
