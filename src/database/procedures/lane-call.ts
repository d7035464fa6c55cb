import { laneCodes, type ReducerEnd } from '../../module/lane.ts';
import { DecodeError } from '../../values/binary-reader.ts';
import type { ProgramReducer } from '../call-result.ts';
import type { DatabaseCore } from '../core.ts';
import { runReducer, type TransactionOutcome } from '../run-reducer.ts';
import type { LaneRequest } from './lane-desk.ts';
import { nowOf, writeRefusalOf } from './lane-transaction.ts';
import { noteCommitted, type RunningCall } from './running-call.ts';

export type ReducerRequest = Extract<LaneRequest, { readonly kind: 'reducer' }>;

/**
 * Runs a reducer for a procedure or a handler, as its caller, in a transaction of its own.
 * Private reducers can be called, since it is the module that calls them.
 */
export function runLaneCall(
  core: DatabaseCore,
  call: RunningCall,
  { reducerId, args }: ReducerRequest,
): ReducerEnd {
  const refusal = writeRefusalOf(core, call);
  if (refusal !== undefined) return { kind: 'failed', message: refusal };
  const reducer = core.program.reducersById[reducerId];
  if (reducer === undefined || reducer.lifecycle !== undefined) return wrong;
  if (!fits(reducer, args)) return { kind: 'code', code: laneCodes.undecodable };
  const outcome = runReducer(core, {
    reducer,
    sender: call.caller.identity,
    connectionId: call.connectionId,
    timestampMicros: nowOf(core),
    args,
    jwtPayload: call.caller.jwtPayload,
    isOfProcedure: true,
    place: () =>
      `called by the ${call.job.kind === 'handler' ? 'handler' : 'procedure'} ${call.name}`,
  });
  if (outcome.kind === 'returned') noteCommitted(call, core.store.offset, outcome.rows);
  return endOf(outcome);
}

const wrong: ReducerEnd = { kind: 'code', code: laneCodes.failed };

function fits(reducer: ProgramReducer, args: Uint8Array): boolean {
  try {
    reducer.checkArguments(args);
    return true;
  } catch (error) {
    if (error instanceof DecodeError) return false;
    throw error;
  }
}

function endOf(outcome: TransactionOutcome): ReducerEnd {
  switch (outcome.kind) {
    case 'returned': {
      const { value } = outcome;
      return value === undefined ? { kind: 'returned' } : { kind: 'returned', value };
    }
    case 'refused':
      return outcome;
    case 'crashed':
    case 'overQuota':
    case 'notKept':
      return { kind: 'failed', message: outcome.message };
  }
}
