import { DecodeError } from '../../values/binary-reader.ts';
import type { DatabaseCore } from '../core.ts';
import { hostLine } from '../host-line.ts';
import type { ProcedureError, ProcedureRequest } from '../outcome.ts';
import { reportUnknown } from '../run-call.ts';
import type { ProgramProcedure } from './program-procedure.ts';

export interface CheckedCall {
  readonly procedure: ProgramProcedure;
  readonly args: Uint8Array;
}

/** What a call asks for, once caller and arguments are known to be valid. */
export function checkedCall(
  core: DatabaseCore,
  request: ProcedureRequest,
): ProcedureError | CheckedCall {
  const { rights } = request.caller;
  if (rights.isReadOnly) return readOnlyError;
  if (rights.writesByPreview === true) return byPreviewError;
  const procedure = find(core, request);
  if ('code' in procedure) return procedure;
  const args = checkedArguments(core, procedure, request.args);
  return 'code' in args ? args : { procedure, args };
}

const readOnlyError: ProcedureError = {
  code: 'call.readOnly',
  message: 'This session is read-only: procedures cannot be called',
};

const byPreviewError: ProcedureError = {
  code: 'call.readOnly',
  message: 'This token can only write by applying a preview, and procedures cannot be previewed',
};

function find(
  core: DatabaseCore,
  { procedure: name, caller: { rights } }: ProcedureRequest,
): ProcedureError | ProgramProcedure {
  const procedure = core.program.procedures.get(name);
  const isListed = rights.reducers?.has(name) !== false;
  if (procedure !== undefined && isListed) {
    if (procedure.visibility !== 'private' || rights.callsPrivateReducers) return procedure;
  }
  reportUnknown(core, 'procedure', name);
  return { code: 'procedure.unknown', procedure: name };
}

function checkedArguments(
  core: DatabaseCore,
  procedure: ProgramProcedure,
  args: ProcedureRequest['args'],
): ProcedureError | Uint8Array {
  const fault = 'fault' in args ? args.fault : faultOf(procedure, args);
  if (fault === undefined) return args as Uint8Array;
  const text = `External attempt to call procedure "${procedure.name}" failed, invalid arguments.`;
  core.report(hostLine('error', `${text}\nDoes the caller know the current module?`));
  const message = `invalid arguments for procedure ${procedure.name}: ${fault}`;
  return { code: 'arguments.invalid', message };
}

function faultOf(procedure: ProgramProcedure, args: Uint8Array): string | undefined {
  try {
    procedure.checkArguments(args);
    return undefined;
  } catch (error) {
    if (error instanceof DecodeError) return error.message;
    throw error;
  }
}
