import { identityToHex } from '../../values/identity.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';

/**
 * What keeps a database apart from the others and from the gateway: a thread has a heap of its own,
 * and its calls have limits, but the engine does not interrupt every operation, and some end their
 * process. A process contains these, too.
 */
export const isolations = ['thread', 'process'] as const;
export type Isolation = (typeof isolations)[number];

export interface IsolationRules {
  readonly everywhere: Isolation;
  /** Exceptions for single databases, by name or identity, in hex digits. */
  readonly exceptions: ReadonlyMap<string, Isolation>;
}

/** Every database on a thread. */
export const threads: IsolationRules = { everywhere: 'thread', exceptions: new Map() };

/** The isolation of a database with this identity and these names, if any. */
export function isolationFor(
  { everywhere, exceptions }: IsolationRules,
  identity: DatabaseIdentity,
  names: readonly string[],
): Isolation {
  for (const key of [identityToHex(identity), ...names]) {
    const exception = exceptions.get(key);
    if (exception !== undefined) return exception;
  }
  return everywhere;
}
