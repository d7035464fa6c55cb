import type { Command } from 'commander';
import type { PrunedBackup, PruneReport } from '../../backup/prune.ts';
import { bytesText } from '../../values/bytes-text.ts';
import {
  namedRepository,
  openingKeys,
  type RepositoryFlags,
  withRepository,
} from '../backup-flags.ts';
import { countText } from '../count-text.ts';
import { CliError, confirm, type Io } from '../io.ts';
import { Session } from '../session.ts';
import { withYes } from '../shared-flags.ts';
import { drawTable } from '../sql-table.ts';
import { microsText } from '../time-text.ts';

interface PruneFlags extends RepositoryFlags {
  readonly keepLast?: string;
  readonly keepDaily?: string;
  readonly keepWeekly?: string;
  readonly keepMonthly?: string;
  readonly olderThan?: string;
  readonly force?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** Adds `backup prune`. */
export function addPrune(backup: Command, io: Io): void {
  withRepository(withYes(backup.command('prune')))
    .option('--keep-last <n>', 'keep the last backups of each database')
    .option('--keep-daily <n>', 'keep the last one of so many days')
    .option('--keep-weekly <n>', 'keep the last one of so many weeks')
    .option('--keep-monthly <n>', 'keep the last one of so many months')
    .option('--older-than <duration>', 'remove nothing that is younger')
    .option('--force', 'remove even the last backup of a database')
    .option('--dry-run', 'only say what would be removed')
    .option('--json', 'print JSON')
    .description('remove backups that are not kept, and what only they need')
    .action(async (flags: PruneFlags, command: Command) => {
      const session = new Session(io, command);
      const { openNamed } = await import('../../service/open-repository.ts');
      const { pruneIn } = await import('../../service/offline-backups.ts');
      const named = namedRepository(session, flags);
      const repository = await openNamed(named, await openingKeys(session, flags));
      const policy = await policyOf(flags);
      const plan = await pruneIn(repository, policy, true);
      const text = pruneText(plan);
      for (const fault of plan.faults) io.err(fault);
      if (flags.json !== true) io.out(text);
      if (flags.dryRun === true || (plan.removed.length === 0 && plan.objectCount === 0)) {
        if (flags.json === true) io.out(pruneJson(plan));
        requireAllRead(plan);
        return;
      }
      if (!(await confirm(io, 'Remove them?', session.answersYes('delete-data')))) {
        io.out('Aborting: nothing was removed.');
        return;
      }
      const report = await pruneIn(repository, policy, false);
      io.out(flags.json === true ? pruneJson(report) : 'Removed.');
      requireAllRead(report);
    });
}

/** Why no object was removed was said before. */
function requireAllRead({ faults }: PruneReport): void {
  if (faults.length === 0) return;
  const what = countText(faults.length, 'file');
  throw new CliError(`${what} of the repository cannot be read: no object was removed`, 3);
}

function pruneText({ removed, kept, objectCount, objectBytes }: PruneReport): string {
  const row = (what: string) => (one: PrunedBackup) => [one.id, microsText(one.timeMicros), what];
  const rows = [...removed.map(row('remove')), ...kept.map(row('keep'))];
  const table = drawTable({ header: ['BACKUP', 'TIME', ''], rows });
  const objects = `${countText(objectCount, 'object')} (${bytesText(objectBytes)})`;
  const counts = `${countText(removed.length, 'backup')} to remove, ${kept.length} to keep`;
  return `${table}\n${counts}; ${objects} that nothing needs any more.`;
}

/** Times are microseconds since the Unix epoch. */
function pruneJson(report: PruneReport): string {
  const { removed, kept, objectCount, objectBytes, uploadCount, faults } = report;
  const shown = ({ id, timeMicros }: PrunedBackup) => ({ id, time: timeMicros });
  return JSON.stringify({
    ...{ removed: removed.map(shown), kept: kept.map(shown) },
    ...{ objects: objectCount, bytes: objectBytes, uploads: uploadCount, faults },
  });
}

async function policyOf(flags: PruneFlags) {
  const { parseDuration } = await import('../../doors/duration.ts');
  const older = flags.olderThan === undefined ? undefined : parseDuration(flags.olderThan);
  if (flags.olderThan !== undefined && older === undefined) {
    throw new CliError('--older-than must be a duration, such as 7d', 2);
  }
  return {
    keepLast: countIn('--keep-last', flags.keepLast),
    keepDaily: countIn('--keep-daily', flags.keepDaily),
    keepWeekly: countIn('--keep-weekly', flags.keepWeekly),
    keepMonthly: countIn('--keep-monthly', flags.keepMonthly),
    olderThanMicros: older === undefined ? undefined : older * 1_000,
    isForced: flags.force,
  };
}

function countIn(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new CliError(`${flag} must be a whole number`, 2);
}
