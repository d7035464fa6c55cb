import type { DatabaseDescription } from '../../database/description.ts';
import type { SetId } from '../../database/live/set-id.ts';
import type {
  CallOutcome,
  CallRequest,
  OneOffOutcome,
  OneOffRequest,
  OpenConnection,
  ProcedureOutcome,
  ProcedureRequest,
  RefusalBody,
  ResumeOutcome,
  ResumeRequest,
  SubscribeOutcome,
  SubscribeRequest,
  UnsubscribeOutcome,
  UnsubscribeRequest,
} from '../../database/outcome.ts';
import type { Staying } from '../../database/turn.ts';
import type { LiveUpdate } from '../../live/live-update.ts';
import type { CommitOffset } from '../../store/commit-offset.ts';
import type { AttachedClient } from '../replication/leader-line.ts';
import type { FarSurroundings } from './far-surroundings.ts';

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
  /** Queries that it watches. */
  readonly queryCount: number;
  /** Answers and updates that are sent as soon as the commits that they report are durable. */
  readonly heldCount: number;
  /**
   * The running database, once it serves. An update that ends the connection does not show here:
   * the last rows that it receives are from before.
   */
  readonly description: DatabaseDescription | undefined;
  /**
   * Ends the connection: the calls that were sent still run, then its query sets are removed and
   * its `client_disconnected` runs. Procedures that have not begun are dropped, and those that wait
   * get to know. The sink receives nothing more.
   */
  close(): void;
}

export interface LiveOptions extends OpenConnection {
  /** True: nothing is sent before it is durable. */
  readonly confirmed: boolean;
  /** Present: it reads this host's copy, and its calls go to the host that leads. */
  readonly far?: FarSurroundings;
  /** Present: it can go on so when this host leads no more. */
  readonly moves?: FarSurroundings | undefined;
  /** Set for a client that is connected with another host, and watches nothing here. */
  readonly attached?: AttachedOptions | undefined;
}

/** A client that reads this host's copy, or can, as its door knows it. */
export interface CopyClient extends Pick<AttachedClient, 'caller' | 'protocol' | 'sinceMillis'> {
  /** See `FarSurroundings`. */
  readonly reach: (offset: number) => void;
}

export interface AttachedOptions {
  /** See `ConnectRequest`. */
  readonly stays: Staying | undefined;
  /** Called when it was closed and is out of the client table; not if its actor ends before. */
  readonly left: () => void;
}

/** Receives the events of a connection; nothing that it throws is caught. */
export interface LiveSink {
  /**
   * Receives what one database turn produced for this connection, in order; never empty.
   * `position`: with these events it has all that concerns it up to that commit.
   */
  deliver(events: readonly LiveEvent[], position: CommitOffset | undefined): void;
  /**
   * The connection ended without being closed; nothing follows. `undone`: requests without an
   * answer of which nothing was done, in the order in which they were sent.
   */
  ended(reason: LiveEnd, undone: readonly LiveRequest[]): void;
  /** The same, where the host that leads has ended it; absent: as for `database`. */
  closed?(code: number, reason: string): void;
  /** It reads this host's copy from now on: another host leads. */
  moved?(): void;
  /**
   * How long the oldest delivered event has waited for the client, in milliseconds; 0: nothing
   * waits. Absent: everything is taken at once.
   */
  waitingMillis?(): number;
}

/**
 * `refused`: `client_connected` rejected the client. `database`: it stopped, was deleted or
 * crashed. `schema`: an update broke its clients. `slow`: too much waits to become durable.
 */
export type LiveEnd = 'refused' | 'database' | 'schema' | 'slow';

/**
 * A request of a door, which gets the same object back with the answer: what the database is asked,
 * and what the client adds for itself.
 */
export type LiveRequest =
  | LiveCall
  | LiveSubscribe
  | LiveResume
  | LiveUnsubscribe
  | LiveOneOff
  | LiveProcedure;

export interface LiveCall extends Pick<CallRequest, 'reducer' | 'args' | 'schemaVersion'> {
  readonly kind: 'call';
  /** The client's own number; it is sent to others with the changes. */
  readonly requestId: number;
  /** False: the caller receives the changes like everyone else, not with the outcome. */
  readonly isCaller: boolean;
}

export interface LiveSubscribe extends SubscribeRequest {
  readonly kind: 'subscribe';
  readonly requestId: number;
}

export interface LiveResume extends Omit<ResumeRequest, 'confirmed'> {
  readonly kind: 'resume';
  readonly requestId: number;
}

export interface LiveUnsubscribe extends UnsubscribeRequest {
  readonly kind: 'unsubscribe';
  readonly requestId: number;
}

export interface LiveOneOff extends OneOffRequest {
  readonly kind: 'oneOff';
  readonly requestId: number;
}

/** It begins in its turn, and may end after requests that were sent later. */
export interface LiveProcedure
  extends Pick<ProcedureRequest, 'procedure' | 'args' | 'schemaVersion'> {
  readonly kind: 'procedure';
  readonly requestId: number;
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
  | ResumedEvent
  | {
      readonly kind: 'unsubscribed';
      readonly request: LiveUnsubscribe;
      readonly outcome: UnsubscribeOutcome;
    }
  | { readonly kind: 'oneOff'; readonly request: LiveOneOff; readonly outcome: OneOffOutcome }
  /** What it committed came before, as `updated`. */
  | {
      readonly kind: 'procedure';
      readonly request: LiveProcedure;
      readonly outcome: ProcedureOutcome;
    }
  /** Nothing ran. */
  | { readonly kind: 'refused'; readonly request: LiveRequest; readonly body: RefusalBody }
  | UpdatedEvent
  /** The set is gone: one of its queries could not be evaluated. */
  | { readonly kind: 'setFailed'; readonly setId: SetId; readonly error: string };

/** `missed`: what the client gets now, before anything that happens from here on. */
export interface ResumedEvent {
  readonly kind: 'resumed';
  readonly request: LiveResume;
  readonly outcome: ResumeOutcome;
  readonly missed: readonly UpdatedEvent[];
}

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
  readonly offset: CommitOffset;
  /** The sets that changed, by ascending id; never empty. */
  readonly sets: readonly SetUpdate[];
}

export interface SetUpdate {
  readonly setId: SetId;
  /** By ascending name of the table; never empty. Each is shared by all who watch the query. */
  readonly updates: readonly LiveUpdate[];
}
