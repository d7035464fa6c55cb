import type { DatabaseIdentity } from '../values/identity-roles.ts';
import type { Disk } from './disk.ts';
import { readDurableMark } from './durable-mark.ts';
import { repair } from './recover.ts';
import { onlyChecked } from './snapshot-start.ts';
import { walkLog } from './walk.ts';

export interface AcceptLossOptions {
  readonly databaseIdentity: DatabaseIdentity;
  /** The last commit to keep, where the log will end. */
  readonly offset: number;
  /** Receives full sentences about what was set aside. */
  readonly warn: (message: string) => void;
}

export type AcceptLossOutcome =
  /** `missing`: commits known to be lost; `undefined` if their number is unknown. */
  | { readonly kind: 'accepted'; readonly reason: string; readonly missing: number | undefined }
  | { readonly kind: 'refused'; readonly message: string };

/**
 * Turns a log that lacks its end, or whose records are damaged from some place on, into one that
 * ends where its valid records do. What follows them is kept beside the log, and the mark then says
 * that the log ends there. Refuses, and changes nothing, if no loss was found or the log ends at
 * another offset; throws `LogDamageError` if the log has other damage, or is forked. After a crash
 * it can be run again.
 */
export async function acceptLoss(
  disk: Disk,
  { databaseIdentity, offset, warn }: AcceptLossOptions,
): Promise<AcceptLossOutcome> {
  const onRecord = (): void => undefined;
  const snapshots = onlyChecked;
  const walked = walkLog(disk, { databaseIdentity, onRecord, snapshots, acceptsLoss: true });
  if (walked.kind !== 'log') return refused('its log is gone; restore it from a backup');
  const { log } = walked;
  if (log.lost === undefined) return refused(`its log, up to offset ${log.offset}, is complete`);
  if (log.offset !== offset) return refused(`its log ends at offset ${log.offset}, not ${offset}`);
  if (offset === 0) return refused('its log holds no program; restore it from a backup');
  const mark = readDurableMark(disk);
  if (mark.kind === 'version') return refused('a later version of reducerdb has written to it');
  const known = mark.kind === 'valid' ? mark.end.offset : undefined;
  const last = Math.max(known ?? 0, log.tail?.survivorOffset ?? 0);
  const missing = known !== undefined || last > offset ? Math.max(last - offset, 0) : undefined;
  const { file, mark: lowered } = await repair(disk, log, warn);
  file.close();
  lowered?.close();
  return { kind: 'accepted', reason: log.lost, missing };
}

function refused(message: string): AcceptLossOutcome {
  return { kind: 'refused', message };
}
