import type { CallError, ProcedureError } from '../database/outcome.ts';
import { callErrorText, procedureErrorText } from '../doors/call-error-text.ts';

/**
 * A reducer did not commit, or a procedure did not return. `message` is the text a client gets;
 * `code` distinguishes the cases; `error` is the value that the reducer rejected the call with, if
 * it threw a `CallError`.
 */
export class CallFailed<Thrown = unknown> extends Error {
  override readonly name = 'CallFailed';
  readonly code: CallError['code'] | ProcedureError['code'];
  readonly error: Thrown;
  /** Canonical name of the function that was called. */
  readonly called: string;

  constructor(cause: CallError | ProcedureError, called: string, error?: Thrown) {
    super(textOf(cause));
    this.code = cause.code;
    this.called = called;
    // Only the module says what a call is rejected with, and the test knows the module.
    this.error = error as Thrown;
  }
}

/** Carries the type of the value that a function can reject a call with. */
export interface MayThrow<Thrown> {
  /** Canonical name of the function. */
  readonly calledName: string;
  readonly thrown?: Thrown;
}

/**
 * Whether `error` is a rejection by this reducer with a value of the type that it declares as
 * `throws`; if so, `error.error` has that type.
 *
 * ```ts
 * const failed = await db.reducers.reserve({ seat: 7 }).catch((error) => error);
 * if (isCallFailed(failed, db.reducers.reserve)) console.log(failed.error.tag);
 * ```
 */
export function isCallFailed<Thrown>(
  error: unknown,
  call: MayThrow<Thrown>,
): error is CallFailed<Thrown> {
  if (!(error instanceof CallFailed) || error.code !== 'reducer.refusedWithValue') return false;
  return error.called === call.calledName;
}

/** A statement was rejected, or a watched query has ended; `message` is the text a client gets. */
export class QueryFailed extends Error {
  override readonly name = 'QueryFailed';
}

function textOf(cause: CallError | ProcedureError): string {
  return isOfProcedure(cause) ? procedureErrorText(cause) : callErrorText(cause);
}

/** Where both have the code, their texts are the same. */
function isOfProcedure(cause: CallError | ProcedureError): cause is ProcedureError {
  return cause.code.startsWith('procedure.');
}
