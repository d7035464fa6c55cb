import { deepFindings, filesSetAside, verifyIndexes } from '../../history/verify-history.ts';
import { limits } from '../../limits.ts';
import { type Disk, DiskError } from '../../log/disk.ts';
import { verifyLog, verifySnapshots, withStart } from '../../log/verify.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import { frozenDisk } from './frozen-disk.ts';
import type { HistoryFinding } from './history-task.ts';

export interface VerifyOptions {
  /** What was durable when the check was asked for. */
  readonly durableOffset: number;
  /** Replays the log, too, and compares it with its snapshots. */
  readonly isDeep: boolean;
  /** Called with the bytes of each reading; may wait. */
  readonly read: (bytes: number) => void;
}

/**
 * Reads the files of a log while its database serves: all segments up to their present end, and
 * each snapshot. A pass over the history can remove and replace files meanwhile: what then seems
 * to be missing or damaged is read again, as it is by now. Throws if that never ends.
 */
export function verifyFiles(
  disk: Disk,
  identity: DatabaseIdentity,
  options: VerifyOptions,
): readonly HistoryFinding[] {
  for (let triesLeft = limits.verifyTriesMax; triesLeft > 0; triesLeft--) {
    const frozen = frozenDisk(disk, options.durableOffset, options.read);
    try {
      const findings = findingsOf(frozen, identity, options);
      const areGood = findings.every(({ state }) => state === 'intact' || state === 'set aside');
      if (areGood || !frozen.hasChanged()) return findings;
    } catch (error) {
      if (!(error instanceof DiskError) || !frozen.hasChanged()) throw error;
    }
  }
  throw new Error('The history was shortened or packed each time it was read; try again');
}

function findingsOf(
  frozen: Disk,
  identity: DatabaseIdentity,
  { isDeep }: VerifyOptions,
): readonly HistoryFinding[] {
  const snapshots = verifySnapshots(frozen, identity).map(({ name, kind, detail }) => {
    return { name, state: kind, detail } satisfies HistoryFinding;
  });
  const log = logFinding(frozen, identity);
  const deep = isDeep && log.state === 'intact' ? deepFindings(frozen, identity) : [];
  return [
    log,
    ...snapshots,
    ...[...verifyIndexes(frozen), ...deep, ...filesSetAside(frozen)].map(
      ({ name, kind, detail }) => {
        return { name, state: kind === 'aside' ? 'set aside' : kind, detail } as const;
      },
    ),
  ];
}

function logFinding(disk: Disk, identity: DatabaseIdentity): HistoryFinding {
  const report = withStart(verifyLog(disk, identity), disk, identity);
  const name = 'log';
  switch (report.kind) {
    case 'absent':
      return { name, state: 'damaged', detail: 'there is no segment' };
    case 'damaged':
    case 'forked':
      return { name, state: 'damaged', detail: report.error.message };
    // What is being written now is not whole yet.
    case 'torn':
    case 'intact': {
      const { segmentCount, recordCount, offset } = report.contents;
      const detail = `${recordCount} records in ${segmentCount} segments, up to commit ${offset}`;
      return { name, state: 'intact', detail };
    }
  }
}
