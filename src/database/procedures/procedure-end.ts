import { assert, unreachable } from '../../assert.ts';
import { limits } from '../../limits.ts';
import { checkedResponse } from '../../module/handler-response.ts';
import type { LaneEnd } from '../../module/lane.ts';
import { type DatabaseCore, fullRefusal } from '../core.ts';
import type { HandlerOutcome, ProcedureError, ProcedureOutcome } from '../outcome.ts';
import type { DatabaseReply } from '../turn.ts';
import type { HandlerWarnings } from './handler-warnings.ts';
import type { EndedCall } from './lane-desk.ts';
import type { Job, RunningCall, ScheduledJob } from './running-call.ts';

/** What a request can ask for. */
type AskedJob = Exclude<Job, ScheduledJob>;

type Returned = Extract<LaneEnd, { readonly kind: 'returned' }>;

/** Where calls end. */
interface Ending {
  readonly core: DatabaseCore;
  readonly warnings: HandlerWarnings;
}

/**
 * What a call came to, once what it returned is known to be what it may return: programs encode it
 * themselves, and clients decode it blindly. A failure is in the module's log.
 */
export function replyOfEnd(
  ending: Ending,
  call: RunningCall & { readonly job: AskedJob },
  end: EndedCall['end'],
  micros: number,
): DatabaseReply {
  const reply = bareReply(ending, call, end, micros);
  const { committed } = call;
  if (committed === undefined) return reply;
  if (reply.kind === 'procedure') return { ...reply, outcome: { ...reply.outcome, committed } };
  if (reply.kind === 'handler') return { ...reply, outcome: { ...reply.outcome, committed } };
  return reply;
}

function bareReply(
  { core, warnings }: Ending,
  call: RunningCall & { readonly job: AskedJob },
  end: EndedCall['end'],
  micros: number,
): DatabaseReply {
  switch (end.kind) {
    case 'returned': {
      const reply = returned(core, call, end, micros);
      const isAnswered = reply.kind === 'handler' && reply.outcome.kind === 'answered';
      if (isAnswered) warnings.note(call, reply.outcome.response);
      return reply;
    }
    case 'failed':
      return failureReply(core, call, end, micros);
    case 'lost':
      return failedReply(call.job, lost(core, call, end), micros);
    default:
      return unreachable(end);
  }
}

/** Where a write was refused because the disk is full, the call is refused as others are. */
function failureReply(
  core: DatabaseCore,
  call: RunningCall & { readonly job: AskedJob },
  { message, trace }: Extract<LaneEnd, { readonly kind: 'failed' }>,
  micros: number,
): DatabaseReply {
  const error = failed(core, call, message, trace);
  const { full } = call;
  if (full === undefined || !message.includes(full)) return failedReply(call.job, error, micros);
  return { kind: 'refused', body: fullRefusal(full).body };
}

/** The reply to a call that failed, or that never ran. */
export function failedReply(
  { kind }: Pick<AskedJob, 'kind'>,
  error: ProcedureError,
  micros = 0,
): DatabaseReply {
  return { kind, outcome: { kind: 'failed', error, micros } };
}

/** Why the procedure of a schedule has failed; `undefined`: it has returned. */
export function scheduledError(
  core: DatabaseCore,
  call: RunningCall & { readonly job: ScheduledJob },
  end: EndedCall['end'],
): ProcedureError | undefined {
  switch (end.kind) {
    case 'returned': {
      const fault = valueFault(call.job.procedure, end.value);
      return fault === undefined ? undefined : failed(core, call, fault, []);
    }
    case 'failed':
      return failed(core, call, end.message, end.trace);
    case 'lost':
      return lost(core, call, end);
    default:
      return unreachable(end);
  }
}

function returned(
  core: DatabaseCore,
  call: RunningCall & { readonly job: AskedJob },
  end: Returned,
  micros: number,
): DatabaseReply {
  const { job, acceptedMicros } = call;
  if (job.kind === 'handler') return answered(core, call, end, micros);
  const fault = valueFault(job.procedure, end.value);
  if (fault !== undefined) return failedReply(job, failed(core, call, fault, []), micros);
  const timestampMicros = acceptedMicros;
  const outcome: ProcedureOutcome = {
    kind: 'returned',
    value: end.value,
    timestampMicros,
    micros,
  };
  return { kind: 'procedure', outcome };
}

function valueFault(
  { name, checkReturned }: ScheduledJob['procedure'],
  value: Uint8Array,
): string | undefined {
  if (value.length > limits.callResultBytesMax) {
    const size = `${value.length} bytes, more than ${limits.callResultBytesMax}`;
    return `procedure ${name} returned a value of ${size}: let clients query a table`;
  }
  const fault = checkReturned?.(value);
  if (fault === undefined) return undefined;
  return `procedure ${name} returned a value of another type: ${fault}`;
}

function answered(
  core: DatabaseCore,
  call: RunningCall & { readonly job: AskedJob },
  { value, body }: Returned,
  micros: number,
): DatabaseReply {
  assert(body !== undefined, 'a handler gives a body, if an empty one');
  const response = checkedResponse(value);
  const fault = 'fault' in response ? response.fault : bodyFault(body);
  if ('fault' in response || fault !== undefined) {
    const text = `HTTP handler ${call.name} returned an invalid response: ${fault}`;
    return failedReply(call.job, failed(core, call, text, []), micros);
  }
  const outcome: HandlerOutcome = { kind: 'answered', response, body, micros };
  return { kind: 'handler', outcome };
}

function bodyFault({ length }: Uint8Array): string | undefined {
  const max = limits.handlerAnswerBytesMax;
  return length <= max ? undefined : `its body is ${length} bytes, more than ${max}`;
}

function failed(
  core: DatabaseCore,
  { name, job }: RunningCall,
  message: string,
  trace: Extract<EndedCall['end'], { readonly kind: 'failed' }>['trace'],
): ProcedureError {
  core.report({ level: 'panic', message: placed(message, job), functionName: name, trace });
  return { code: 'procedure.failed', message };
}

/** The lane of a call whose own transaction was late ended because of that. */
function lost(
  core: DatabaseCore,
  { name, late, job }: RunningCall,
  { code, text }: Extract<EndedCall['end'], { readonly kind: 'lost' }>,
): ProcedureError {
  // Lanes call everything a procedure.
  const message = late ?? (job.kind === 'handler' ? text.replace(/\bprocedure\b/, job.kind) : text);
  core.report({ level: 'error', message: placed(message, job), functionName: name });
  return { code: late === undefined ? code : 'procedure.overBudget', message };
}

/** A line about a run that nobody called says which one it is. */
function placed(message: string, job: Job): string {
  return job.kind === 'schedule' ? `${message} (${job.place()})` : message;
}
