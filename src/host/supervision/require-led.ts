import type { SqlOutcome } from '../../database/outcome.ts';
import { notLeaderRefusal } from '../replication/not-leader.ts';

/**
 * Another host may have led a database of a cluster while a statement was read here: what it gave
 * is let out once it is proved that this host led afterwards, or leads still. Throws
 * `database.notLeader` if not. What was written has its own proof.
 */
export async function requireLed(
  outcome: SqlOutcome,
  provesRead: (() => Promise<boolean>) | undefined,
): Promise<void> {
  if (provesRead === undefined || outcome.kind !== 'result') return;
  if (outcome.inserted + outcome.deleted + outcome.updated > 0) return;
  if (!(await provesRead())) throw notLeaderRefusal(undefined);
}
