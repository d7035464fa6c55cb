import { present, unreachable } from '../assert.ts';
import type { CallError, Caller, ProcedureError } from '../database/outcome.ts';
import {
  callErrorText,
  noSuchProcedureText,
  procedureErrorText,
} from '../doors/call-error-text.ts';
import { idempotencyKeyOf } from '../doors/idempotency-key.ts';
import { callWithJson } from '../doors/json-call.ts';
import { functionsHint } from '../doors/names-hint.ts';
import { leaderPlace } from '../doors/read-place.ts';
import { crashReason } from '../host/databases/crash-reason.ts';
import type { Host } from '../host/host.ts';
import { temporaryConnection } from '../host/supervision/temporary-connection.ts';
import { argumentsBody, parseBody } from './body.ts';
import { callerOf, type HttpContext, openTarget, targetOf } from './context.ts';
import { type Exchange, empty, HttpError, hintedText, json, type Reply, text } from './exchange.ts';

/** `POST /v1/database/:db/call/:name`: runs a reducer or a procedure with JSON arguments. */
export async function call(exchange: Exchange, { host, confirms }: HttpContext): Promise<Reply> {
  const { database, caller } = openTarget(exchange, host);
  const name = exchange.params.name ?? '';
  const confirmed = exchange.query.boolean('confirmed', confirms === true);
  const parsed = parseBody(await argumentsBody(exchange));
  const args = parsed instanceof Promise ? await parsed : parsed;
  const connection = temporaryConnection();
  const keyed = keyOf(exchange, caller);
  const request = { caller, connection, name, args, confirmed, ...keyed };
  const options = { signal: () => exchange.abandoned, procedureShape: 'positional' } as const;
  const since = Date.now();
  const answer = await callWithJson(database.handle, request, options);
  const { outcome, json: value } = answer;
  const headers = {
    'spacetime-energy-used': '0',
    'spacetime-execution-duration-micros': String(outcome.micros),
    ...leaderPlace(database, outcome.kind === 'committed' ? outcome.offset : undefined),
  };
  if (answer.kind === 'procedure' && answer.outcome.kind === 'failed') {
    const { error } = answer.outcome;
    const hint = await hintFor(error.code, { exchange, host, name: answer.name, since });
    return procedureFailure(error, headers, hint);
  }
  if (outcome.kind === 'aborted') {
    const { error } = outcome;
    const hint = await hintFor(error.code, { exchange, host, name: answer.name, since });
    return failure(error, { ran: headers, value, hint });
  }
  return value === undefined ? empty(200, headers) : json(200, value, headers);
}

interface FailedCall {
  readonly exchange: Exchange;
  readonly host: Host;
  /** Canonical. */
  readonly name: string;
  /** When it began, in milliseconds. */
  readonly since: number;
}

/** What helps after a failure: a name that was probably meant, or why it crashed. */
async function hintFor(
  code: CallError['code'] | ProcedureError['code'],
  { exchange, host, name, since }: FailedCall,
): Promise<string | undefined> {
  switch (code) {
    case 'reducer.unknown':
    case 'procedure.unknown': {
      const { database, caller } = openTarget(exchange, host);
      return functionsHint(database.handle, caller.rights, name);
    }
    case 'reducer.crashed':
    case 'procedure.failed': {
      if (!exchange.isOnMachine) return undefined;
      const caller = callerOf(exchange);
      const target = host.database(targetOf(exchange));
      // Nobody has asked for the log: that is no attempt to be noted as refused.
      if (!host.access.allows(caller, target, 'viewLogs')) return undefined;
      return crashReason((request) => host.logs(caller, targetOf(exchange), request), {
        name,
        since,
      });
    }
    default:
      return undefined;
  }
}

const keyDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The key of the header `idempotency-key`, which is UTF-8. */
function keyOf(exchange: Exchange, caller: Caller): { readonly idempotencyKey?: string } {
  const header = exchange.header('idempotency-key');
  if (header === undefined) return noKey;
  try {
    const key = keyDecoder.decode(Buffer.from(header, 'latin1'));
    return { idempotencyKey: idempotencyKeyOf(key, caller) };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new HttpError(text(400, 'invalid HTTP header (idempotency-key)'));
  }
}

const noKey = {};

/** Non-standard, but fixed by the interface: the call failed in the module's own code. */
const reducerFailedStatus = 530;

interface Failed {
  /** The headers of a call that ran. */
  readonly ran: Record<string, string>;
  /** The value of a typed error. */
  readonly value: string | undefined;
  /** Which name was probably meant, or why it crashed. */
  readonly hint: string | undefined;
}

function failure(error: CallError, { ran, value, hint }: Failed): Reply {
  const words = callErrorText(error);
  switch (error.code) {
    case 'reducer.unknown':
      return hintedText(404, noSuchProcedureText, hint);
    case 'reducer.notCallable':
    case 'arguments.invalid':
      return text(400, words);
    case 'reducer.refusedWithValue':
      return json(reducerFailedStatus, present(value, 'the value of the error'), ran);
    case 'reducer.crashed':
      return hintedText(reducerFailedStatus, words, hint, ran);
    case 'reducer.refused':
    case 'reducer.refusedWithoutValue':
      return text(reducerFailedStatus, words, ran);
    case 'reducer.overBudget':
      return hintedText(402, 'Module energy budget exhausted.', words, ran);
    case 'quota.exceeded':
      return text(507, words, ran);
    case 'call.readOnly':
    case 'connection.refused':
      return text(403, words);
    case 'idempotency.refused':
      return text(422, words);
    case 'idempotency.tooMany':
      return text(429, words);
    case 'schema.changed':
      return text(503, words);
    default:
      return unreachable(error);
  }
}

function procedureFailure(
  error: ProcedureError,
  ran: Record<string, string>,
  hint: string | undefined,
): Reply {
  const words = procedureErrorText(error);
  switch (error.code) {
    case 'procedure.unknown':
      return hintedText(404, words, hint);
    case 'arguments.invalid':
      return text(400, words);
    case 'procedure.failed':
      return hintedText(500, words, hint, ran);
    case 'procedure.overBudget':
      return hintedText(402, words, error.message, ran);
    case 'procedure.busy':
      return text(error.of === 'caller' ? 429 : 503, words, { 'retry-after': '1' });
    case 'call.readOnly':
    case 'connection.refused':
      return text(403, words);
    case 'procedure.stopped':
      return text(503, words, { 'retry-after': '1' });
    case 'schema.changed':
      return text(503, words);
    default:
      return unreachable(error);
  }
}
