import { type Caller, refusal } from '../database/outcome.ts';
import { limits } from '../limits.ts';

/**
 * The key under which the outcome of a call is kept for its caller. Throws `Refusal` for a key that
 * is malformed, and for a caller who could not come back for the outcome.
 */
export function idempotencyKeyOf(text: string, caller: Caller): string {
  const { idempotencyKeyBytesMax: most } = limits;
  const byteCount = Buffer.byteLength(text);
  if (byteCount === 0 || byteCount > most || /\p{Cc}/u.test(text)) {
    const message = `An idempotency key has 1 to ${most} bytes, without control characters`;
    throw refusal('idempotency.invalid', message);
  }
  if (caller.isAnonymous !== true) return text;
  const message =
    'An idempotency key needs a caller with a token: without one, each request has a new identity';
  throw refusal('idempotency.invalid', message);
}

/** The refusal of a key for a procedure: what it has committed stays, even if it fails. */
export function procedureKeyRefusal(): Error {
  const message =
    'A procedure cannot be called with an idempotency key: only outcomes of reducers are kept';
  return refusal('idempotency.invalid', message);
}
