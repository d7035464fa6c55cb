import { SqlFailure } from '../sql/failure.ts';
import { PinRevokedError } from '../store/table-pin.ts';
import type { DatabaseCore } from './core.ts';
import { hostLine } from './host-line.ts';
import type { SqlError } from './outcome.ts';

/** What a statement threw, for its caller. What is not the statement's fault is thrown again. */
export function sqlErrorOf(error: unknown): SqlError {
  if (error instanceof SqlFailure) return error.error;
  if (error instanceof PinRevokedError) return { code: 'sql.overBudget', message: error.message };
  throw error;
}

/**
 * The same where nothing was written: a bug of the engine, a stack that is too small for instance,
 * fails this request alone. Its cause goes into the module's log; the operator hears of it without
 * the words of the error, which may have values in them.
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
      `A bug of the service failed a statement: ${name}${frame.replace(/\s+/, ' ')}. ` +
        'Only its caller got an error, and nothing was changed. The module log has the rest.',
    );
    return {
      code: 'sql.internal',
      message: 'The statement failed inside the engine; nothing was changed. See the module log',
    };
  }
}
