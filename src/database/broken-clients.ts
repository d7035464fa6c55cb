import type { TableId } from '../schema/ids.ts';
import type { Rights } from '../sql/rights.ts';
import type { ConnectionNumber } from '../values/connection-number.ts';
import type { BrokenParts } from './broken-parts.ts';
import type { UsedPart } from './changed-parts.ts';
import { endConnection } from './connections.ts';
import type { DatabaseCore, OpenClient } from './core.ts';
import type { RequestConnection } from './outcome.ts';

/**
 * The open connections for which an update changes what they have used: a table that they watch or
 * have queried, or a function that they have called. Ascending.
 */
export function brokenClients(
  { connections, live }: Pick<DatabaseCore, 'connections' | 'live'>,
  broken: BrokenParts,
): readonly ConnectionNumber[] {
  const ended = live.sets.connectionsWith(({ tables, rights }) =>
    tables.some((table) => isTableBroken(broken, table, rights)),
  );
  for (const [id, { uses, rights }] of connections) {
    for (const part of uses ?? []) if (isBroken(broken, part, rights)) ended.add(id);
  }
  return [...ended].filter((id) => connections.has(id)).sort((one, two) => (one < two ? -1 : 1));
}

/** Ends these connections after an update; the new program runs `client_disconnected`. */
export function endBrokenClients(
  core: DatabaseCore,
  ended: readonly ConnectionNumber[],
  timestampMicros: bigint,
): void {
  for (const id of ended) endConnection(core, id, timestampMicros);
}

/** Thrown where a connection uses what has changed since it was opened. */
export class OutdatedUse extends Error {}

/** Called before a connection watches these tables. Throws `OutdatedUse`. */
export function requireCurrent(
  { connections, changedParts }: DatabaseCore,
  connectionId: ConnectionNumber,
  tables: readonly TableId[],
): void {
  const client = connections.get(connectionId);
  if (client === undefined) return;
  const { since, rights } = client;
  if (tables.some((table) => changedParts.hasTable(table, since, rights))) throw new OutdatedUse();
}

/** Notes that a connection reads these tables once. Throws `OutdatedUse`. */
export function useTables(
  core: DatabaseCore,
  connectionId: ConnectionNumber,
  tables: readonly TableId[],
): void {
  requireCurrent(core, connectionId, tables);
  const client = core.connections.get(connectionId);
  if (client !== undefined) for (const table of tables) note(client, table);
}

/** Notes that a connection calls a function of the program. Throws `OutdatedUse`. */
export function useFunction(core: DatabaseCore, connection: RequestConnection, name: string): void {
  if (connection.kind !== 'open') return;
  const client = core.connections.get(connection.id);
  if (client === undefined) return;
  if (core.changedParts.hasFunction(name, client.since)) throw new OutdatedUse();
  const { reducers, procedures } = core.program;
  if (reducers.has(name) || procedures.has(name)) note(client, name);
}

/** Parts of the program alone are noted, so their number is bounded. */
function note(client: OpenClient, part: UsedPart): void {
  if (client.uses === undefined) client.uses = new Set([part]);
  else client.uses.add(part);
}

function isBroken(broken: BrokenParts, part: UsedPart, rights: Rights): boolean {
  if (typeof part === 'string') return broken.functions.has(part);
  return isTableBroken(broken, part, rights);
}

function isTableBroken(broken: BrokenParts, table: TableId, rights: Rights): boolean {
  return broken.tables.has(table) || (!rights.bypassesFilters && broken.filtered.has(table));
}
