import type { LogPlace } from '../log/log-options.ts';
import type { ConnectionNumber } from '../values/connection-number.ts';
import type { DatabaseDescription } from './description.ts';
import type { LiveCommit } from './live/live-commit.ts';
import type { OwnCommit } from './live/own-commit.ts';
import type {
  Caller,
  CallOutcome,
  CallRequest,
  CommitOffset,
  HandlerOutcome,
  HandlerRequest,
  OneOffOutcome,
  OneOffRequest,
  OpenConnection,
  ProcedureOutcome,
  ProcedureRequest,
  RefusalBody,
  ResumeOutcome,
  ResumeRequest,
  SqlOutcome,
  SqlRequest,
  SubscribeOutcome,
  SubscribeRequest,
  UnsubscribeOutcome,
  UnsubscribeRequest,
} from './outcome.ts';
import type { PreviewOutcome, PreviewRequest } from './preview-outcome.ts';
import type { ProgramSource, UpdatePermission } from './program-source.ts';
import type { EndedRuns } from './schedules/ended-runs.ts';
import type { ScheduleAsk, ScheduleOutcome } from './schedules/schedule-ask.ts';
import type { SnapshotOutcome } from './snapshots/snapshot-outcome.ts';
import type { TableFigures } from './table-figures.ts';
import type { Ticket } from './ticket.ts';
import type { ExportAsk, ExportOutcome } from './transfer/export-ask.ts';
import type { ImportOutcome, ImportRequest } from './transfer/import-request.ts';
import type { MigrationProgress, TrialReport, UpdateFigures } from './trial-report.ts';
import type { WatchFigures } from './watch-figures.ts';
import type { WriteNumber } from './write-number.ts';

/**
 * A request as the actor receives it. The owner numbers requests with ascending *tickets*; the
 * actor answers each ticket once, unless it stops; `reading` and `migrating` are no answers, but
 * promise one.
 */
export interface TicketedRequest {
  readonly ticket: Ticket;
  readonly request: DatabaseRequest;
  /** When the owner accepted it, in microseconds since the Unix epoch: the call's timestamp. */
  readonly acceptedMicros: bigint;
}

/** Why a procedure or a handler is cancelled. */
export type CancelReason = 'gone' | 'stop';

export type DatabaseRequest =
  | { readonly kind: 'call'; readonly call: CallRequest }
  /** Answered when the procedure has ended, in a later turn. */
  | { readonly kind: 'procedure'; readonly procedure: ProcedureRequest }
  /** Answered when the handler has ended, in a later turn. */
  | { readonly kind: 'handler'; readonly handler: HandlerRequest }
  /**
   * The caller of that procedure, or snapshot, or the client of that handler, is gone; or the
   * service stops, and it has to answer soon.
   */
  | { readonly kind: 'cancel'; readonly of: Ticket; readonly why: CancelReason }
  | { readonly kind: 'query'; readonly query: SqlRequest }
  | { readonly kind: 'preview'; readonly preview: PreviewRequest }
  /** Asks for the structure and the size of tables. */
  | { readonly kind: 'tables'; readonly caller: Caller }
  /** Asks which queries are watched. */
  | { readonly kind: 'watches' }
  /** `caller`: whose rights decide which rows are listed. */
  | { readonly kind: 'schedules'; readonly caller: Caller; readonly ask: ScheduleAsk }
  /** Asks for a snapshot of what is there now; answered in a later turn when it is complete. */
  | { readonly kind: 'snapshot' }
  /** Has the active segment of the log sealed; answered in a later turn, when that is durable. */
  | { readonly kind: 'roll' }
  /** A step of an export. */
  | { readonly kind: 'export'; readonly caller: Caller; readonly ask: ExportAsk }
  /** Takes a batch of rows, in a transaction of its own. */
  | { readonly kind: 'import'; readonly batch: ImportRequest }
  | ConnectRequest
  /** Removes the connection's query sets first. */
  | { readonly kind: 'disconnect'; readonly connectionId: ConnectionNumber }
  | {
      readonly kind: 'subscribe';
      readonly connection: OpenConnection;
      readonly subscribe: SubscribeRequest;
    }
  | {
      readonly kind: 'resume';
      readonly connection: OpenConnection;
      readonly resume: ResumeRequest;
    }
  | {
      readonly kind: 'unsubscribe';
      readonly connectionId: ConnectionNumber;
      readonly unsubscribe: UnsubscribeRequest;
    }
  | {
      readonly kind: 'oneOff';
      readonly connection: OpenConnection;
      readonly oneOff: OneOffRequest;
    }
  /** Asks for the program that is serving. */
  | { readonly kind: 'program' }
  | UpdateRequest;

/** Opens a connection that later requests can name. */
export interface ConnectRequest {
  readonly kind: 'connect';
  readonly caller: Caller;
  /** 128 bits, never 0n. */
  readonly connectionId: ConnectionNumber;
  /** Absent: it is new. */
  readonly stays?: Staying | undefined;
}

/**
 * A connection of the actor before, whose client has not left: it goes on without
 * `client_connected`. `announced`: it was let in, and is refused if it was ended meanwhile.
 * `perhaps`: nobody knows whether it was; otherwise it is new.
 */
export type Staying = 'announced' | 'perhaps';

export interface UpdateRequest {
  readonly kind: 'update';
  readonly program: ProgramSource;
  readonly permission: UpdatePermission;
  /** True: it is carried out on the rows of this moment and thrown away; see `trial-report.ts`. */
  readonly isTrial?: boolean;
}

export type DatabaseReply =
  | { readonly kind: 'called'; readonly outcome: CallOutcome }
  | { readonly kind: 'procedure'; readonly outcome: ProcedureOutcome }
  | { readonly kind: 'handler'; readonly outcome: HandlerOutcome }
  /** The procedure, or the handler, is answered too. */
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'queried'; readonly outcome: SqlOutcome }
  | { readonly kind: 'previewed'; readonly outcome: PreviewOutcome }
  | { readonly kind: 'tables'; readonly tables: readonly TableFigures[] }
  | { readonly kind: 'watches'; readonly watches: readonly WatchFigures[] }
  | { readonly kind: 'schedules'; readonly outcome: ScheduleOutcome }
  | { readonly kind: 'snapshot'; readonly outcome: SnapshotOutcome }
  | { readonly kind: 'rolled'; readonly outcome: RollOutcome }
  | { readonly kind: 'exported'; readonly outcome: ExportOutcome }
  | { readonly kind: 'imported'; readonly outcome: ImportOutcome }
  /** `refusal`: the message of a `client_connected` that rejected the client. */
  | { readonly kind: 'connected'; readonly refusal: string | undefined }
  | { readonly kind: 'disconnected' }
  | { readonly kind: 'subscribed'; readonly outcome: SubscribeOutcome }
  | { readonly kind: 'resumed'; readonly outcome: ResumeOutcome }
  | { readonly kind: 'unsubscribed'; readonly outcome: UnsubscribeOutcome }
  | { readonly kind: 'oneOff'; readonly outcome: OneOffOutcome }
  /**
   * Reply to `subscribe`, `unsubscribe` or `oneOff` whose rows are those of this moment but will be
   * sent later, in a second reply. Commits made meanwhile come between the two.
   */
  | {
      readonly kind: 'reading';
      /** Numbers of the queries that a new set watches from now on. */
      readonly queries: readonly number[];
    }
  | { readonly kind: 'program'; readonly program: ProgramSource }
  /** The program that its connection knew has changed in what the request uses: it was ended. */
  | { readonly kind: 'outdated' }
  | {
      readonly kind: 'updated';
      readonly description: DatabaseDescription;
      /** Whether the change breaks clients. */
      readonly endsConnections: boolean;
      /** Open connections that were ended: those of clients that it breaks. */
      readonly ended: readonly ConnectionNumber[];
      /** Absent: the program was the one that serves. */
      readonly figures?: UpdateFigures | undefined;
    }
  /** Answers an update that was a trial. */
  | { readonly kind: 'tried'; readonly report: TrialReport }
  /** An update goes on, and is answered later. */
  | { readonly kind: 'migrating'; readonly progress: MigrationProgress }
  | { readonly kind: 'refused'; readonly body: RefusalBody };

/** `place`: the end of the sealed files, which are durable. `failed`: nothing has changed. */
export type RollOutcome =
  | { readonly kind: 'sealed'; readonly place: LogPlace }
  | { readonly kind: 'failed'; readonly message: string };

/**
 * The results of one turn. Its records are written when it is handed over: they survive the end of
 * the process, and of the machine once `durable` names this write or a later one.
 */
export interface TurnReport {
  readonly results: readonly TurnResult[];
  /**
   * The commits of the turn that affected live queries, in order; `inOrder` interleaves them with
   * the results.
   */
  readonly commits: readonly LiveCommit[];
  /** Counts the writes of this actor; a reply depends on writes up to this one at most. */
  readonly write: WriteNumber;
  /** True if that write is already durable; `durable` does not report it again. */
  readonly isDurable: boolean;
  /** The store's offset at the end of the turn. */
  readonly offset: CommitOffset;
  /** When the next scheduled run is due; `undefined`: none is to come. */
  readonly nextDueMicros: bigint | undefined;
  /** Runs of schedules that have ended since the last turn; absent: none. */
  readonly runs?: readonly EndedRuns[];
  /**
   * Of a copy that follows another host: the commits of connections that read it, by ascending
   * offset, whether they affected live queries or not; absent: none.
   */
  readonly own?: readonly OwnCommit[];
}

export interface TurnResult {
  readonly ticket: Ticket;
  readonly reply: DatabaseReply;
}

/** Results and commits of a turn in order of events: a commit of a call precedes its result. */
export function* inOrder({
  results,
  commits,
}: Pick<TurnReport, 'results' | 'commits'>): Generator<TurnResult | LiveCommit, void, void> {
  let next = 0;
  for (const commit of commits) {
    for (; next < commit.resultsBefore; next++) yield results[next] as TurnResult;
    yield commit;
  }
  for (; next < results.length; next++) yield results[next] as TurnResult;
}

/** Why an actor ended on its own. */
export interface StopReason {
  /** The error thrown: a failure of the disk or the log, or a broken invariant. */
  readonly error: unknown;
  /** Ticket of the request that was running. */
  readonly running: Ticket | undefined;
  /** True if nothing remains of requests not handed over, so all of them can be retried. */
  readonly isUndone?: boolean;
}

/**
 * The receiver of the actor's reports: `host`, or a simulation. Called between transactions, never
 * within one.
 */
export interface DatabaseOwner {
  handOver(turn: TurnReport): void;
  /** Write number `write` and all before it, hence all commits up to `offset`, are durable. */
  durable(write: WriteNumber, offset: CommitOffset): void;
  /** The actor is gone; what was not handed over did not happen, unless `writing` announced it. */
  stopped(reason: StopReason): void;
}
