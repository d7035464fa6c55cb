import { unreachable } from '../assert.ts';
import { type CallError, fatalErrorText, type ProcedureError } from '../database/outcome.ts';
import type { Lifecycle } from '../schema/definition.ts';

/** The text for a caller who names a reducer that does not exist, or that is not theirs to call. */
export const noSuchReducerText = 'no such reducer';

/** `noSuchReducerText` where the name could have been that of a procedure. */
export const noSuchProcedureText = 'No such procedure';

/** What stands between the text of an error and a hint, in a plain text that has both. */
export const hintLine = '\nhint: ';

/**
 * Returns the text for the caller of a call that did not commit. It is the same over each door,
 * except where the door's interface has words of its own.
 */
export function callErrorText(error: CallError): string {
  switch (error.code) {
    case 'reducer.unknown':
      return noSuchReducerText;
    case 'reducer.notCallable':
      return `can't directly call special ${lifecycleWords[error.lifecycle]} lifecycle reducer`;
    case 'reducer.crashed':
      return fatalErrorText;
    case 'arguments.invalid':
    case 'reducer.refused':
    case 'reducer.refusedWithValue':
    case 'reducer.refusedWithoutValue':
    case 'reducer.overBudget':
    case 'quota.exceeded':
    case 'call.readOnly':
    case 'connection.refused':
    case 'idempotency.refused':
    case 'idempotency.tooMany':
      return error.message;
    case 'schema.changed':
      return schemaChangedText;
    default:
      return unreachable(error);
  }
}

export const schemaChangedText = 'the database was published again while it was called; call again';

/** `callErrorText` for a procedure. */
export function procedureErrorText(error: ProcedureError): string {
  switch (error.code) {
    case 'procedure.unknown':
      return noSuchProcedureText;
    case 'procedure.failed':
      return `The module instance encountered a fatal error: ${error.message}`;
    case 'procedure.overBudget':
      return 'Procedure terminated due to insufficient budget';
    case 'arguments.invalid':
    case 'procedure.stopped':
    case 'procedure.busy':
    case 'call.readOnly':
    case 'connection.refused':
      return error.message;
    case 'schema.changed':
      return schemaChangedText;
    default:
      return unreachable(error);
  }
}

const lifecycleWords: Readonly<Record<Lifecycle, string>> = {
  init: 'Init',
  onConnect: 'OnConnect',
  onDisconnect: 'OnDisconnect',
};
