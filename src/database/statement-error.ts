import { SqlFailure } from '../sql/failure.ts';
import { PinRevokedError } from '../store/table-pin.ts';
import type { DatabaseCore } from './core.ts';
import { hostLine } from './host-line.ts';
import type { SqlError } from './outcome.ts';

/** Converts a statement's exception for its caller. Rethrows what is not the statement's fault. */
export function sqlErrorOf(error: unknown): SqlError {
  if (error instanceof SqlFailure) return error.error;
  if (error instanceof PinRevokedError) return { code: 'sql.overBudget', message: error.message };
  throw error;
}

/**
 * Like `sqlErrorOf`, for when nothing was written: a bug of the engine, such as a stack overflow,
 * fails this request alone. Its cause goes into the module's log; the operator is notified without
 * the text of the error, which can contain values.
 */
export function readErrorOf(
  { report, warn }: Pick<DatabaseCore, 'report' | 'warn'>,
  error: unknown,
): SqlError {
  try {
    return sqlErrorOf(error);
  } catch {
    const cause = error instanceof Error ? (error.stack ?? error.message) : String(error);
    report(hostLine('error', `A statement failed inside the engine: ${cause}`));
    const name = error instanceof Error ? error.name : typeof error;
    const [frame = ''] = /\n +at .*/.exec(cause) ?? [];
    warn(
      `A bug in the service made a statement fail: ${name}${frame.replace(/\s+/, ' ')}. ` +
        'Its caller got an error, and nothing was changed. The module log has the details.',
    );
    return {
      code: 'sql.internal',
      message: 'The statement failed inside the engine; nothing was changed. See the module log',
    };
  }
}
