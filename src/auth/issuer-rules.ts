import type { FetchRules } from './guarded-fetch.ts';

/** An issuer that the operator accepts, and for whom its tokens must be meant. */
export interface AcceptedIssuer {
  /** As tokens state it in `iss`, byte for byte. */
  readonly issuer: string;
  /** One of these must be in `aud`; absent: any audience, also none. */
  readonly audiences?: readonly string[];
}

/** Whose tokens are accepted beside the host's own. */
export interface IssuerRules extends FetchRules {
  /**
   * These and no others, wherever they are. Absent: every issuer whose address may be asked for its
   * keys.
   */
  readonly accepted?: readonly AcceptedIssuer[];
}

/** Every issuer at a public `https:` address. */
export const publicIssuers: IssuerRules = { allowsLoopback: false, allowsPrivate: false };
