import type { Clock } from '../../database/clock.ts';
import { FolderSpace } from '../../node/folder-space.ts';
import type { Report } from '../../node/report-line.ts';
import type { Access } from '../registry/access.ts';
import type { AuditLog } from '../registry/audit-log.ts';
import type { DatabaseFiles } from '../registry/database-files.ts';
import {
  type HistoryChoice,
  registryHistory,
  settingsInForce,
} from '../registry/history-choice.ts';
import { type Registry, registryIdentity } from '../registry/registry.ts';
import { HistoryControl, type HistoryTurn } from './history-control.ts';
import type { HistoryHolds } from './history-holds.ts';
import { HistoryKeeper } from './history-keeper.ts';
import type { Jobs } from './jobs.ts';
import type { RunningDatabases } from './running-databases.ts';
import { SnapshotControl } from './snapshot-control.ts';

export interface HistoriesOptions {
  readonly clock: Clock;
  /** Absent: databases are kept in memory, and have no history. */
  readonly directory?: string | undefined;
  /** What is kept; what is absent has the default. */
  readonly history?: HistoryChoice;
  readonly report: Report;
}

interface Neighbours {
  readonly registry: Registry;
  readonly access: Access;
  readonly audit: AuditLog;
  readonly running: RunningDatabases;
  readonly jobs: Jobs;
  readonly holds: HistoryHolds;
  readonly files: DatabaseFiles;
  readonly turns: { readonly inHistoryTurn: HistoryTurn };
}

/** Snapshots, what is kept of histories, and what keeps it so; it begins at once. */
export function openHistories(
  { clock, directory, history: configured = {}, report }: HistoriesOptions,
  neighbours: Neighbours,
) {
  const { registry, running, holds, files } = neighbours;
  const space = directory === undefined ? undefined : new FolderSpace(directory);
  const historyKeeper = new HistoryKeeper({
    ...{ holds, clock, report, files },
    databases: () => [{ identity: registryIdentity, handle: registry.handle }, ...running.handles],
    settingsOf: (database) =>
      database === registryIdentity
        ? registryHistory
        : settingsInForce(configured, registry.history.of(database)),
    space: () => space?.space(),
  });
  const isKept = directory !== undefined;
  if (isKept) historyKeeper.start();
  const snapshots = new SnapshotControl({ ...neighbours, isKept });
  const shared = { ...neighbours, clock, keeper: historyKeeper, configured, isKept };
  return { snapshots, history: new HistoryControl(shared), historyKeeper };
}
