import type { CommitOffset } from '../database/outcome.ts';
import type { LiveEvent, LiveRequest } from '../host/feeds/live-connection.ts';
import type { ConnectionNumber } from '../values/connection-number.ts';
import type { CallerIdentity } from '../values/identity-roles.ts';
import type { QueuedMessage } from './send-queue.ts';

/** A request, or a promise of one that is being parsed in slices; later ones must wait for it. */
export type DecodedRequest = LiveRequest | Promise<LiveRequest>;

/**
 * One version of the messages, for one connection: decodes requests and encodes events. It knows
 * neither the socket nor the database.
 */
export interface MessageCodec {
  /**
   * Yields the requests of a client message as they are decoded, so requests before a fault take
   * effect. Throws `DecodeError`, whose text closes the connection.
   */
  decode(bytes: Uint8Array, isBinary: boolean): Iterable<DecodedRequest>;
  /** Messages held back until the client is admitted; they count as waiting requests. */
  readonly keptCount: number;
  /**
   * Returns the messages for the events, in order, and the requests that follow from them;
   * `position`: see `LiveSink`.
   */
  encode(events: readonly LiveEvent[], position?: CommitOffset): Encoded;
}

/** What the events of one delivery come to. */
export interface Encoded<Message extends QueuedMessage = QueuedMessage> {
  readonly messages: readonly Message[];
  /** Where the client is when it has each of them; absent: its version does not tell. */
  readonly offsets?: readonly number[];
  readonly requests: readonly DecodedRequest[];
}

export const noMessages: Encoded = { messages: [], requests: [] };

/** The identity behind a connection, as its first message states it. */
export interface Person {
  readonly identity: CallerIdentity;
  readonly connectionId: ConnectionNumber;
  /** The token that was presented, or the one created for an anonymous client. */
  readonly token: string;
}
