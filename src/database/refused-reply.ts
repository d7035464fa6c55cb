import { Refusal } from './outcome.ts';
import type { DatabaseReply } from './turn.ts';

/** Rethrows any error that is not a refusal. */
export function refusedReply(error: unknown): DatabaseReply {
  if (error instanceof Refusal) return { kind: 'refused', body: error.body };
  throw error;
}
