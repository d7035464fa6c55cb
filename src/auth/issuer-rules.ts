import type { FetchRules } from './guarded-fetch.ts';

/** An issuer that the operator accepts, and the audiences its tokens must have. */
export interface AcceptedIssuer {
  /** As in the tokens' `iss`, byte for byte. */
  readonly issuer: string;
  /** One of these must be in `aud`; absent: any audience or none. */
  readonly audiences?: readonly string[];
}

/** The issuers whose tokens are accepted in addition to the host's own. */
export interface IssuerRules extends FetchRules {
  /** Only these, at any address. Absent: every issuer from whose address keys may be fetched. */
  readonly accepted?: readonly AcceptedIssuer[];
}

/** Accepts every issuer at a public `https:` address. */
export const publicIssuers: IssuerRules = { allowsLoopback: false, allowsPrivate: false };
