import type { LiveEvent, LiveRequest } from '../host/live-connection.ts';
import type { Outgoing } from './outgoing.ts';

/** A request, or one whose text is still read, in slices: what comes behind it has to wait. */
export type Asked = LiveRequest | Promise<LiveRequest>;

/**
 * One version of the messages, for one connection: what its frames ask for, and what it is told.
 * It knows neither the socket nor the database.
 */
export interface Dialect {
  /**
   * The requests of a message of the client, decoded one by one: those before a fault are there
   * before it is thrown, and count. Throws `DecodeError`, whose text closes the connection.
   */
  requests(bytes: Uint8Array, isBinary: boolean): Iterable<Asked>;
  /** Messages that it keeps until the client is let in; they are requests that wait, too. */
  readonly keptCount: number;
  /** The messages that events make, in their order, and the requests that follow from them. */
  told(events: readonly LiveEvent[]): Told;
}

export interface Told {
  readonly messages: readonly Outgoing[];
  readonly requests: readonly Asked[];
}

export const nothingTold: Told = { messages: [], requests: [] };

/** Whose connection it is, as its first message says. */
export interface Person {
  readonly identity: bigint;
  readonly connectionId: bigint;
  /** As presented, or as made for somebody without one. */
  readonly token: string;
}
