/** How error messages name a client. */

export function identityText(identity: bigint): string {
  return `Identity(0x${identity.toString(16).padStart(64, '0')})`;
}

export function connectionIdText(connectionId: bigint): string {
  return `ConnectionId(0x${connectionId.toString(16).padStart(32, '0')})`;
}
