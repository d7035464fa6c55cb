import type { RequestCaller } from './caller.ts';
import { networkOf } from './client-address.ts';
import { isLoopbackAddress } from './page-rules.ts';

/** Who is charged for what a request takes. */
export interface Payers {
  /** Absent where no token was presented: new identities cost their callers nothing. */
  readonly identity: string | undefined;
  /** Absent for the identities of this machine, which all share loopback. */
  readonly network: string | undefined;
}

/** `address`: that of the client. */
export function payersOf(
  caller: Pick<RequestCaller, 'identity' | 'isAnonymous'> | undefined,
  address: string,
): Payers {
  const network = `network ${networkOf(address)}`;
  if (caller === undefined || caller.isAnonymous) return { identity: undefined, network };
  const identity = `identity ${caller.identity.toString(16)}`;
  return { identity, network: isLoopbackAddress(address) ? undefined : network };
}
