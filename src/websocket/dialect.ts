import type { LiveEvent, LiveRequest } from '../host/feeds/live-connection.ts';
import type { ConnectionNumber } from '../values/connection-number.ts';
import type { CallerIdentity } from '../values/identity-roles.ts';
import type { Outgoing } from './outgoing.ts';

/** A request, or a promise of one that is being parsed in slices; later ones must wait for it. */
export type Asked = LiveRequest | Promise<LiveRequest>;

/**
 * One version of the messages, for one connection: decodes requests and encodes events. It knows
 * neither the socket nor the database.
 */
export interface Dialect {
  /**
   * Yields the requests of a client message as they are decoded, so requests before a fault take
   * effect. Throws `DecodeError`, whose text closes the connection.
   */
  requests(bytes: Uint8Array, isBinary: boolean): Iterable<Asked>;
  /** Messages held back until the client is admitted; they count as waiting requests. */
  readonly keptCount: number;
  /** Returns the messages for the events, in order, and the requests that follow from them. */
  told(events: readonly LiveEvent[]): Told;
}

export interface Told {
  readonly messages: readonly Outgoing[];
  readonly requests: readonly Asked[];
}

export const nothingTold: Told = { messages: [], requests: [] };

/** The identity behind a connection, as its first message states it. */
export interface Person {
  readonly identity: CallerIdentity;
  readonly connectionId: ConnectionNumber;
  /** The token that was presented, or the one created for an anonymous client. */
  readonly token: string;
}
