import { Refusal } from '../database/outcome.ts';
import { statusOf } from '../doors/refusal-status.ts';
import { HttpError, type Reply, text } from './exchange.ts';

/** Returns the response to an error that a door expects; `undefined` for a bug. */
export function replyOfError(error: unknown): Reply | undefined {
  if (error instanceof HttpError) return error.reply;
  if (error instanceof Refusal) return replyOfRefusal(error);
  return undefined;
}

function replyOfRefusal({ body: { code, message, retryAfterSeconds } }: Refusal): Reply {
  const retry = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
  return text(statusOf(code), message, retry);
}
