import type { SqlOutcome, SqlRequest } from '../database/outcome.ts';
import type { DatabaseHandle } from './database-handle.ts';
import { temporaryConnection } from './temporary-connection.ts';

/**
 * Runs a statement in a connection of its own. When nobody waits for it any more, a read that goes
 * on for long ends with that connection; what is written stays.
 */
export function runStatement(
  handle: DatabaseHandle,
  request: Omit<SqlRequest, 'connection'>,
  abandoned: AbortSignal,
): Promise<SqlOutcome> {
  const connection = temporaryConnection();
  const outcome = handle.query({ ...request, connection });
  // A database that cannot be told has ended its reads itself.
  const giveUp = () => void handle.disconnect(connection.id).catch(() => undefined);
  if (abandoned.aborted) giveUp();
  abandoned.addEventListener('abort', giveUp);
  return outcome.finally(() => abandoned.removeEventListener('abort', giveUp));
}
