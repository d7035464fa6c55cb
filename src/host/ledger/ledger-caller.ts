import { readHostClaim } from '../../auth/capability.ts';
import { TokenError } from '../../auth/token-json.ts';
import { areLimited } from '../../database/rights.ts';
import type { CallerIdentity } from '../../values/identity-roles.ts';
import type { ActivityCaller } from './activity.ts';
import type { LedgerCaller } from './ledger-entry.ts';

/** A caller as the ledger shows it. */
export function ledgerCallerOf(caller: ActivityCaller | LedgerCaller): LedgerCaller {
  if (!('rights' in caller)) return caller;
  const { identity, rights, jwtPayload } = caller;
  // The claim counts only where this host has honoured it.
  return areLimited(rights) ? limitedCaller(identity, jwtPayload) : { identity };
}

/** The caller with its limited token, as far as its payload tells. */
export function limitedCaller(identity: CallerIdentity, payload: string): LedgerCaller {
  try {
    const claim = readHostClaim(payload);
    if (claim?.capability === undefined) return { identity };
    return { identity, token: claim.id, maker: claim.capability.by };
  } catch (error) {
    if (error instanceof TokenError) return { identity };
    throw error;
  }
}
