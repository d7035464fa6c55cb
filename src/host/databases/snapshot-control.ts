import type {
  SnapshotFigures,
  SnapshotOutcome,
} from '../../database/snapshots/snapshot-outcome.ts';
import type { Access } from '../registry/access.ts';
import type { AuditLog } from '../registry/audit-log.ts';
import type { DatabaseRecord } from '../registry/database-record.ts';
import type { HostCaller } from '../registry/host-caller.ts';
import type { DatabaseHandle } from '../supervision/database-handle.ts';
import { historyOff } from './history-control.ts';
import type { JobProgress, Jobs } from './jobs.ts';

export interface SnapshotControlOptions {
  readonly access: Access;
  readonly audit: AuditLog;
  readonly jobs: Jobs;
  /** False: databases are in memory. */
  readonly isKept: boolean;
}

type Target = DatabaseRecord & { readonly handle: DatabaseHandle };

/** Takes snapshots of databases on request. */
export class SnapshotControl {
  readonly #options: SnapshotControlOptions;

  constructor(options: SnapshotControlOptions) {
    this.#options = options;
  }

  /** Returns the id of the job that takes one. */
  async take(by: HostCaller, { identity, handle, ...record }: Target): Promise<string> {
    const { access, audit, jobs } = this.#options;
    access.require(by, { identity, ...record }, 'maintain');
    if (!this.#options.isKept) throw historyOff();
    const job = jobs.start(by, {
      kind: 'snapshot',
      database: identity,
      run: async (signal) => resultOf(await handle.snapshot(signal)),
      progress: () => progressOf(handle.statistics().snapshots),
    });
    const detail = { job };
    const note = { action: 'take snapshot', caller: by, database: identity, detail } as const;
    await audit.note({ ...note, outcome: 'done' });
    return job;
  }
}

function resultOf(outcome: SnapshotOutcome): Readonly<Record<string, unknown>> {
  switch (outcome.kind) {
    case 'taken': {
      const { offset, bytes, rowCount, millis } = outcome;
      return { taken: true, offset, bytes, rows: rowCount, seconds: millis / 1_000 };
    }
    case 'kept':
      return { taken: false, offset: outcome.offset };
    case 'failed':
      throw new Error(outcome.message);
    default:
      throw new Error('The snapshot was not taken');
  }
}

function progressOf({ rowCount, rowsRead }: SnapshotFigures): JobProgress {
  if (rowCount === 0) return { phase: 'waiting', done: 0, total: 0 };
  return { phase: rowsRead < rowCount ? 'reading' : 'writing', done: rowsRead, total: rowCount };
}
