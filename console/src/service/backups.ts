import { databasePath, requestJson } from './http.ts';
import { jobOf } from './jobs.ts';
import { type Json, type JsonObject, listOf, numberOf, objectOf, textOf } from './json.ts';

/** How far the history of a database reaches, and what it takes. */
export interface HistoryStatus {
  readonly offset: number;
  readonly durableOffset: number;
  /** The oldest commit that can be read; its time is `null` where it is not known. */
  readonly floor: { readonly offset: number; readonly millis: number | null };
  /** Bytes on disk by their kind. */
  readonly bytes: readonly (readonly [string, number])[];
  readonly segments: number;
  readonly snapshots: number;
  readonly newestSnapshot: {
    readonly offset: number;
    readonly millis: number;
    readonly bytes: number | null;
  } | null;
  readonly logBytesSince: number;
  readonly failures: number;
  /** What is kept, by the names of the settings. */
  readonly settings: readonly (readonly [string, string | number | null])[];
  /** Who holds history that would go otherwise. */
  readonly holds: readonly { readonly by: string; readonly from: number; readonly bytes: number }[];
}

/** `GET /v1/database/:db/history/status`. */
export async function readHistoryStatus(
  database: string,
  signal?: AbortSignal,
): Promise<HistoryStatus> {
  const path = databasePath(database, 'history', 'status');
  const body = objectOf(await requestJson(path, signal === undefined ? {} : { signal }));
  const floor = objectOf(body.floor);
  return {
    offset: count(body.offset),
    durableOffset: count(body.durable_offset),
    floor: { offset: count(floor.offset), millis: millisOf(floor.time) },
    bytes: Object.entries(objectOf(body.bytes)).map(([kind, bytes]) => [kind, count(bytes)]),
    segments: count(body.segments),
    snapshots: count(body.snapshots),
    newestSnapshot: snapshotOf(body.newest_snapshot),
    logBytesSince: count(body.log_bytes_since),
    failures: count(body.failures),
    settings: Object.entries(objectOf(body.settings)).map(([name, value]) => [
      name,
      typeof value === 'number' || value === null ? value : textOf(value),
    ]),
    holds: listOf(body.holds).map((each) => {
      const { by, from, bytes } = objectOf(each);
      return { by: textOf(by), from: count(from), bytes: count(bytes) };
    }),
  };
}

/** `POST /v1/database/:db/snapshot`: the id of the job that takes it. */
export async function takeSnapshot(database: string): Promise<string> {
  return jobOf(await requestJson(databasePath(database, 'snapshot'), { method: 'POST' }));
}

/** `POST /v1/database/:db/verify`: the id of the job that reads all files. */
export async function verifyFiles(database: string, isDeep: boolean): Promise<string> {
  const path = `${databasePath(database, 'verify')}?deep=${isDeep}`;
  return jobOf(await requestJson(path, { method: 'POST' }));
}

/** `POST /v1/database/:db/backup`: the id of the job that writes it. */
export async function backUp(
  database: string,
  order: { readonly repository: string; readonly history: boolean },
): Promise<string> {
  const { repository, history } = order;
  const body = { history, ...(repository === '' ? {} : { repository }) };
  return jobOf(await requestJson(databasePath(database, 'backup'), { method: 'POST', body }));
}

/** A backup of a repository that has this database. */
export interface Backup {
  readonly id: string;
  readonly millis: number;
  readonly offset: number;
  readonly totalBytes: number;
  readonly newBytes: number;
  readonly testedMillis: number | null;
  readonly fault: string | null;
}

/** `GET /v1/backups?repository=`, for operators: those with the database that has this name. */
export async function readBackups(
  repository: string,
  database: string,
  signal?: AbortSignal,
): Promise<readonly Backup[]> {
  const query = repository === '' ? '' : `?${new URLSearchParams({ repository })}`;
  const options = signal === undefined ? {} : { signal };
  const body = objectOf(await requestJson(`/v1/backups${query}`, options));
  return listOf(body.backups).flatMap((each) => {
    const backup = objectOf(each);
    const found = listOf(backup.databases)
      .map(objectOf)
      .find((one) => isOf(one, database));
    return found === undefined ? [] : [backupOf(backup, found)];
  });
}

function isOf({ identity, names }: JsonObject, database: string): boolean {
  return identity === database || listOf(names).includes(database);
}

function backupOf(backup: JsonObject, of: JsonObject): Backup {
  const fault = of.fault ?? backup.fault;
  return {
    id: textOf(backup.id),
    millis: millisOf(backup.time) ?? 0,
    offset: count(of.offset),
    totalBytes: count(backup.total_bytes),
    newBytes: count(backup.new_bytes),
    testedMillis: millisOf(backup.tested),
    fault: fault === null || fault === undefined ? null : textOf(fault),
  };
}

/** A log that a restore in place has replaced, and that can be brought back. */
export interface ReplacedLog {
  readonly number: number;
  readonly millis: number;
  readonly bytes: number;
}

/** `GET /v1/database/:db/backup/replaced`. */
export async function readReplaced(
  database: string,
  signal?: AbortSignal,
): Promise<readonly ReplacedLog[]> {
  const path = databasePath(database, 'backup', 'replaced');
  const body = objectOf(await requestJson(path, signal === undefined ? {} : { signal }));
  return listOf(body.replaced).map((each) => {
    const { number, replaced, bytes } = objectOf(each);
    return { number: count(number), millis: millisOf(replaced) ?? 0, bytes: count(bytes) };
  });
}

function snapshotOf(json: Json | undefined): HistoryStatus['newestSnapshot'] {
  if (json === null || json === undefined) return null;
  const { offset, begun, bytes } = objectOf(json);
  return { offset: count(offset), millis: millisOf(begun) ?? 0, bytes: numberOf(bytes) };
}

function count(json: Json | undefined): number {
  return numberOf(json) ?? 0;
}

/** Milliseconds, from microseconds since the Unix epoch; 0 means that nobody knows. */
function millisOf(json: Json | undefined): number | null {
  const micros = numberOf(json);
  return micros === null || micros === 0 ? null : micros / 1_000;
}
