import { unreachable } from '../assert.ts';
import { type CallError, fatalErrorText } from '../database/outcome.ts';
import { lifecycleText } from '../doors/json-call.ts';

/** Returns the error text that the caller of a failed reducer is sent. */
export function callErrorText(error: CallError): string {
  switch (error.code) {
    case 'reducer.unknown':
      return 'no such reducer';
    case 'reducer.lifecycle':
      return lifecycleText(error.lifecycle);
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
      return error.message;
    case 'schema.changed':
      return 'the database was published again while it was called; call again';
    default:
      return unreachable(error);
  }
}
