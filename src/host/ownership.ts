import { Refusal } from '../database/outcome.ts';
import { identityToHex } from '../values/identity.ts';
import type { Creators, HostCaller } from './host-types.ts';

/** What an owner alone may do, in the words of the refusal. */
export type OwnerAction =
  | 'update database'
  | 'reset database'
  | 'delete database'
  | 'rename database'
  | 'view module logs';

/** Throws `Refusal` `notOwner` unless the caller owns the database. */
export function requireOwner(
  caller: HostCaller,
  database: { readonly identity: bigint; readonly owner: bigint },
  action: OwnerAction,
): void {
  if (caller.identity === database.owner) return;
  const who = identityToHex(caller.identity);
  const what = identityToHex(database.identity);
  const text = `is not authorized to perform action on database ${what}: ${action}`;
  throw new Refusal({ code: 'notOwner', message: `${who} ${text}` });
}

/** Throws `Refusal` `creation.forbidden` unless the operator lets the caller create databases. */
export function requireCreator(caller: HostCaller, creators: Creators): void {
  if (creators === 'anyone') return;
  if (creators === 'authenticated') {
    if (!caller.isAnonymous) return;
    throw forbidden('To create a database, you must be logged in.');
  }
  if (creators.includes(caller.identity)) return;
  throw forbidden('To create a database, you need an identity that the operator has admitted.');
}

function forbidden(message: string): Refusal {
  return new Refusal({ code: 'creation.forbidden', message });
}
