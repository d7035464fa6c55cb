import type { DatabaseDescription } from '../database/description.ts';
import type {
  ArgumentsFault,
  Caller,
  CallOutcome,
  OneOffOutcome,
  RefusalBody,
  SubscribeOutcome,
  UnsubscribeOutcome,
} from '../database/outcome.ts';
import type { LiveUpdate } from '../live/live-update.ts';
import type { QueryDialect } from '../live/query-dialect.ts';

/**
 * A connection that stays, as a door sees it. Requests are sent without waiting; what comes of them
 * is told to the sink, in the order in which the database did it, among the changes that others
 * made. Each request is answered once, unless the connection ends first.
 */
export interface LiveConnection {
  /** Requests run in the order in which they are sent. After the end they are dropped. */
  send(request: LiveRequest): void;
  /** Requests sent that are not answered. The door bounds it: nothing here does. */
  readonly unanswered: number;
  /** Answers and updates that are sent as soon as the commits that they report are durable. */
  readonly heldCount: number;
  /**
   * What serves, once it does. An update that ends the connection does not show: what it is told
   * last are rows of before.
   */
  readonly description: DatabaseDescription | undefined;
  /**
   * Ends the connection: the calls that were sent still run, then its query sets go and its
   * `client_disconnected` runs. The sink hears no more.
   */
  close(): void;
}

export interface LiveOptions {
  readonly caller: Caller;
  /** 128 bits, never 0n. */
  readonly connectionId: bigint;
  /** True: nothing is told before it is durable. */
  readonly confirmed: boolean;
  /** What its queries may say; absent: the narrow one. */
  readonly dialect?: QueryDialect;
}

/** Whom a connection tells what happens; nothing that it throws is caught. */
export interface LiveSink {
  /** What one turn of the database brought for this connection, in order; never empty. */
  deliver(events: readonly LiveEvent[]): void;
  /** The connection is gone, by itself; the last word. */
  ended(reason: LiveEnd): void;
  /**
   * For how long the oldest of what was delivered has waited for the client, in milliseconds; 0:
   * nothing waits. Absent: all is taken at once.
   */
  waitingMillis?(): number;
}

/**
 * `refused`: `client_connected` let nobody in. `database`: it stopped, was deleted, crashed, or an
 * update broke its clients. `slow`: too much waits for being durable.
 */
export type LiveEnd = 'refused' | 'database' | 'slow';

/** What a door asks for. It gets the very object back with the answer. */
export type LiveRequest = LiveCall | LiveSubscribe | LiveUnsubscribe | LiveOneOff | LiveProcedure;

export interface LiveCall {
  readonly kind: 'call';
  /** The client's own number; goes along with the changes that others are told of. */
  readonly requestId: number;
  readonly reducer: string;
  readonly args: Uint8Array | ArgumentsFault;
  /** Which definition the arguments were made for; `undefined` when the client made them. */
  readonly schemaVersion: number | undefined;
  /** False: the caller is told of the changes like everyone else, not with the outcome. */
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
  /** The first one; told at once, whatever is durable. */
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
  /** What it changed for the caller's own query sets. */
  readonly sets: readonly SetUpdate[];
}

/**
 * What a commit of someone else changed. Connections for which it is the same, down to the ids of
 * their sets, get one object: doors cache what they make of it.
 */
export interface UpdatedEvent {
  readonly kind: 'updated';
  /** `requestId` of the call that it was, or 0. */
  readonly requestId: number;
  /** Those that changed, by ascending id; never empty. */
  readonly sets: readonly SetUpdate[];
}

export interface SetUpdate {
  readonly setId: number;
  /** By ascending name of the table; never empty. Each is shared by all who watch the query. */
  readonly updates: readonly LiveUpdate[];
}
