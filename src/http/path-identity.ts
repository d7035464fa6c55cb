import { identityFromHex, notIdentityText } from '../values/identity.ts';
import { type CallerIdentity, callerIdentity } from '../values/identity-roles.ts';
import { type Exchange, HttpError, text } from './exchange.ts';

/** Parses the `:identity` of a path that compatible clients use: 64 hex digits without prefix. */
export function bareIdentity(exchange: Exchange): CallerIdentity {
  const given = exchange.params.identity ?? '';
  if (/^[0-9a-f]{64}$/i.test(given)) return callerIdentity(BigInt(`0x${given}`));
  throw invalidIdentity(`invalid value: string "${given}", expected a byte array or hex string`);
}

/** Parses the `:identity` of any other path: 64 hex digits with an optional `0x`. */
export function pathIdentity(exchange: Exchange): CallerIdentity {
  const given = exchange.params.identity ?? '';
  const identity = identityFromHex(given);
  if (identity !== undefined) return callerIdentity(identity);
  throw invalidIdentity(notIdentityText(given));
}

function invalidIdentity(fault: string): HttpError {
  return new HttpError(text(400, `Invalid URL: ${fault}`));
}
