import type { ConnectionNumber } from '../values/connection-number.ts';
import type { CallerIdentity, DatabaseIdentity } from '../values/identity-roles.ts';

/** A client that stays connected to a database. */
export interface Client {
  readonly id: ConnectionNumber;
  readonly identity: CallerIdentity;
  /** When it was let in, in milliseconds since the Unix epoch. */
  readonly sinceMillis: number;
  /** Its address, as far as trusted proxies tell it. */
  readonly address: string;
  /** The name of its protocol. */
  readonly protocol: string;
  /** Bytes that wait to be written to it, and that were of late, before compression. */
  readonly queuedBytes: number;
  readonly sentBytesPerSecond: number;
  /** Queries that it watches. */
  readonly queries: number;
  /** The host of the cluster that it is connected with, if that is another one than this. */
  readonly host?: string | undefined;
}

/** What of a client only the door knows that it is connected with. */
export type ClientTraffic = Pick<Client, 'queuedBytes' | 'sentBytesPerSecond' | 'queries'>;

/** Who is connected to which database; the door that holds the connections is one. */
export interface Clients {
  of(database: DatabaseIdentity): readonly Client[];
  /** The same, with what other hosts know of theirs; absent: there are none. Never rejects. */
  list?(database: DatabaseIdentity): Promise<readonly Client[]>;
  /** Ends the connections with that id, and returns how many these are. */
  disconnect(database: DatabaseIdentity, id: ConnectionNumber, reason: string): number;
}
