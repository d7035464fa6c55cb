import type { DatabaseDescription } from '../../database/description.ts';
import type {
  Caller,
  CallOutcome,
  CallRequest,
  HandlerOutcome,
  HandlerRequest,
  ProcedureOutcome,
  ProcedureRequest,
  Refusal,
  SqlOutcome,
  SqlRequest,
} from '../../database/outcome.ts';
import type { PreviewOutcome, PreviewRequest } from '../../database/preview-outcome.ts';
import type { ProgramSource, UpdatePermission } from '../../database/program-source.ts';
import type { ScheduleAsk, ScheduleOutcome } from '../../database/schedules/schedule-ask.ts';
import type { SnapshotOutcome } from '../../database/snapshots/snapshot-outcome.ts';
import type { TableFigures } from '../../database/table-figures.ts';
import type { ExportAsk, ExportOutcome } from '../../database/transfer/export-ask.ts';
import type { ImportOutcome, ImportRequest } from '../../database/transfer/import-request.ts';
import type { MigrationProgress, TrialReport, UpdateFigures } from '../../database/trial-report.ts';
import type { RollOutcome } from '../../database/turn.ts';
import type { WatchFigures } from '../../database/watch-figures.ts';
import type { ModuleDefinition } from '../../schema/definition.ts';
import type { ConnectionNumber } from '../../values/connection-number.ts';
import type {
  CopyClient,
  LiveConnection,
  LiveOptions,
  LiveSink,
} from '../feeds/live-connection.ts';
import type { HistoryAnswer, HistoryTask } from '../seats/history-task.ts';
import type { CopyHandle } from './copy-handle.ts';
import type { DatabaseStatistics } from './database-statistics.ts';
import type { DatabaseHealth } from './health.ts';
import type { CallCounts, VitalFigures } from './vitals.ts';

export type {
  DatabaseDescription,
  MigrationProgress,
  PreviewOutcome,
  PreviewRequest,
  ProgramSource,
  TableFigures,
  TrialReport,
  UpdatePermission,
};

/**
 * One running database as the doors see it. `supervised-database.ts` is the one implementation; it
 * runs the database in the caller's thread, on a thread or in a process of its own, and a door
 * cannot tell which. One contract suite covers them.
 *
 * Every method rejects with `Refusal` when nothing ran: `database.stopped`, `database.broken` (with
 * the reason it did not start), `database.overloaded`, `database.full` (of what writes). A request
 * opens a database that is closed. Requests made while it opens, also again after a crash, wait for
 * it; they are refused with `database.opening` when that takes too long, or when too many wait.
 * `database.lost` is the one exception: a crash left it unknown whether the request happened.
 */
export interface DatabaseHandle {
  /** Resolves once the database serves. */
  describe(): Promise<DatabaseDescription>;
  /** Reads of this host's copy, where another host leads the database. */
  readonly copy: CopyHandle;
  /** The last description, without waiting; `undefined` before the database has served. */
  readonly description: DatabaseDescription | undefined;
  call(request: CallRequest): Promise<CallOutcome>;
  /**
   * Runs a procedure, however long it takes. `signal`: the caller is gone; a procedure that has not
   * begun is dropped, and one that waits gets to know. It runs at most once: when a crash ends it,
   * the refusal is `database.lost`.
   */
  procedure(request: ProcedureRequest, signal?: AbortSignal): Promise<ProcedureOutcome>;
  /** Answers a request with a handler of the module. Otherwise as `procedure`. */
  answer(request: HandlerRequest, signal?: AbortSignal): Promise<HandlerOutcome>;
  /** Takes a snapshot of what is there now, however long it takes; `signal` cancels that. */
  snapshot(signal?: AbortSignal): Promise<SnapshotOutcome>;
  /** Seals the active segment of the log, so that only files that never change hold records. */
  roll(): Promise<RollOutcome>;
  /**
   * Does something with the files of its history, beside the database, which opens for it if it is
   * closed; `signal` stops that, and so does the end of its actor.
   */
  history(task: HistoryTask, signal?: AbortSignal): Promise<HistoryAnswer>;
  /** One step of an export. That rows are there is reported once they are durable. */
  export(caller: Caller, ask: ExportAsk): Promise<ExportOutcome>;
  /** Takes one batch of rows; if `isConfirmed`, durably, with all batches before. */
  import(batch: ImportRequest, isConfirmed: boolean): Promise<ImportOutcome>;
  query(request: SqlRequest): Promise<SqlOutcome>;
  /**
   * Reports what a call or a write would do, or does it if that has not changed: see
   * `PreviewRequest`. Applied work is durable when the request of the work says `confirmed`.
   */
  preview(request: PreviewRequest): Promise<PreviewOutcome>;
  /** The tables that the caller can read, with their definitions and sizes. */
  tables(caller: Caller): Promise<readonly TableFigures[]>;
  /** The queries that clients watch. */
  watches(): Promise<readonly WatchFigures[]>;
  /** Lists schedules as far as the caller may see them, or does something to them, durably. */
  schedules(caller: Caller, ask: ScheduleAsk): Promise<ScheduleOutcome>;
  /** Opens a connection that requests may name until `disconnect`, or until a crash ends it. */
  connect(caller: Caller, connectionId: ConnectionNumber): Promise<ConnectOutcome>;
  /** Also ends a read that has paused in a temporary connection of this id. */
  disconnect(connectionId: ConnectionNumber): Promise<void>;
  /**
   * Opens a long-lived connection, which can subscribe and receives changes. Throws `Refusal` at
   * once when the database does not serve and will not; a database that starts is waited for.
   * `client`: it goes on from this host's copy, where it can, when another host leads.
   */
  live(options: LiveOptions, sink: LiveSink, client?: CopyClient): LiveConnection;
  /** Plans a publish of `program`, or going back to it; runs nothing but its description. */
  plan(program: ProgramSource, wish?: PlanWish): Promise<PlanOutcome>;
  /**
   * Replaces the program and migrates the tables in one transaction; resolves when it is durable.
   * Rejects with `Refusal` and leaves everything as it was when the plan is refused or fails;
   * `durability.timeout` after `confirmMillis` undoes nothing. The same program does nothing.
   */
  update(
    program: ProgramSource,
    permission: UpdatePermission,
    confirmMillis: number,
    watch?: UpdateWatch,
  ): Promise<UpdateOutcome>;
  /**
   * Carries out what publishing `program` would do to the rows of this moment, and throws it away.
   * Rejects with `Refusal` if the plan is refused, or when `signal` cancels it. `isRollback`: the
   * program is an earlier one, and migrations that it lacks are undone.
   */
  trial(program: ProgramSource, signal?: AbortSignal, isRollback?: boolean): Promise<TrialReport>;
  /** The program that is running. */
  program(): Promise<ProgramSource>;
  /** Counters for metrics; never waits for the database. */
  statistics(): DatabaseStatistics;
  /** Never waits for the database, nor opens it. Cost: a look at each request and connection. */
  health(): DatabaseHealth;
  /** Outcomes of requests, and reasons for reopening the database, for metrics. */
  vitals(): VitalFigures;
  /** Calls of reducers, for canaries. */
  readonly calls: CallCounts;
  /** It will stop: aborts procedures and handlers that wait, so that they answer in time. */
  hurry(): void;
  /**
   * Lets accepted work finish, makes it durable and ends; it is killed after `millisMax`. Requests
   * that come, or still wait, get the refusal of `stopped`; absent: that it is stopped.
   */
  close(millisMax?: number, stopped?: () => Refusal): Promise<void>;
}

export type ConnectOutcome =
  | { readonly kind: 'connected' }
  /** The words of the module's `client_connected`. */
  | { readonly kind: 'refused'; readonly message: string };

/** Of a plan. */
export interface PlanWish {
  /** Whether it goes back to an earlier program. */
  readonly isRollback?: boolean | undefined;
  /** Aborts when nobody waits for it any more. */
  readonly signal?: AbortSignal | undefined;
}

/** Follows an update. */
export interface UpdateWatch {
  /** Before the swap it cancels the update: that rejects with `migration.cancelled`. */
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: MigrationProgress) => void) | undefined;
  /** Called as the program begins to be examined; not for the program that runs. */
  readonly examining?: (() => void) | undefined;
  /**
   * Called once the program was examined, before anything changes, and waited for; an error ends
   * the update. Not called for the program that runs.
   */
  readonly planned?: ((plan: PlannedUpdate) => Promise<void>) | undefined;
}

export interface PlannedUpdate {
  /** The definition of the running program. */
  readonly before: ModuleDefinition;
  readonly after: ModuleDefinition;
  /** Hash of the program that will run, in hex. */
  readonly program: string;
  /** The plan as people read it; empty also where it will be refused. */
  readonly text: string;
  /** Ids of the migrations that it applies. */
  readonly migrations: readonly string[];
}

export interface UpdateOutcome {
  /** True when the change breaks clients: every open connection was ended. */
  readonly endsConnections: boolean;
  /** Absent: nothing was updated, or nobody knows what it took. */
  readonly figures?: UpdateFigures | undefined;
}

export type PlanOutcome =
  | {
      readonly kind: 'automatic';
      /** For people; empty when nothing changes. */
      readonly text: string;
      /** The text with ANSI colours. */
      readonly colouredText: string;
      readonly breaksClients: boolean;
      readonly token: string;
      /** What the publisher should know, and may want. */
      readonly warnings: readonly string[];
    }
  | { readonly kind: 'manual'; readonly reason: string };
