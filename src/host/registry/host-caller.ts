import type { Capability } from '../../auth/capability.ts';
import type { CallerIdentity } from '../../values/identity-roles.ts';

/** The caller of a host operation; `auth`'s `RequestCaller` is one. */
export interface HostCaller {
  readonly identity: CallerIdentity;
  /** Payload of the caller's token as JSON text. */
  readonly payload: string;
  /** True when the request carried no token. */
  readonly isAnonymous: boolean;
  /** Address that the request came from, for the audit log. */
  readonly address?: string;
  /** Limits of the token. */
  readonly capability?: Capability;
  /** Set if the token is that of a session; when that ends, in seconds since the Unix epoch. */
  readonly session?: { readonly expiresAt: number };
  /** True: nothing is changed on its behalf, as the door that admitted it promised. */
  readonly isReadOnly?: boolean;
}
