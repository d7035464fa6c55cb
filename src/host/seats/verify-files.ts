import { deepFindings, filesSetAside, verifyIndexes } from '../../history/verify-history.ts';
import type { Disk } from '../../log/disk.ts';
import { verifyLog, verifySnapshots, withStart } from '../../log/verify.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import { type FrozenReading, readFrozen } from './frozen-disk.ts';
import type { HistoryFinding } from './history-task.ts';

export interface VerifyOptions extends FrozenReading {
  /** Replays the log, too, and compares it with its snapshots. */
  readonly isDeep: boolean;
}

/**
 * Reads the files of a log while its database serves: all segments up to their present end, and
 * each snapshot. What seems to be missing or damaged after files have changed is read again, as it
 * is by now. Throws if that never ends.
 */
export function verifyFiles(
  disk: Disk,
  identity: DatabaseIdentity,
  options: VerifyOptions,
): readonly HistoryFinding[] {
  const findings = (frozen: Disk) => findingsOf(frozen, identity, options);
  return readFrozen(disk, options, findings, areGood);
}

function areGood(findings: readonly HistoryFinding[]): boolean {
  return findings.every(({ state }) => state === 'intact' || state === 'set aside');
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
