import type { DatabaseDescription } from '../../database/description.ts';
import type {
  ArgumentsFault,
  Caller,
  CallOutcome,
  OneOffOutcome,
  RefusalBody,
  SubscribeOutcome,
  UnsubscribeOutcome,
} from '../../database/outcome.ts';
import type { LiveUpdate } from '../../live/live-update.ts';
import type { QueryDialect } from '../../live/query-dialect.ts';
import type { ConnectionNumber } from '../../values/connection-number.ts';

/**
 * A long-lived connection, as a door sees it. Requests are sent without waiting; the sink receives
 * their outcomes in the order in which the database produced them, among the changes of others.
 * Each request is answered once, unless the connection ends first.
 */
export interface LiveConnection {
  /** Requests run in the order in which they are sent. After the end they are dropped. */
  send(request: LiveRequest): void;
  /** Requests sent that are not answered. The door bounds it: nothing here does. */
  readonly unanswered: number;
  /** Answers and updates that are sent as soon as the commits that they report are durable. */
  readonly heldCount: number;
  /**
   * The running database, once it serves. An update that ends the connection does not show here:
   * the last rows that it receives are from before.
   */
  readonly description: DatabaseDescription | undefined;
  /**
   * Ends the connection: the calls that were sent still run, then its query sets are removed and
   * its `client_disconnected` runs. The sink receives nothing more.
   */
  close(): void;
}

export interface LiveOptions {
  readonly caller: Caller;
  /** 128 bits, never 0n. */
  readonly connectionId: ConnectionNumber;
  /** True: nothing is sent before it is durable. */
  readonly confirmed: boolean;
  /** The dialect of its queries; absent: the narrow one. */
  readonly dialect?: QueryDialect;
}

/** Receives the events of a connection; nothing that it throws is caught. */
export interface LiveSink {
  /** Receives what one database turn produced for this connection, in order; never empty. */
  deliver(events: readonly LiveEvent[]): void;
  /** The connection ended without being closed; nothing follows. */
  ended(reason: LiveEnd): void;
  /**
   * How long the oldest delivered event has waited for the client, in milliseconds; 0: nothing
   * waits. Absent: everything is taken at once.
   */
  waitingMillis?(): number;
}

/**
 * `refused`: `client_connected` rejected the client. `database`: it stopped, was deleted, crashed,
 * or an update broke its clients. `slow`: too much waits to become durable.
 */
export type LiveEnd = 'refused' | 'database' | 'slow';

/** A request of a door, which gets the same object back with the answer. */
export type LiveRequest = LiveCall | LiveSubscribe | LiveUnsubscribe | LiveOneOff | LiveProcedure;

export interface LiveCall {
  readonly kind: 'call';
  /** The client's own number; it is sent to others with the changes. */
  readonly requestId: number;
  readonly reducer: string;
  readonly args: Uint8Array | ArgumentsFault;
  /** Which definition the arguments were made for; `undefined` when the client made them. */
  readonly schemaVersion: number | undefined;
  /** False: the caller receives the changes like everyone else, not with the outcome. */
  readonly isCaller: boolean;
}

export interface LiveSubscribe {
  readonly kind: 'subscribe';
  readonly requestId: number;
  /** Unique among the sets of the connection. */
  readonly setId: number;
  readonly queries: readonly string[];
  /** False for clients that do not know of event tables. */
  readonly knowsEvents: boolean;
}

export interface LiveUnsubscribe {
  readonly kind: 'unsubscribe';
  readonly requestId: number;
  readonly setId: number;
  readonly withRows: boolean;
}

export interface LiveOneOff {
  readonly kind: 'oneOff';
  readonly requestId: number;
  readonly sql: string;
}

/** No module has procedures; the answer takes its turn among the others. */
export interface LiveProcedure {
  readonly kind: 'procedure';
  readonly requestId: number;
  readonly procedure: string;
}

export type LiveEvent =
  /** The first event; sent at once, whatever is durable. */
  | { readonly kind: 'connected' }
  | CalledEvent
  | {
      readonly kind: 'subscribed';
      readonly request: LiveSubscribe;
      readonly outcome: SubscribeOutcome;
    }
  | {
      readonly kind: 'unsubscribed';
      readonly request: LiveUnsubscribe;
      readonly outcome: UnsubscribeOutcome;
    }
  | { readonly kind: 'oneOff'; readonly request: LiveOneOff; readonly outcome: OneOffOutcome }
  | { readonly kind: 'noProcedure'; readonly request: LiveProcedure }
  /** Nothing ran. */
  | { readonly kind: 'refused'; readonly request: LiveRequest; readonly body: RefusalBody }
  | UpdatedEvent
  /** The set is gone: one of its queries could not be evaluated. */
  | { readonly kind: 'setFailed'; readonly setId: number; readonly error: string };

export interface CalledEvent {
  readonly kind: 'called';
  readonly request: LiveCall;
  readonly outcome: CallOutcome;
  /** When the call was accepted, in microseconds since the Unix epoch: its own timestamp. */
  readonly timestampMicros: bigint;
  /** Changes to the caller's own query sets. */
  readonly sets: readonly SetUpdate[];
}

/**
 * Changes of another client's commit. Connections for which they are the same, down to the ids of
 * their sets, get one object: doors cache what they derive from it.
 */
export interface UpdatedEvent {
  readonly kind: 'updated';
  /** `requestId` of the call that made it, or 0. */
  readonly requestId: number;
  /** The sets that changed, by ascending id; never empty. */
  readonly sets: readonly SetUpdate[];
}

export interface SetUpdate {
  readonly setId: number;
  /** By ascending name of the table; never empty. Each is shared by all watchers of the query. */
  readonly updates: readonly LiveUpdate[];
}
