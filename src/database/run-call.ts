import { unreachable } from '../assert.ts';
import { DecodeError } from '../values/binary-reader.ts';
import type { ProgramReducer } from './call-result.ts';
import { type DatabaseCore, requireSpace } from './core.ts';
import { hostLine } from './host-line.ts';
import { type KeptAnswer, runKeyed } from './keyed-call.ts';
import {
  type Connecting,
  connectClient,
  disconnectClient,
  endLeftover,
  tryConnection,
} from './lifecycle.ts';
import {
  type CallError,
  type Caller,
  type CallOutcome,
  type CallRequest,
  connectionClosedText,
} from './outcome.ts';
import { hasRole } from './rights.ts';
import {
  type CommittedOutcome,
  type ReducerRun,
  runReducer,
  type TransactionOutcome,
} from './run-reducer.ts';
import { tentatively } from './tentative.ts';

/**
 * Runs one call to its outcome; synchronous. A temporary connection is let in before and removed
 * after, whatever happens in between; if it is refused, that is the outcome.
 */
export function runCall(
  core: DatabaseCore,
  call: CallRequest,
  acceptedMicros: bigint,
): CallOutcome {
  if (isOutdated(core, call)) return aborted({ code: 'schema.changed' });
  const refusal = enter(core, call, acceptedMicros);
  if (refusal !== undefined) return aborted({ code: 'connection.refused', message: refusal });
  const startedAt = core.clock.monotonicMillis();
  const result = attempt(core, call, acceptedMicros);
  const offset = 'offset' in result ? result.offset : core.store.offset;
  const micros = Math.round((core.clock.monotonicMillis() - startedAt) * 1000);
  leave(core, call, acceptedMicros);
  if ('code' in result) return { kind: 'aborted', error: result, micros };
  const { value } = result;
  const { rows = 0 } = result;
  if (value !== undefined) return { kind: 'committed', offset, value, rows, micros };
  return { kind: 'committed', offset, rows, micros };
}

/** True if the arguments were encoded for a program other than the one serving. */
export function isOutdated(
  { program }: DatabaseCore,
  { schemaVersion }: Pick<CallRequest, 'schemaVersion'>,
): boolean {
  return schemaVersion !== undefined && schemaVersion !== program.schemaVersion;
}

/** The caller of a request, and its connection. */
export type Asking = Pick<CallRequest, 'caller' | 'connection'>;

/** Called before a request: its connection is open, or is let in. Returns why it was refused. */
export function enter(
  core: DatabaseCore,
  asking: Asking,
  timestampMicros: bigint,
  seed?: Uint8Array,
): string | undefined {
  const { caller, connection } = asking;
  if (connection.kind === 'open') {
    return core.connections.has(connection.id) ? undefined : connectionClosedText;
  }
  const connecting = { ...connectingOf(asking, timestampMicros), seed };
  return letIn(core, connecting, caller.rights.isReadOnly);
}

/**
 * Lets a connection in. One that only reads, or finds no disk space for its rows, runs
 * `client_connected` but leaves no trace. Returns why it was refused.
 */
export function letIn(
  core: DatabaseCore,
  connecting: Connecting,
  isReadOnly: boolean,
): string | undefined {
  // Its client comes back with the id that it had.
  endLeftover(core, connecting);
  if (!isReadOnly && core.full === undefined) return connectClient(core, connecting);
  return tentatively(core, (transaction) => tryConnection(core, connecting, transaction));
}

/** Called after a request: a temporary connection is removed. */
export function leave(core: DatabaseCore, asking: Asking, timestampMicros: bigint): void {
  const { caller, connection } = asking;
  if (connection.kind === 'open' || caller.rights.isReadOnly || core.full !== undefined) return;
  disconnectClient(core, connectingOf(asking, timestampMicros));
}

export function connectingOf({ caller, connection }: Asking, timestampMicros: bigint): Connecting {
  const { identity, jwtPayload } = caller;
  return { identity, jwtPayload, connectionId: connection.id, timestampMicros };
}

function attempt(
  core: DatabaseCore,
  call: CallRequest,
  timestampMicros: bigint,
): CallError | Returned | KeptAnswer {
  const { rights } = call.caller;
  if (rights.isReadOnly) return readOnlyError;
  if (rights.writesByPreview === true) return byPreviewError;
  const run = reducerRunOf(core, call, timestampMicros);
  if ('code' in run) return run;
  if (call.idempotencyKey !== undefined) {
    const keyed = runKeyed(core, { ...run, hasRole: hasRole(rights) }, call.idempotencyKey);
    return 'code' in keyed || keyed.kind === 'returned' ? keyed : errorOf(run.reducer, keyed);
  }
  requireSpace(core);
  const outcome = runReducer(core, run);
  return outcome.kind === 'returned' ? outcome : errorOf(run.reducer, outcome);
}

const readOnlyError: CallError = {
  code: 'call.readOnly',
  message: 'This session is read-only: reducers cannot be called',
};

const byPreviewError: CallError = {
  code: 'call.readOnly',
  message: 'This token can only write by applying a preview: use preview_call, then apply_preview',
};

/** The reducer run of a call, once caller and arguments are known to be valid. */
export interface CallRun extends ReducerRun {
  readonly reducer: ProgramReducer;
}

export function reducerRunOf(
  core: DatabaseCore,
  call: CallRequest,
  timestampMicros: bigint,
): CallError | CallRun {
  const { caller, connection } = call;
  const reducer = findReducer(core, call);
  if ('code' in reducer) return reducer;
  const args = checkedArguments(core, reducer, call.args);
  if ('code' in args) return args;
  return {
    reducer,
    sender: caller.identity,
    connectionId: connection.id,
    timestampMicros,
    args,
    jwtPayload: caller.jwtPayload,
    isOfCall: true,
  };
}

type Returned = Extract<CommittedOutcome, { readonly kind: 'returned' }>;

function findReducer(core: DatabaseCore, { reducer: name, caller, connection }: CallRequest) {
  const reducer = core.program.reducers.get(name);
  if (reducer?.lifecycle !== undefined) {
    return { code: 'reducer.notCallable', lifecycle: reducer.lifecycle } satisfies CallError;
  }
  if (reducer === undefined || !mayCall(caller, reducer)) {
    reportUnknown(core, 'reducer', name);
    // Over HTTP and MCP, a name may be that of either.
    if (connection.kind === 'temporary') reportUnknown(core, 'procedure', name);
    return { code: 'reducer.unknown', reducer: name } satisfies CallError;
  }
  return reducer;
}

/** Notes in the module's log that a call found nothing to run. */
export function reportUnknown(
  core: DatabaseCore,
  kind: 'reducer' | 'procedure',
  name: string,
): void {
  const text = `External attempt to call nonexistent ${kind} "${name}" failed.`;
  core.report(hostLine('error', `${text} Does the caller know the current module?`));
}

function mayCall({ rights }: Caller, { name, visibility }: ProgramReducer): boolean {
  if (rights.reducers?.has(name) === false) return false;
  return visibility !== 'private' || rights.callsPrivateReducers;
}

function checkedArguments(core: DatabaseCore, reducer: ProgramReducer, args: CallRequest['args']) {
  const fault = 'fault' in args ? args.fault : faultOf(reducer, args);
  if (fault === undefined) return args as Uint8Array;
  const text = `External attempt to call reducer "${reducer.name}" failed, invalid arguments.`;
  core.report(hostLine('error', `${text}\nDoes the caller know the current module?`));
  const message = `invalid arguments for reducer ${reducer.name}: ${fault}`;
  return { code: 'arguments.invalid', message } satisfies CallError;
}

function faultOf(reducer: ProgramReducer, args: Uint8Array): string | undefined {
  try {
    reducer.checkArguments(args);
    return undefined;
  } catch (error) {
    if (error instanceof DecodeError) return error.message;
    throw error;
  }
}

/** Describes the failure of a reducer to its caller. */
export function errorOf(
  { throws }: ProgramReducer,
  outcome: Exclude<TransactionOutcome, { readonly kind: 'returned' }>,
): CallError {
  switch (outcome.kind) {
    case 'refused': {
      const { message, value } = outcome;
      if (throws === undefined) return { code: 'reducer.refused', message };
      if (value === undefined) return { code: 'reducer.refusedWithoutValue', message };
      return { code: 'reducer.refusedWithValue', message, value };
    }
    case 'crashed':
      return { code: 'reducer.crashed' };
    case 'overQuota':
      return { code: 'quota.exceeded', message: outcome.message };
    case 'notKept':
      return { code: 'idempotency.refused', message: outcome.message };
    default:
      return unreachable(outcome);
  }
}

function aborted(error: CallError): CallOutcome {
  return { kind: 'aborted', error, micros: 0 };
}
