import { unreachable } from '../../assert.ts';
import { limits } from '../../limits.ts';
import type { DatabaseCore } from '../core.ts';
import type { ProcedureError } from '../outcome.ts';
import type { EndedCall } from './lane-desk.ts';
import type { RunningCall } from './running-call.ts';

export type ProcedureResult = Uint8Array | ProcedureError;

/**
 * What a procedure came to, once its value is known to have the declared type: programs encode it
 * themselves, and clients decode it blindly. A failure is in the module's log.
 */
export function resultOf(
  core: DatabaseCore,
  call: RunningCall,
  end: EndedCall['end'],
): ProcedureResult {
  switch (end.kind) {
    case 'returned': {
      const fault = valueFault(call, end.value);
      return fault === undefined ? end.value : failed(core, call, fault, []);
    }
    case 'failed':
      return failed(core, call, end.message, end.trace);
    case 'lost':
      return lost(core, call, end);
    default:
      return unreachable(end);
  }
}

function valueFault({ procedure }: RunningCall, value: Uint8Array): string | undefined {
  const { name, checkReturned } = procedure;
  if (value.length > limits.callResultBytesMax) {
    const size = `${value.length} bytes, more than ${limits.callResultBytesMax}`;
    return `procedure ${name} returned a value of ${size}: let clients query a table`;
  }
  const fault = checkReturned?.(value);
  if (fault === undefined) return undefined;
  return `procedure ${name} returned a value of another type: ${fault}`;
}

function failed(
  core: DatabaseCore,
  { procedure }: RunningCall,
  message: string,
  trace: Extract<EndedCall['end'], { readonly kind: 'failed' }>['trace'],
): ProcedureError {
  core.report({ level: 'panic', message, functionName: procedure.name, trace });
  return { code: 'procedure.failed', message };
}

/** The lane of a call whose own transaction was late ended because of that. */
function lost(
  core: DatabaseCore,
  { procedure, late }: RunningCall,
  { code, text }: Extract<EndedCall['end'], { readonly kind: 'lost' }>,
): ProcedureError {
  const message = late ?? text;
  core.report({ level: 'error', message, functionName: procedure.name });
  return { code: late === undefined ? code : 'procedure.overBudget', message };
}
