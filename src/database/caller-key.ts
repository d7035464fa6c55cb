import type { CallerIdentity } from '../values/identity-roles.ts';
import type { Caller } from './outcome.ts';

/** Identifies one caller when shares of a database's statement resources are counted. */
export type CallerKey = CallerIdentity | typeof anonymous;

/** Each request without a token gets its own identity, so they all count as one caller. */
export const anonymous = 'anonymous';

export function callerKeyOf(caller: Pick<Caller, 'identity' | 'isAnonymous'>): CallerKey {
  return caller.isAnonymous === true ? anonymous : caller.identity;
}
