import { EngineError } from '../../shared-log/shared-log.ts';
import type { PostgresDirectory, PostgresState } from './postgres-directory.ts';
import type { Sessions } from './sessions.ts';
import { standbyCount } from './standby-count.ts';

/** Why PostgreSQL takes no commits, as far as it says; `undefined`: nothing is known against it. */
export async function troubleOf(
  directory: Pick<PostgresDirectory, 'state'>,
  { fault }: Pick<Sessions, 'fault'>,
): Promise<string | undefined> {
  let state: PostgresState;
  try {
    state = await directory.state();
  } catch (error) {
    return error instanceof EngineError ? error.message : fault;
  }
  const { standbyNames, isReadOnly, standbys, acknowledging } = state;
  if (isReadOnly) return 'PostgreSQL is read-only (default_transaction_read_only)';
  const named = `synchronous_standby_names names ${standbyNames}`;
  if (acknowledging >= standbyCount(standbyNames)) {
    // A standby that is paused, or cut off, is listed for a while.
    const mayWait = fault !== undefined && acknowledging > 0;
    return mayWait ? `${fault}; ${named}, which may not acknowledge` : fault;
  }
  const there = standbys === 1 ? '1 standby is' : `${standbys} standbys are`;
  return (
    `no standby acknowledges: ${named}, and ${there} connected, ` +
    `of which ${acknowledging} acknowledge`
  );
}
