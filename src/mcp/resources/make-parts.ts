import { limits } from '../../limits.ts';
import type { WatchRequest } from '../../mcp-protocol/resource.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import { listedDatabases } from '../listed-databases.ts';
import { findDatabase, mayConcern } from '../open-database.ts';
import type { McpSession } from '../session.ts';
import { type Address, addressOf, type TableAddress } from './address.ts';
import { LogWatch } from './log-watch.ts';
import { SnapshotWatch } from './snapshot-watch.ts';
import { TablesWatch } from './tables-watch.ts';
import type { WatchedPart } from './watched-part.ts';

export interface WatchOptions {
  readonly request: WatchRequest;
  readonly session: McpSession;
  /** Returns the URIs of the resources listed for the session. */
  readonly list: () => Promise<readonly string[]>;
  /** Reads a resource for the session; `undefined`: it has no content. */
  readonly read: (address: Address) => Promise<string | undefined>;
}

/** Key of the list itself among the watched URIs, none of which is empty. */
export const listUri = '';

export interface Told {
  readonly changed: (uri: string) => void;
  /** Called when something cannot be read again. */
  readonly failed: (error: unknown) => void;
}

/** Splits a request into parts; the tables of a database share one connection. */
export function makeParts({ request, session, list, read }: WatchOptions, told: Told) {
  const parts: WatchedPart[] = [];
  const tables = new Map<string, Map<string, TableAddress>>();
  for (const uri of [...new Set(request.uris)].slice(0, limits.watchedResourcesMax)) {
    const address = addressOf(uri);
    if (address?.kind === 'table') {
      const ofDatabase = tables.get(address.database) ?? new Map<string, TableAddress>();
      tables.set(address.database, ofDatabase.set(uri, address));
    } else if (address?.kind === 'logs') {
      parts.push(new LogWatch({ session, uri, target: address.database, ...told }));
    } else if (address !== undefined) {
      const concerns = concernsOf(address, session);
      parts.push(new SnapshotWatch({ uri, read: () => read(address), concerns, ...told }));
    }
  }
  for (const [target, addresses] of tables) {
    parts.push(new TablesWatch({ session, target, addresses, ...told }));
  }
  if (request.list) {
    const readList = async () => (await list()).join('\n');
    const concerns = ofListed(session);
    parts.push(new SnapshotWatch({ uri: listUri, read: readList, concerns, ...told }));
  }
  return parts;
}

/** Whether a change of a database can affect the content of an address. */
function concernsOf(
  address: Address,
  session: McpSession,
): (database: DatabaseIdentity) => boolean {
  if (address.kind === 'page') return () => false;
  if (address.kind === 'databases') return ofListed(session);
  return (database) => mayConcern(address.database, session, database);
}

/** Whether a database is, or was until just now, listed for the session. */
function ofListed(session: McpSession): (database: DatabaseIdentity) => boolean {
  const { host, caller, database: own } = session;
  const listed = () => {
    const found = own === undefined ? undefined : findDatabase(own, session)?.database;
    const all = own === undefined ? listedDatabases(host, caller) : [found];
    return new Set(all.map((one) => one?.identity));
  };
  let before = listed();
  return (database) => {
    const now = listed();
    const isListed = before.has(database) || now.has(database);
    before = now;
    return isListed;
  };
}
