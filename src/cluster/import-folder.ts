import { existsSync, readFileSync, renameSync } from 'node:fs';
import path from 'node:path';
import type { Clock } from '../database/clock.ts';
import type { Entropy } from '../database/entropy.ts';
import { NotWholeError, WholeLog } from '../host/offline/whole-log.ts';
import { DatabaseFiles } from '../host/registry/database-files.ts';
import { openRegistryCopy } from '../host/registry/open-registry.ts';
import {
  conflictsOf,
  nameOf,
  partOf,
  type RegistryContent,
  type RegistryPart,
  restOf,
} from '../host/registry/registry-content.ts';
import { databaseOf, type RegisteredDatabase } from '../host/registry/registry-rows.ts';
import { readSharedRegistry } from '../host/registry/shared-registry.ts';
import { decodeServed } from '../host/sites/served-site.ts';
import { limits } from '../limits.ts';
import { removeFileDurably, writeFileAtomically } from '../node/atomic-file.ts';
import { syncDirectory } from '../node/disk.ts';
import type { Report } from '../node/report-line.ts';
import type { HostId } from '../shared-log/host-ids.ts';
import { ImportError, importLog } from '../shared-log/import-log.ts';
import { type ClusterId, logName } from '../shared-log/log-name.ts';
import type { SharedLog } from '../shared-log/shared-log.ts';
import { bytesText } from '../values/bytes-text.ts';
import { JsonError } from '../values/json-error.ts';
import { ClusterError } from './cluster-error.ts';
import { drawBootId } from './host-file.ts';

/** A folder whose databases are to become databases of a cluster. */
export interface ImportedFolder {
  readonly dataDirectory: string;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly report: Report;
}

/** Where they are to go. */
export interface ImportGoal {
  readonly cluster: ClusterId;
  readonly host: HostId;
  readonly name: string;
  readonly engine: SharedLog;
  readonly entryBytesMax: number;
  readonly history: string;
}

/** What the registry of the cluster still has to be told, when the logs are stored. */
export interface RegistryImport {
  readonly parts: readonly RegistryPart[];
  /** All of it is in the cluster. */
  done(): Promise<void>;
}

const markName = 'import.json';
const asideName = 'registry-imported';

/** True while the folder's databases are in the cluster as far as their logs, or were begun. */
export function isImportUnderWay(folder: string): boolean {
  return existsSync(path.join(folder, markName));
}

/**
 * Stores the logs of all databases of a folder in the engine of a cluster, whose registry does not
 * name them yet. The folder stays as it is, and can still be started alone. Interrupted, it is done
 * again from where it was. Rejects with `ClusterError` if one of them cannot be imported: then
 * nothing was stored, unless the reason came up on the way.
 */
export async function storeLogs(folder: ImportedFolder, goal: ImportGoal): Promise<void> {
  const { dataDirectory, report } = folder;
  const content = await contentOf(folder, 'registry');
  const theirs = await readSharedRegistry(goal.engine, goal.cluster, folder);
  const conflicts = theirs === undefined ? [] : conflictsOf(content, theirs);
  const files = new DatabaseFiles(dataDirectory);
  const databases = (content.get('database') ?? []).map(databaseOf);
  const logs: OpenedLog[] = [];
  report({ level: 'info', message: `import: checking ${databases.length} databases` });
  try {
    for (const database of databases) {
      const shown = nameOf(content, database.identity);
      const found = openLog(files, database, dataDirectory);
      if (typeof found === 'string') conflicts.push(`${shown}: ${found}`);
      else logs.push({ database, shown, log: found });
    }
    if (conflicts.length > 0) throw new ClusterError(refusedText(dataDirectory, conflicts));
    for (const [at, one] of logs.entries()) {
      await store(one, goal, progress(report, one, { at, count: logs.length }));
      one.log.close();
    }
  } finally {
    for (const { log } of logs) log.close();
  }
  const count = logs.length === 1 ? '1 database' : `${logs.length} databases`;
  report({ level: 'info', message: `import: the logs of ${count} are in the cluster` });
}

/** From now on the folder is to be that of a host; `storeLogs` has ended well before. */
export async function markImport(folder: string): Promise<void> {
  await writeFileAtomically(path.join(folder, markName), '{"version":1}\n', 0o600);
}

/**
 * What is left to do in a folder that was marked: its registry goes aside, and what it knows is for
 * the cluster's.
 */
export async function registryImport(folder: ImportedFolder): Promise<RegistryImport> {
  const { dataDirectory, report } = folder;
  const aside = path.join(dataDirectory, asideName);
  if (!existsSync(aside)) {
    renameSync(path.join(dataDirectory, 'registry'), aside);
    await syncDirectory(dataDirectory);
  }
  const content = await contentOf(folder, asideName);
  const databases = (content.get('database') ?? []).map(databaseOf);
  return {
    parts: [restOf(content), ...databases.map(({ identity }) => partOf(content, identity))],
    done: async () => {
      await removeFileDurably(path.join(dataDirectory, markName));
      const message = `import: done. The list of databases of before is kept as ${aside}`;
      report({ level: 'info', message });
    },
  };
}

async function contentOf(
  { dataDirectory, clock, entropy }: ImportedFolder,
  name: string,
): Promise<RegistryContent> {
  const files = new DatabaseFiles(dataDirectory);
  const registry = await openRegistryCopy(
    { clock, entropy },
    files,
    path.join(dataDirectory, name),
  );
  try {
    return await registry.content();
  } finally {
    await registry.close();
  }
}

interface OpenedLog {
  readonly database: RegisteredDatabase;
  readonly shown: string;
  readonly log: WholeLog;
}

/** A text says why it cannot be imported. */
function openLog(
  files: DatabaseFiles,
  database: RegisteredDatabase,
  root: string,
): WholeLog | string {
  const directory = files.logDirectory(database.identity, database.generation) ?? root;
  const served = path.join(path.dirname(directory), 'static', 'served.json');
  if (existsSync(served) && hasFiles(served)) return staticText;
  try {
    return WholeLog.open(directory, database);
  } catch (error) {
    if (!(error instanceof NotWholeError)) throw error;
    return error.message;
  }
}

/** A record that cannot be read may be of some. */
function hasFiles(served: string): boolean {
  try {
    return decodeServed(readFileSync(served, 'utf8')).setId !== undefined;
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return true;
  }
}

async function store(
  { database, shown, log }: OpenedLog,
  { cluster, host, name, engine, entryBytesMax, history }: ImportGoal,
  onPosition: (position: number) => void,
): Promise<void> {
  // A boot of its own: who leads afterwards says where it is reached.
  const me = { host, boot: drawBootId(), name, address: '', history, format: 1 };
  try {
    await importLog({
      ...{ sharedLog: engine, source: log, me, entryBytesMax, onPosition },
      log: logName(cluster, database.identity, database.generation),
      pause: (millis) => new Promise((resolve) => setTimeout(resolve, millis)),
    });
  } catch (error) {
    if (!(error instanceof ImportError)) throw error;
    throw new ClusterError(`${shown} cannot be imported: ${error.message}.`, { cause: error });
  }
}

/** A line when a database begins, and then one every few seconds. */
function progress(
  report: Report,
  { shown, log }: OpenedLog,
  { at, count }: { readonly at: number; readonly count: number },
): (position: number) => void {
  const all = bytesText(log.end.position);
  let toldAt = Number.NEGATIVE_INFINITY;
  return (position) => {
    const now = performance.now();
    if (now - toldAt < limits.importTellMillis) return;
    toldAt = now;
    const done = `${bytesText(position)} of ${all}`;
    const message = `import: database ${at + 1} of ${count}, ${shown}: ${done}`;
    report({ level: 'info', message });
  };
}

function refusedText(folder: string, conflicts: readonly string[]): string {
  const shown = conflicts.slice(0, limits.importConflictsShown).map((one) => `\n- ${one}.`);
  const more = conflicts.length - shown.length;
  const rest = more > 0 ? `\n- and ${more} more` : '';
  return (
    `${folder} was not imported, and nothing was changed:${shown.join('')}${rest}\n` +
    'Start the folder without --cluster to rename or delete databases.'
  );
}

const staticText =
  'it serves static files, which an import does not bring along. Start the folder alone, and ' +
  'publish it with --delete-static; publish them again when it is in the cluster';
