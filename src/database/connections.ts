import { assert } from '../assert.ts';
import type { ConnectionNumber } from '../values/connection-number.ts';
import type { DatabaseCore } from './core.ts';
import { disconnectClient } from './lifecycle.ts';
import { letIn } from './run-call.ts';
import type { ConnectRequest, DatabaseReply } from './turn.ts';

/** Opens a connection that later requests can name, unless the module rejects the client. */
export function openConnection(
  core: DatabaseCore,
  { caller, connectionId }: ConnectRequest,
  timestampMicros: bigint,
): DatabaseReply {
  const { connections } = core;
  assert(connectionId !== 0n, 'the id 0 stands for no connection');
  if (connections.has(connectionId)) {
    return { kind: 'connected', refusal: 'The connection id is in use.' };
  }
  const { identity, jwtPayload, rights } = caller;
  const open = { identity, jwtPayload, isReadOnly: rights.isReadOnly };
  const connecting = { ...open, connectionId, timestampMicros };
  const refusal = letIn(core, connecting, open.isReadOnly);
  const { offset: since } = core.store;
  if (refusal === undefined) connections.set(connectionId, { ...open, rights, since });
  return { kind: 'connected', refusal };
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
