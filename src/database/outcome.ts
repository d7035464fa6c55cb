import type { QueryRows } from '../live/live-update.ts';
import type { QueryDialect } from '../live/query-dialect.ts';
import type { RowSet } from '../live/row-set.ts';
import type { HandlerResponse } from '../module/handler-response.ts';
import type { LaneCall } from '../module/lane.ts';
import type { TableId } from '../schema/ids.ts';
import type { Rights } from '../sql/rights.ts';
import type { CommitOffset } from '../store/commit-offset.ts';
import type { ConnectionNumber } from '../values/connection-number.ts';
import type { CallerIdentity } from '../values/identity-roles.ts';
import type { NamedType, Typespace } from '../values/type.ts';
import type { ListedPart } from './cluster-rows.ts';
import type { LiveCommit } from './live/live-commit.ts';
import type { SetId } from './live/set-id.ts';

export type { CommitOffset, Rights };

/** The caller of a request. Fixed at the door; nothing behind it looks at a token again. */
export interface Caller {
  readonly identity: CallerIdentity;
  /** What the caller may do in this database. */
  readonly rights: Rights;
  /** Payload of the caller's token as JSON text, for the module's auth context; empty = none. */
  readonly jwtPayload: string;
  /** True if the caller came without a token and got a new identity. */
  readonly isAnonymous?: boolean;
}

/** One reducer call as a door hands it over. */
export interface CallRequest {
  readonly caller: Caller;
  readonly connection: RequestConnection;
  /** Canonical name, as the caller wrote it. */
  readonly reducer: string;
  /**
   * Encoded product of the parameters, made for the definition of `schemaVersion`; or the reason
   * why the door could not encode it. Such a call still runs the lifecycle reducers around it, then
   * ends in `arguments.invalid` (or `reducer.unknown`, which comes first).
   */
  readonly args: Uint8Array | ArgumentsFault;
  /**
   * From `DatabaseDescription`; a call with an outdated version is rejected with `schema.changed`,
   * to be retried. `undefined`: the client encoded the arguments, and the program that runs decodes
   * them.
   */
  readonly schemaVersion: number | undefined;
  /** True if the outcome is handed over only when everything it may have read is durable. */
  readonly confirmed: boolean;
  /**
   * A committed outcome is kept under this key (`kept-outcomes.ts`), and given again to the same
   * call. The door has checked it.
   */
  readonly idempotencyKey?: string;
}

/** The caller's arguments do not fit the parameters; `fault` describes how. */
export interface ArgumentsFault {
  readonly fault: string;
}

/**
 * `open`: a connection announced by `connect`. `temporary`: it exists for this request alone, so
 * the lifecycle reducers run around it.
 */
export interface RequestConnection {
  readonly kind: 'open' | 'temporary';
  /** 128 bits, never 0n. */
  readonly id: ConnectionNumber;
}

export type CallOutcome =
  | {
      readonly kind: 'committed';
      readonly offset: CommitOffset;
      /** Encoded by the type that the reducer declares; absent if it returns nothing. */
      readonly value?: Uint8Array;
      /** Rows that it added to tables and removed from them; absent, or 0: none. */
      readonly rows?: number;
      readonly micros: number;
    }
  | { readonly kind: 'aborted'; readonly error: CallError; readonly micros: number };

export type CallError =
  /** The reducer does not exist, or this caller must not learn that it does. */
  | { readonly code: 'reducer.unknown'; readonly reducer: string }
  | {
      readonly code: 'reducer.notCallable';
      readonly lifecycle: 'init' | 'onConnect' | 'onDisconnect';
    }
  | { readonly code: 'arguments.invalid'; readonly message: string }
  /** The module threw `SenderError`. */
  | { readonly code: 'reducer.refused'; readonly message: string }
  /** The module threw `CallError`: `value` is encoded by the type the reducer declares for it. */
  | {
      readonly code: 'reducer.refusedWithValue';
      readonly message: string;
      readonly value: Uint8Array;
    }
  /** The reducer declares a type for its errors but threw a plain message. */
  | { readonly code: 'reducer.refusedWithoutValue'; readonly message: string }
  /** The module threw anything else; the details are only in its log. */
  | { readonly code: 'reducer.crashed' }
  /** Ended from outside, for time or memory. The text names the limit. */
  | { readonly code: 'reducer.overBudget'; readonly message: string }
  /** The database, or its owner, has reached its quota. The text names the limit. */
  | { readonly code: 'quota.exceeded'; readonly message: string }
  /** The caller has read-only rights. */
  | { readonly code: 'call.readOnly'; readonly message: string }
  /** `client_connected` refused the caller. */
  | { readonly code: 'connection.refused'; readonly message: string }
  /** Its idempotency key is that of another call, or the outcome cannot be kept or shown. */
  | { readonly code: 'idempotency.refused'; readonly message: string }
  /** As many outcomes are kept as may be: of the caller, or of the database. */
  | { readonly code: 'idempotency.tooMany'; readonly message: string }
  | { readonly code: 'schema.changed' };

/** One procedure call as a door hands it over. */
export interface ProcedureRequest {
  readonly caller: Caller;
  readonly connection: RequestConnection;
  /** Canonical name, as the caller wrote it. */
  readonly procedure: string;
  /** As of a reducer call. */
  readonly args: Uint8Array | ArgumentsFault;
  /** As of a reducer call. */
  readonly schemaVersion: number | undefined;
  /** True if the outcome is handed over only when what the procedure committed is durable. */
  readonly confirmed: boolean;
}

export type ProcedureOutcome =
  | {
      readonly kind: 'returned';
      /** Encoded by the type that the procedure declares. */
      readonly value: Uint8Array;
      /** When the call was accepted, in microseconds since 1970. */
      readonly timestampMicros: bigint;
      /** What its transactions committed; absent: nothing. */
      readonly committed?: Committed;
      readonly micros: number;
    }
  | {
      readonly kind: 'failed';
      readonly error: ProcedureError;
      readonly committed?: Committed;
      readonly micros: number;
    };

/** One HTTP request for a handler of the module, as a door hands it over. */
export interface HandlerRequest {
  /** One without an identity where the handler declares no authentication. */
  readonly caller: Caller;
  /** Canonical name. */
  readonly handler: string;
  /** Encoded, without the body. */
  readonly head: Uint8Array;
  readonly body: Uint8Array;
  /** Parameters of the path. */
  readonly params: NonNullable<LaneCall['params']>;
  /** As whose it counts while it is in flight, if its caller is anonymous. */
  readonly client: string;
  /** From `DatabaseDescription`: of the definition in which the handler was found. */
  readonly schemaVersion: number;
  /** True if the response is handed over only when what the handler committed is durable. */
  readonly confirmed: boolean;
}

/** What the transactions of a procedure, or of a handler, have committed. */
export interface Committed {
  /** The last of them. */
  readonly offset: CommitOffset;
  /** Rows that they added to tables and removed from them. */
  readonly rows: number;
}

export type HandlerOutcome =
  | {
      readonly kind: 'answered';
      readonly response: HandlerResponse;
      readonly body: Uint8Array;
      /** As of a procedure. */
      readonly committed?: Committed;
      readonly micros: number;
    }
  | {
      readonly kind: 'failed';
      readonly error: ProcedureError;
      readonly committed?: Committed;
      readonly micros: number;
    };

/** Handlers fail in the same ways as procedures: both run on lanes. */
export type ProcedureError =
  /** The procedure does not exist, or this caller must not learn that it does. */
  | { readonly code: 'procedure.unknown'; readonly procedure: string }
  | { readonly code: 'arguments.invalid'; readonly message: string }
  /** The module threw, a `SenderError` included; `message` is what it threw. */
  | { readonly code: 'procedure.failed'; readonly message: string }
  /** Ended from outside, for time or memory. The text names the limit. */
  | { readonly code: 'procedure.overBudget'; readonly message: string }
  /** Ended because its database stops, or because its lane ended for another call. */
  | { readonly code: 'procedure.stopped'; readonly message: string }
  /** Too many are in flight: of this caller, or of the database. A retry may succeed. */
  | {
      readonly code: 'procedure.busy';
      readonly message: string;
      readonly of: 'caller' | 'database';
    }
  /** The caller has read-only rights. */
  | { readonly code: 'call.readOnly'; readonly message: string }
  /** `client_connected` refused the caller. */
  | { readonly code: 'connection.refused'; readonly message: string }
  | { readonly code: 'schema.changed' };

/** One SQL statement as a door hands it over. */
export interface SqlRequest {
  readonly caller: Caller;
  readonly connection: RequestConnection;
  readonly sql: string;
  /** Values of `$1` and `:name`, keyed by the text after the mark. */
  readonly parameters?: SqlParameters;
  /** Running time after which it is stopped; if absent or larger, the general limit applies. */
  readonly millisMax?: number;
  /** What `st_cluster` shows: the door gives it to operators whose statement names that table. */
  readonly cluster?: readonly ListedPart[];
  readonly confirmed: boolean;
}

/**
 * A number is given as its digits: like a literal it takes the type of its place. A list is an
 * array.
 */
export type SqlParameters = ReadonlyMap<string, SqlParameter | readonly SqlParameter[]>;

export type SqlParameter = string | boolean | null;

export type SqlOutcome =
  | {
      readonly kind: 'result';
      /** Empty for a statement that returns no rows. Types hold no refs, except recursive ones. */
      readonly columns: readonly NamedType[];
      /** The typespace that those refs index. */
      readonly types: Typespace;
      /** Encoded rows, one after another, each the product of `columns`. */
      readonly rows: Uint8Array;
      readonly rowCount: number;
      readonly inserted: number;
      readonly deleted: number;
      readonly updated: number;
      readonly offset: CommitOffset;
      /** Canonical names of what a read by a limited token has read; absent for everyone else. */
      readonly tables?: readonly string[];
      readonly micros: number;
    }
  | { readonly kind: 'failed'; readonly error: SqlError; readonly micros: number };

/** The result of a statement, without its time. */
export type SqlRows = Omit<
  Extract<SqlOutcome, { readonly kind: 'result' }>,
  'kind' | 'offset' | 'tables' | 'micros'
>;

export type SqlError =
  /**
   * The text is exact (see docs/guide/sql.md) and for the caller; doors may shorten `sql.noTable`.
   */
  | (SqlErrorParts & { readonly code: 'sql.noTable'; readonly table: string })
  | (SqlErrorParts & {
      readonly code:
        | 'sql.notAuthorized'
        | 'sql.invalid'
        | 'sql.invalidParameter'
        | 'sql.noHistory'
        | 'sql.overBudget'
        /** Too many statements run, or they hold too much memory; a retry may succeed. */
        | 'sql.busy'
        /** The database, or its owner, has reached its quota. */
        | 'quota.exceeded'
        /** A bug in the engine; nothing was changed. */
        | 'sql.internal'
        | 'connection.refused';
    });

interface SqlErrorParts {
  readonly message: string;
  /** Position in the statement; both counted from 1. */
  readonly place?: { readonly line: number; readonly column: number };
  /** A suggestion, for instance the nearest name that the caller may see. */
  readonly hint?: string;
}

/** A connection that stays open, as its requests name it. */
export interface OpenConnection {
  readonly caller: Caller;
  /** 128 bits, never 0n. */
  readonly connectionId: ConnectionNumber;
  /** The dialect of its queries; absent: the narrow one. */
  readonly dialect?: QueryDialect;
}

/**
 * Requests a query set: its queries are watched until it is unsubscribed or the connection ends.
 * Accepted as a whole or not at all.
 */
export interface SubscribeRequest {
  readonly setId: SetId;
  /** In the dialect of the connection, or `SELECT * FROM *`. */
  readonly queries: readonly string[];
  /** False for clients without event tables: queries of such a table are rejected. */
  readonly knowsEvents: boolean;
}

export type SubscribeOutcome =
  | {
      readonly kind: 'applied';
      /** The commit whose rows these are; later commits arrive as updates. */
      readonly offset: CommitOffset;
      /** Each query of the set once, in order; `SELECT * FROM *` is expanded. */
      readonly queries: readonly QueryRows[];
      readonly micros: number;
    }
  /** `error` is for the client, and exact. */
  | { readonly kind: 'refused'; readonly error: string; readonly micros: number };

export interface UnsubscribeRequest {
  readonly setId: SetId;
  /** True if the answer includes the current rows of the set. */
  readonly withRows: boolean;
}

export type UnsubscribeOutcome =
  | {
      readonly kind: 'removed';
      readonly offset: CommitOffset;
      /** Present only if rows were requested. */
      readonly queries: readonly QueryRows[] | undefined;
      readonly micros: number;
    }
  /** Nothing of the set is left, if it existed. */
  | { readonly kind: 'refused'; readonly error: string; readonly micros: number };

/** The query sets of a client that comes back, and where it was. */
export interface ResumeRequest {
  /** What `ResumeOutcome` has said; 0n: the client was not there before. */
  readonly history: bigint;
  /** The last commit that it has. */
  readonly offset: bigint;
  readonly sets: readonly Pick<SubscribeRequest, 'setId' | 'queries'>[];
  /** True if it gets only what is durable. */
  readonly confirmed: boolean;
}

export interface ResumeOutcome {
  /**
   * `resumed`: it is as if the client had never left; all of its sets are watched, or it named
   * none. `rows`: none of its sets exist, it has to subscribe again. `rewound`: so it has, and what
   * it has seen is not in the history.
   */
  readonly kind: 'resumed' | 'rows' | 'rewound';
  /**
   * 128 bits that say in which history offsets are counted, and for whom. The upper half is that of
   * the log.
   */
  readonly history: bigint;
  readonly offset: CommitOffset;
  /** The numbers of the queries that each resumed set watches. */
  readonly sets: readonly ResumedSet[];
  /** What the client has missed, one for each commit that changed one of its queries. */
  readonly missed: readonly LiveCommit[];
  readonly micros: number;
}

export interface ResumedSet {
  readonly setId: SetId;
  readonly queries: readonly number[];
}

/** A query in the dialect of the connection that is answered once. */
export interface OneOffRequest {
  readonly sql: string;
}

export type OneOffOutcome =
  | {
      readonly kind: 'rows';
      readonly offset: CommitOffset;
      readonly table: string;
      readonly tableId: TableId;
      /** Names of the tables and views that it reads, for a caller whose token is limited. */
      readonly reads?: readonly string[];
      readonly rows: RowSet;
      readonly micros: number;
    }
  | { readonly kind: 'failed'; readonly error: string; readonly micros: number };

/** The message for a request over a connection that has ended, or never began. */
export const connectionClosedText = 'The connection is not open.';

/** The message callers receive when a module failed in a way its author did not intend. */
export const fatalErrorText = 'The instance encountered a fatal error.';

/** A request that was rejected before anything ran. Caught at the doors only. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly body: RefusalBody;

  constructor(body: RefusalBody, options?: ErrorOptions) {
    super(body.message, options);
    this.body = body;
  }
}

export function refusal(code: RefusalBody['code'], message: string): Refusal {
  return new Refusal({ code, message });
}

/** The refusal of an update whose outcome the publisher must learn; `detail` says what is known. */
export function updateFailure(
  code: RefusalBody['code'],
  detail: string,
  options?: ErrorOptions,
): Refusal {
  return new Refusal({ code, message: `Database update failed: ${detail}` }, options);
}

/** The refusal of a request that comes when its database, or the service, has stopped. */
export function stoppedRefusal(): Refusal {
  const message = 'The database is stopped; nothing was done. Try again when the service runs.';
  return refusal('database.stopped', message);
}

/** Of a publish, a plan or a trial, whatever it was doing: linking, waiting, taking rows. */
export function cancelledRefusal(): Refusal {
  const message = 'The publish was cancelled before its swap. Nothing was changed';
  return refusal('migration.cancelled', message);
}

export interface RefusalBody {
  readonly code:
    | 'database.overloaded'
    /** The database is still reading its log; the request has waited as long as it may. */
    | 'database.opening'
    | 'database.stopped'
    | 'database.broken'
    /** Its disk is full: reads work as usual, and writes work again as soon as there is space. */
    | 'database.full'
    /** A crash left it unknown whether the request happened. */
    | 'database.lost'
    /** Another host of the cluster leads it; nothing was done. */
    | 'database.notLeader'
    /** No host of the cluster led it while the request could wait; nothing was done. */
    | 'database.noLeader'
    /** What was read before is of an earlier generation. */
    | 'database.reset'
    /** The engine of the cluster took no commits while the request could wait; nothing was done. */
    | 'database.noEngine'
    /** The operator lets only some callers create databases. */
    | 'creation.forbidden'
    /** The caller has as many databases as it may. */
    | 'databases.tooMany'
    /** The owner has as many names of databases as it may. */
    | 'names.tooMany'
    /** The program, or the total its owner holds, is larger than the operator allows. */
    | 'quota.exceeded'
    | 'name.invalid'
    | 'name.unknown'
    | 'name.taken'
    | 'name.notYours'
    | 'database.unknown'
    /** The caller's standing in the database does not allow the action. */
    | 'caller.notAuthorized'
    | 'caller.notOperator'
    /** The token is valid only in another database. */
    | 'token.limited'
    | 'token.unknown'
    | 'grants.tooMany'
    | 'database.locked'
    | 'program.invalid'
    | 'migration.refused'
    | 'migration.breaksClients'
    | 'migration.invalidToken'
    | 'migration.failed'
    | 'migration.cancelled'
    | 'migration.running'
    | 'init.failed'
    | 'publish.invalid'
    /** There is no such deploy, or its program is no longer kept. */
    | 'deploy.unknown'
    /** Static files that were not announced, or have not been uploaded. */
    | 'static.missing'
    | 'durability.timeout'
    /** There is no such schedule, or no row with that key that has a run to come. */
    | 'schedule.unknown'
    /** A paused schedule runs nothing. */
    | 'schedule.paused'
    /** The program declares values that are not set. */
    | 'env.missing'
    /** A value does not fit what the program declares, or is no value at all. */
    | 'env.invalid'
    /** It cannot be unset: the program that runs declares it. */
    | 'env.needed'
    | 'env.unknown'
    /** The service keeps its databases in memory. */
    | 'history.off'
    /** A place in a history that is none, or a setting above what the operator allows. */
    | 'history.invalid'
    /** The history ends before. */
    | 'history.future'
    /** Reading a history takes too long, or too much of it is read already. */
    | 'history.busy'
    /** A place in another history of the database. */
    | 'history.other'
    | 'job.unknown'
    /** A backup or a restore that was asked for in a way that cannot be done. */
    | 'backup.invalid'
    | 'backup.unknownObject'
    /** Another restore is under way, or the name of the restored database is taken. */
    | 'restore.conflict'
    /** The key is malformed, or the call is one whose outcome is not kept. */
    | 'idempotency.invalid'
    /** As many jobs run as may. */
    | 'jobs.tooMany'
    /** The same of one caller, or of one database. */
    | 'jobs.tooManyOfOne'
    /** A host of the cluster passes on as many requests of the caller as it may. */
    | 'requests.tooManyOfOne'
    /** As JSON, a value would be out of proportion to its bytes. */
    | 'value.tooLong';
  readonly message: string;
  /** When to retry, if that is known. */
  readonly retryAfterSeconds?: number;
  /** With `database.notLeader`: the last term, and who leads, if that is known. */
  readonly term?: number;
  readonly leader?: LeaderAddress;
}

/** Where a request has to go; `host` is 32 hexadecimal digits. */
export interface LeaderAddress {
  readonly host: string;
  readonly name: string;
  readonly address: string;
}
