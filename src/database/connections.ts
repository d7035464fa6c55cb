import { assert } from '../assert.ts';
import type { ConnectionNumber } from '../values/connection-number.ts';
import type { DatabaseCore } from './core.ts';
import { type Connecting, disconnectClient } from './lifecycle.ts';
import { letIn } from './run-call.ts';
import type { ConnectRequest, DatabaseReply } from './turn.ts';

/** Opens a connection that later requests can name, unless the module rejects the client. */
export function openConnection(
  core: DatabaseCore,
  { caller, connectionId, stays }: ConnectRequest,
  timestampMicros: bigint,
): DatabaseReply {
  const { connections } = core;
  assert(connectionId !== 0n, 'the id 0 stands for no connection');
  if (connections.has(connectionId)) {
    return { kind: 'connected', refusal: inUseText };
  }
  const { identity, jwtPayload, rights } = caller;
  const open = { identity, jwtPayload, isReadOnly: rights.isReadOnly };
  const connecting = { ...open, connectionId, timestampMicros };
  const isThere = stays !== undefined && keepsOn(core, connecting);
  if (stays === 'announced' && !isThere) return { kind: 'connected', refusal: endedText };
  const refusal = isThere ? undefined : letIn(core, connecting, open.isReadOnly);
  const { offset: since } = core.store;
  if (refusal === undefined) connections.set(connectionId, { ...open, rights, since });
  return { kind: 'connected', refusal };
}

const endedText = 'The connection was ended: nobody had announced it to the new leader in time.';

/** True if the actor before has left it over, and it is not ended yet: it stays as it is. */
function keepsOn(core: DatabaseCore, { identity, connectionId, isReadOnly }: Connecting): boolean {
  // One that only reads has no row.
  if (isReadOnly === true) return true;
  if (core.leftover.get(connectionId)?.identity !== identity) return false;
  return core.leftover.delete(connectionId);
}

/** Ends a connection and its query sets; its reads were cancelled before. */
export function endConnection(
  core: DatabaseCore,
  connectionId: ConnectionNumber,
  timestampMicros: bigint,
): DatabaseReply {
  const { connections, live, full } = core;
  const open = connections.get(connectionId);
  if (open !== undefined) {
    live.dropConnection(core, connectionId, timestampMicros);
    connections.delete(connectionId);
    if (connections.size === 0) core.changedParts.clear();
    const leaving = { ...open, connectionId, timestampMicros };
    if (open.isReadOnly !== true && full === undefined) disconnectClient(core, leaving);
  }
  return { kind: 'disconnected' };
}

export const inUseText = 'The connection id is in use.';
