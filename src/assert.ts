/**
 * A bug of ours: an invariant that the engine relies on does not hold. Never used for bad input.
 */
export class AssertionError extends Error {
  override readonly name = 'AssertionError';
}

/** Throws `AssertionError` when `condition` is false. `message` says which invariant broke. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}

/** Returns `value`, which the caller knows to be present; `what` names it should it be missing. */
export function present<T>(value: T | undefined | null, what: string): T {
  if (value === undefined || value === null) throw new AssertionError(`missing: ${what}`);
  return value;
}

/** Ends an exhaustive `switch`: a new variant breaks the build here, not a user at run time. */
export function unreachable(value: never): never {
  throw new AssertionError(`unreachable variant: ${String(value)}`);
}
