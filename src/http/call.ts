import { present, unreachable } from '../assert.ts';
import type { CallError } from '../database/outcome.ts';
import { callErrorText, noSuchProcedureText } from '../doors/call-error-text.ts';
import { callWithJson } from '../doors/json-call.ts';
import { temporaryConnection } from '../host/supervision/temporary-connection.ts';
import { argumentsBody, parseBody } from './body.ts';
import { type HttpContext, openTarget } from './context.ts';
import { type Exchange, empty, hintHeader, json, type Reply, text } from './exchange.ts';

/** `POST /v1/database/:db/call/:name`: runs a reducer with JSON arguments. */
export async function call(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const { database, caller } = openTarget(exchange, host);
  const reducer = exchange.params.name ?? '';
  const confirmed = exchange.query.boolean('confirmed', false);
  const parsed = parseBody(await argumentsBody(exchange));
  const args = parsed instanceof Promise ? await parsed : parsed;
  const connection = temporaryConnection();
  const request = { caller, connection, reducer, args, confirmed };
  const { outcome, json: value } = await callWithJson(database.handle, request);
  const headers = {
    'spacetime-energy-used': '0',
    'spacetime-execution-duration-micros': String(outcome.micros),
  };
  if (outcome.kind === 'aborted') return failure(outcome.error, headers, value);
  return value === undefined ? empty(200, headers) : json(200, value, headers);
}

/** Non-standard, but fixed by the interface: the call failed in the module's own code. */
const reducerFailedStatus = 530;

function failure(error: CallError, ran: Record<string, string>, value: string | undefined): Reply {
  const words = callErrorText(error);
  switch (error.code) {
    case 'reducer.unknown':
      return text(404, noSuchProcedureText);
    case 'reducer.notCallable':
    case 'arguments.invalid':
      return text(400, words);
    case 'reducer.refusedWithValue':
      return json(reducerFailedStatus, present(value, 'the value of the error'), ran);
    case 'reducer.crashed':
    case 'reducer.refused':
    case 'reducer.refusedWithoutValue':
      return text(reducerFailedStatus, words, ran);
    case 'reducer.overBudget':
      return text(402, 'Module energy budget exhausted.', { ...ran, ...hintHeader(words) });
    case 'quota.exceeded':
      return text(507, words, ran);
    case 'call.readOnly':
    case 'connection.refused':
      return text(403, words);
    case 'schema.changed':
      return text(503, words);
    default:
      return unreachable(error);
  }
}
