import type { CallerIdentity } from '../values/identity-roles.ts';
import { malformedText, presentedToken } from './bearer.ts';
import type { Capability, TokenSession } from './capability.ts';
import type { HostTokens } from './host-tokens.ts';
import { TokenError } from './token-json.ts';

/** The caller of a request, determined once at the door. */
export interface RequestCaller {
  readonly identity: CallerIdentity;
  /** The token presented, byte for byte, or the one created for an anonymous caller. */
  readonly token: string;
  /** Payload of the token as JSON text. */
  readonly payload: string;
  /** The id by which the token is revoked. */
  readonly tokenId: string;
  /** Set if the token is that of a session. */
  readonly session?: TokenSession;
  /** The limits of the token. */
  readonly capability?: Capability;
  /** True when no token was presented. */
  readonly isAnonymous: boolean;
  /** Address of the client. */
  readonly address?: string;
  /** Whether the door has promised to change nothing on behalf of this request. */
  readonly isReadOnly?: boolean;
}

export type CallerOutcome =
  | { readonly kind: 'accepted'; readonly caller: RequestCaller }
  | { readonly kind: 'refused'; readonly status: 400 | 401; readonly text: string };

export interface CallerRequest {
  readonly authorization: string | undefined;
  readonly queryToken: string | undefined;
  /** Address of the client. */
  readonly address?: string;
  /** How to treat a request without a token: give it an identity of its own, or reject it. */
  readonly withoutToken: 'anonymous' | 'refuse';
}

/** Settles the caller of a request: checks its token, or creates an anonymous identity. */
export async function settleCaller(
  tokens: HostTokens,
  request: CallerRequest,
): Promise<CallerOutcome> {
  const presented = presentedToken(request.authorization, request.queryToken);
  switch (presented.kind) {
    case 'malformed':
      return { kind: 'refused', status: 400, text: malformedText };
    case 'none':
      return request.withoutToken === 'refuse'
        ? { kind: 'refused', status: 401, text: 'Authorization required' }
        : accepted(await anonymous(tokens), request);
    case 'token':
      return verified(tokens, presented.token, request);
  }
}

/** A caller that another host of a cluster has settled, which may not know yet what is revoked. */
export function settledElsewhere(tokens: HostTokens, caller: RequestCaller): CallerOutcome {
  try {
    tokens.requireStanding(caller);
    return { kind: 'accepted', caller };
  } catch (error) {
    return refused(error);
  }
}

function accepted(caller: RequestCaller, { address }: CallerRequest): CallerOutcome {
  return { kind: 'accepted', caller: address === undefined ? caller : { ...caller, address } };
}

async function anonymous(tokens: HostTokens): Promise<RequestCaller> {
  return { ...(await tokens.issue()), isAnonymous: true };
}

async function verified(
  tokens: HostTokens,
  token: string,
  request: CallerRequest,
): Promise<CallerOutcome> {
  try {
    const claims = await tokens.verify(token);
    const { identity, payload, tokenId, capability, session } = claims;
    const caller = {
      ...{ identity, token, payload, tokenId, isAnonymous: false },
      ...(session !== undefined && { session }),
      ...(capability !== undefined && { capability }),
    };
    return accepted(caller, request);
  } catch (error) {
    return refused(error);
  }
}

function refused(error: unknown): CallerOutcome {
  if (!(error instanceof TokenError)) throw error;
  return { kind: 'refused', status: 401, text: error.message };
}
