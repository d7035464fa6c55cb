import type { RequestCaller } from '../../auth/caller.ts';
import type {
  CallOutcome,
  CallRequest,
  CommitOffset,
  ProcedureOutcome,
  ProcedureRequest,
  RefusalBody,
} from '../../database/outcome.ts';
import type { ConnectionNumber } from '../../values/connection-number.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';

/**
 * What a host asks of the leader of a database, for the clients that are attached to this one. An
 * attachment lasts from one leader to the next, and over a link that breaks and comes back: nothing
 * of that shows here but a pause. While this host leads, it waits: see `release`.
 */
export interface LeaderLine {
  /**
   * Has a client connected with the leader. Never throws, and calls nothing of `sink` before it has
   * returned: what comes of it, the sink hears.
   */
  attach(client: AttachedClient, sink: AttachedSink): Attachment;
  /**
   * False: the leader is a host of an earlier version, which takes no attached clients, as far as
   * this host knows. Absent: it always does.
   */
  reaches?(database: DatabaseIdentity): boolean;
}

/** A client as its host has settled it. Rights do not travel: the leader has its own registry. */
export interface AttachedClient {
  readonly database: DatabaseIdentity;
  /** 128 bits that no other connection of the cluster has, never 0n. */
  readonly connectionId: ConnectionNumber;
  readonly caller: RequestCaller;
  /** True: the leader tells outcomes when what they say is acknowledged. */
  readonly confirmed: boolean;
  /** Name of its protocol, for those who list connections. */
  readonly protocol: string;
  /** When it was let in, in milliseconds since the Unix epoch. */
  readonly sinceMillis: number;
  /**
   * True: it is connected already, because this host led the database. It is announced to the next
   * leader, and `client_connected` does not run. Absent: it runs.
   */
  readonly isConnected?: boolean;
}

/** One client's way to the leader. */
export interface Attachment {
  /**
   * Requests of one attachment take effect in the order in which they are sent, and none twice.
   * They may be sent before `connected`. After the end they are dropped.
   */
  send(request: AttachedRequest): void;
  /** Requests sent that are not answered. The door bounds it: nothing here does. */
  readonly unanswered: number;
  /**
   * False if a leader that has unanswered requests ended with its process, as far as is known. What
   * one that lives leaves out of the log was not done, and never will be.
   */
  readonly leaderLives: boolean;
  /**
   * The client has left: calls that were sent still run, then `client_disconnected` does. What
   * waits for a next leader is dropped. The sink hears nothing more.
   */
  close(): void;
  /**
   * This host leads now and goes on with the connection by itself, in the client table as it is: it
   * is forgotten here, and not disconnected. Returns the requests that no leader has had, in order.
   * The sink hears nothing more.
   */
  release(): readonly AttachedRequest[];
}

/** The leader gives nothing but its outcome: what others changed is this host's to show. */
export type AttachedRequest = AttachedCall | AttachedProcedure;

/** As a door has it; what else is on the object stays with it, and comes back with the answer. */
export interface AttachedCall extends Pick<CallRequest, 'reducer' | 'args' | 'schemaVersion'> {
  readonly kind: 'call';
  /** The client's own number. */
  readonly requestId: number;
}

export interface AttachedProcedure
  extends Pick<ProcedureRequest, 'procedure' | 'args' | 'schemaVersion'> {
  readonly kind: 'procedure';
  readonly requestId: number;
}

/** Receives what comes of an attachment; nothing that it throws is caught. */
export interface AttachedSink {
  /**
   * `client_connected` has let it in, and that is acknowledged if the client is confirmed. Called
   * once; not for one that `isConnected`. `offset`: it is in the client table as of this commit.
   */
  connected(offset: CommitOffset): void;
  /**
   * Called once for each request, in the order in which the leader produced the answers: calls in
   * the order in which they were sent, and procedures when they have ended.
   */
  answered(request: AttachedRequest, answer: AttachedAnswer): void;
  /** It ended without being closed; nothing follows, and requests stay unanswered. */
  ended(end: AttachedEnd): void;
}

export type AttachedAnswer =
  /**
   * `outcome.offset` is where it is in the history, which this host's copy may not have reached;
   * `timestampMicros`: when the leader accepted it, in microseconds since the Unix epoch.
   */
  | {
      readonly kind: 'called';
      readonly outcome: CallOutcome;
      readonly timestampMicros: bigint;
      /** The leader's last commit when it answered; absent: it is not known. */
      readonly offset?: CommitOffset | undefined;
    }
  /** What it committed ends at `outcome.committed.offset`. */
  | {
      readonly kind: 'procedure';
      readonly outcome: ProcedureOutcome;
      readonly offset?: CommitOffset | undefined;
    }
  /** Nothing ran. `database.noLeader`: nobody led for `waitLeaderMillis`. */
  | { readonly kind: 'refused'; readonly body: RefusalBody }
  /**
   * A leader had it, and was lost: it may be in the history, or never will be. The attachment goes
   * on with the next leader. `leaderLives`: see `Attachment`.
   */
  | { readonly kind: 'unknown'; readonly body: RefusalBody; readonly leaderLives?: boolean };

export type AttachedEnd =
  /**
   * As at the leader: `refused` by `client_connected`; `schema`: an update broke its clients;
   * `slow`: it has too many answers that nobody takes; `database`: the database is gone, or the
   * connection is of no leader's client table, because it was announced too late: close code 1012.
   */
  | { readonly kind: 'live'; readonly reason: 'refused' | 'database' | 'schema' | 'slow' }
  /** The leader closes it: rights lost, token revoked, or an operator. */
  | { readonly kind: 'closed'; readonly code: number; readonly reason: string }
  /** It was not let in: no leader in time, no such database, or a token that is not valid. */
  | { readonly kind: 'turnedAway'; readonly body: RefusalBody };
