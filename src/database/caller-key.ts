import type { Caller } from './outcome.ts';

/** One caller, as far as shares of what a database has for statements go. */
export type CallerKey = bigint | typeof anonymous;

/** Each request without a token has an identity of its own: all of them are one caller. */
export const anonymous = 'anonymous';

export function callerKeyOf(caller: Pick<Caller, 'identity' | 'isAnonymous'>): CallerKey {
  return caller.isAnonymous === true ? anonymous : caller.identity;
}
