import { type CallerIdentity, callerIdentity } from '../values/identity-roles.ts';
import { type Exchange, HttpError, text } from './exchange.ts';

/** Parses the `:identity` of a path that takes no names: exactly 64 hex digits, no prefix. */
export function pathIdentity(exchange: Exchange): CallerIdentity {
  const given = exchange.params.identity ?? '';
  if (/^[0-9a-f]{64}$/i.test(given)) return callerIdentity(BigInt(`0x${given}`));
  const words = `invalid value: string "${given}", expected a byte array or hex string`;
  throw new HttpError(text(400, `Invalid URL: ${words}`));
}
