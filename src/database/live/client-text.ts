import type { ConnectionNumber } from '../../values/connection-number.ts';
import type { CallerIdentity } from '../../values/identity-roles.ts';

/** How error messages name a client. */

export function identityText(identity: CallerIdentity): string {
  return `Identity(0x${identity.toString(16).padStart(64, '0')})`;
}

export function connectionIdText(connectionId: ConnectionNumber): string {
  return `ConnectionId(0x${connectionId.toString(16).padStart(32, '0')})`;
}
