import { mkdir, rm } from 'node:fs/promises';
import { type MessagePort, parentPort } from 'node:worker_threads';
import { present, unreachable } from '../../assert.ts';
import { DatabaseArchive } from '../../backup/archive.ts';
import { BackupError } from '../../backup/backup-error.ts';
import { fetchFiles, fetchRestore } from '../../backup/fetch.ts';
import { planRestore } from '../../backup/holdings.ts';
import { listBackups, listedArchives } from '../../backup/list.ts';
import { StoreError } from '../../backup/object-store.ts';
import { type Repository, requireRecipients } from '../../backup/repository.ts';
import { limits } from '../../limits.ts';
import { canLowerNiceness, setNiceness } from '../../node/child-priority.ts';
import { MachineDisk } from '../../node/disk.ts';
import { privateFolderMode } from '../../node/private-files.ts';
import { systemThreadId } from '../../node/thread-faults.ts';
import type { JobProgress } from '../databases/jobs.ts';
import type {
  ArchivedDatabase,
  BackupOrder,
  BackupResults,
  BackupWork,
  CancelBackup,
  FromBackupThread,
} from './backup-messages.ts';
import { beginRestored } from './begin-restored.ts';
import { copyLog } from './copy-log.ts';
import { createBackup, sourceOf } from './create-backup.ts';
import { openedRepository, readableRepository } from './opened-repository.ts';

/**
 * Runs the thread that reads and writes repositories: it hashes, compresses and encrypts what it
 * sends. It knows no database but by the files that the gateway names, and ends when it has had
 * nothing to do for a while.
 */
const parent = present(parentPort, 'this file runs in a worker thread');
const threadId = systemThreadId();
/** A tenth of the weight of this process, and a seventieth; databases have a third. */
const [niceness, backupNiceness] = [10, 19] as const;
if (threadId !== 0) setNiceness(threadId, niceness);
const canBeRanked = threadId !== 0 && canLowerNiceness(threadId);
let openCount = 0;
let backupCount = 0;
let idle: NodeJS.Timeout | undefined;

parent.on('message', (order: BackupOrder) => {
  const isBackup = order.work.kind === 'create';
  openCount += 1;
  if (isBackup) backupCount += 1;
  rank();
  clearTimeout(idle);
  void serve(order).finally(() => {
    order.port.close();
    openCount -= 1;
    if (isBackup) backupCount -= 1;
    rank();
    if (openCount === 0) rest();
  });
});
rest();

/**
 * Databases come first. A backup takes what they leave; an archive must not fall behind them, and
 * a restore has somebody who waits.
 */
function rank(): void {
  const isForBackupsOnly = openCount > 0 && backupCount === openCount;
  if (canBeRanked) setNiceness(threadId, isForBackupsOnly ? backupNiceness : niceness);
}

async function serve({ port, repository, work }: BackupOrder): Promise<void> {
  const abort = new AbortController();
  port.on('message', (_: CancelBackup) => abort.abort());
  port.on('close', () => abort.abort());
  const send = (message: FromBackupThread) => port.postMessage(message);
  try {
    const report = paced(port);
    const named = () => present(repository, 'a repository for this work');
    const open = () => {
      const isRead = work.kind === 'plan' || work.kind === 'fetch';
      const openIt = isRead ? readableRepository : openedRepository;
      return openIt(named(), abort.signal);
    };
    const recipients = repository?.recipients ?? [];
    const result = await run(open, work, { recipients, signal: abort.signal, report });
    send({ kind: 'done', result });
  } catch (error) {
    send(failureOf(error));
  }
}

interface Running {
  /** Of the configuration. */
  readonly recipients: readonly string[];
  readonly signal: AbortSignal;
  readonly report: (progress: JobProgress) => void;
}

async function run(
  open: () => Promise<Repository>,
  work: BackupWork,
  running: Running,
): Promise<BackupResults[keyof BackupResults]> {
  switch (work.kind) {
    case 'create':
      return createBackup(await open(), work, running);
    case 'plan':
      return planRestore(await open(), work.request);
    case 'archive':
      return archive(await open(), work, running);
    case 'list': {
      const repository = await open();
      const backups = await listBackups(repository);
      return { backups, archives: await listedArchives(repository) };
    }
    case 'describe': {
      const { read: _, ...described } = await sourceOf(work.database);
      return described;
    }
    case 'copy':
      return copyLog(work.from, work.directory);
    case 'begin':
      return beginRestored(work);
    case 'fetch': {
      const { plan, directory, folder, withLogs, freeBytes } = work;
      const { signal, report } = running;
      const repository = await open();
      const fetched = await fetchRestore(repository, plan, directory, {
        signal,
        freeBytes,
        onProgress: ({ bytesDone: done, bytesTotal: total }) => {
          report({ phase: 'fetching', done, total });
        },
      });
      try {
        const { source, identity, files: all } = fetched.plan;
        const files = all.filter((file) => withLogs || !file.path.startsWith('module-logs/'));
        await mkdir(folder, { recursive: true, mode: privateFolderMode });
        await fetchFiles(repository, { source, identity, files }, folder, { signal });
      } catch (error) {
        await rm(directory, { recursive: true, force: true });
        throw error;
      }
      return fetched;
    }
    default:
      return unreachable(work);
  }
}

/** What is known of archives; when the thread has ended, it is read again. */
const archives = new Map<string, DatabaseArchive>();

async function archive(
  repository: Repository,
  { host, database, lagBytesMax }: Extract<BackupWork, { readonly kind: 'archive' }>,
  { recipients, signal }: Running,
): Promise<ArchivedDatabase> {
  requireRecipients(repository, recipients);
  const key = `${repository.facts.id} ${database.identity}`;
  const known = archives.get(key) ?? new DatabaseArchive(repository, host);
  archives.set(key, known);
  known.use(repository);
  const disk = new MachineDisk(database.directory);
  const { read, end, identity, record, lineage, files } = await sourceOf(database);
  const source = { identity, record, lineage, disk, end, files, readFile: read };
  const report = await known.pass(source, { nowMicros: Date.now() * 1_000, signal });
  return { ...report, holdFrom: known.holdFrom(end, lagBytesMax) };
}

/** Reports at most once in a while. */
function paced(port: MessagePort): (progress: JobProgress) => void {
  let next = 0;
  return (progress) => {
    if (performance.now() < next) return;
    next = performance.now() + limits.backupProgressMillis;
    port.postMessage({ kind: 'progress', progress } satisfies FromBackupThread);
  };
}

function failureOf(error: unknown): FromBackupThread {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof BackupError) return { kind: 'failed', code: error.code, message };
  const code = error instanceof StoreError ? 'backup.place' : undefined;
  return { kind: 'failed', code, message };
}

function rest(): void {
  idle = setTimeout(() => parent.close(), limits.snapshotThreadIdleMillis);
}
