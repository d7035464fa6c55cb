import type { ListedArchive, ListedBackup } from '../../backup/list.ts';
import type { LogPoint } from '../../backup/manifest.ts';
import { limits } from '../../limits.ts';
import { identityToHex } from '../../values/identity.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { ListedRepository } from './backup-messages.ts';

/** A position as it is shown everywhere: epoch, offset and the low half of the chain hash. */
export function positionText({ epoch, offset, chain }: LogPoint): string {
  return `${epoch}.${offset}.${chain.slice(8)}`;
}

/** A repository as lists show it, as JSON. Times are microseconds since the Unix epoch. */
export function shownRepository({ backups, archives }: ListedRepository) {
  return { backups: backups.map(shownBackup), archives: archives.map(shownArchive) };
}

function shownBackup(one: ListedBackup) {
  return {
    ...{ id: one.id, time: one.timeMicros, whole: one.isWhole },
    databases: one.databases.map(({ identity, names, end, fault }) => ({
      ...{ identity, names, position: positionText(end), offset: end.offset, time: end.micros },
      fault: fault === '' ? null : fault,
    })),
    ...{ total_bytes: one.totalBytes, new_bytes: one.newBytes },
    ...{ read: one.readMicros ?? null, tested: one.testedMicros ?? null },
    fault: one.fault === '' ? null : one.fault,
  };
}

function shownArchive(one: ListedArchive) {
  return {
    ...{ name: one.name, identity: one.identity, names: one.names, line: one.line },
    windows: one.windows.map(({ from, to, untilMicros }) => ({
      ...{ from: positionText(from), from_time: from.micros },
      ...{ to: positionText(to), to_time: untilMicros },
    })),
    total_bytes: one.totalBytes,
    fault: one.fault === '' ? null : one.fault,
  };
}

/**
 * What a repository holds of one database, without what a backup has besides. Bytes stay those of
 * whole backups; manifests that cannot be read are of nobody.
 */
export function partOf(
  { backups, archives }: ListedRepository,
  database: DatabaseIdentity,
): ListedRepository {
  const identity = identityToHex(database);
  return {
    backups: backups.flatMap((backup) => {
      const databases = backup.databases.filter((one) => one.identity === identity);
      return databases.length === 0 ? [] : [{ ...backup, databases }];
    }),
    archives: archives.filter((one) => one.identity === identity),
  };
}

/** The backups of one database for an agent, the newest first; their number is bounded. */
export function backupLines({ backups }: ListedRepository) {
  return backups
    .flatMap((backup) => {
      const [found] = backup.databases;
      if (found === undefined) return [];
      const time = new Date(Math.floor(backup.timeMicros / 1_000)).toISOString();
      const position = positionText(found.end);
      const { id, totalBytes: bytes, testedMicros } = backup;
      return [{ id, time, position, bytes, tested: testedMicros !== undefined }];
    })
    .slice(0, limits.agentBackupsMax);
}
