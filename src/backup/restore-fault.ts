import { BackupError } from './backup-error.ts';
import { ObjectFault, type Repository } from './repository.ts';
import type { RestorePlan } from './restore-plan.ts';
import { type WantedBackup, wholeBackupBefore } from './whole-backup.ts';

/** Says of which backup an object is, and which earlier one could be used instead. */
export async function explained(
  repository: Repository,
  plan: Pick<RestorePlan, 'source'> & WantedBackup,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof ObjectFault)) return error;
  const { source, identity, isWhole } = plan;
  const what = source.kind === 'backup' ? `backup ${source.id}` : `the archive ${source.name}`;
  const whole = await wholeBackupBefore(repository, source.timeMicros, { identity, isWhole });
  const advice =
    whole === undefined ? 'no backup before it is whole' : `the newest whole one is ${whole.id}`;
  const text = `${what} cannot be restored: ${error.message}; ${advice}`;
  const code = error.kind === 'missing' ? 'backup.missing' : 'backup.damaged';
  return new BackupError(code, text, error);
}
