import { Refusal } from '../database/outcome.ts';
import { statusOf } from '../host/refusal-status.ts';
import { HttpError, type Reply, text } from './exchange.ts';

/** The answer to an error that a door expects; `undefined` for a bug. */
export function replyOfError(error: unknown): Reply | undefined {
  if (error instanceof HttpError) return error.reply;
  if (error instanceof Refusal) return text(statusOf(error.body.code), error.body.message);
  return undefined;
}
