import type { SqlOutcome, SqlRequest } from '../database/outcome.ts';
import type { DatabaseHandle } from '../host/supervision/database-handle.ts';
import { temporaryConnection } from '../host/supervision/temporary-connection.ts';
import type { Stay } from './stay.ts';

/** How long a statement is wanted. */
export interface StatementWanted {
  /** Aborted when no one waits for it any more. */
  readonly abandoned: AbortSignal;
  /** The stay of its caller. */
  readonly stay: Stay;
}

/**
 * Runs a statement in a connection of its own. When no one waits for it any more, or its caller has
 * lost the role or the token with which it was accepted, a long-running statement ends with that
 * connection, unless it is committed already.
 */
export async function runStatement(
  handle: Pick<DatabaseHandle, 'query' | 'disconnect'>,
  request: Omit<SqlRequest, 'connection'>,
  { abandoned, stay }: StatementWanted,
): Promise<SqlOutcome> {
  // The caller may have sent its statement slowly.
  let { fault } = stay;
  if (fault !== undefined) return revoked(fault, 0);
  const connection = temporaryConnection();
  const running = handle.query({ ...request, connection });
  // A database that cannot be reached has ended its reads itself.
  const giveUp = () => void handle.disconnect(connection.id).catch(() => undefined);
  if (abandoned.aborted) giveUp();
  abandoned.addEventListener('abort', giveUp);
  const forget = stay.onFault((reason) => {
    fault ??= reason;
    giveUp();
  });
  try {
    const outcome = await running;
    if (fault === undefined || outcome.kind === 'result') return outcome;
    return revoked(fault, outcome.micros);
  } finally {
    forget();
    abandoned.removeEventListener('abort', giveUp);
  }
}

function revoked(fault: string, micros: number): SqlOutcome {
  const message = `The statement was stopped before its end: ${fault}. Nothing was changed`;
  return { kind: 'failed', error: { code: 'sql.notAuthorized', message }, micros };
}
