import type { QueryRows } from '../live/live-update.ts';
import type { QueryDialect } from '../live/query-dialect.ts';
import type { RowSet } from '../live/row-set.ts';
import type { Rights } from '../sql/rights.ts';
import type { CommitOffset } from '../store/commit-offset.ts';
import type { NamedType, Typespace } from '../values/type.ts';

export type { CommitOffset, Rights };

/** Who asks. Fixed at the door; nothing behind it looks at a token again. */
export interface Caller {
  readonly identity: bigint;
  /** What it may do in this database. */
  readonly rights: Rights;
  /** Payload of the caller's token as JSON text, for the module's auth context; empty = none. */
  readonly jwtPayload: string;
  /** True: it came without a token, and its identity was made for it. */
  readonly isAnonymous?: boolean;
}

/** One reducer call as a door hands it over. */
export interface CallRequest {
  readonly caller: Caller;
  readonly connection: RequestConnection;
  /** Canonical name, as the caller wrote it. */
  readonly reducer: string;
  /**
   * Encoded product of the parameters, made for the definition of `schemaVersion`; or why the door
   * could not make it. Such a call still runs the lifecycle reducers around it, then ends in
   * `arguments.invalid` (or `reducer.unknown`, which comes first).
   */
  readonly args: Uint8Array | ArgumentsFault;
  /**
   * From `DatabaseDescription`; an outdated one is refused with `schema.changed`, to be asked
   * again. `undefined`: the client encoded them, and whatever program runs decodes them.
   */
  readonly schemaVersion: number | undefined;
  /** True: the outcome is handed over only when all that it may have read is durable. */
  readonly confirmed: boolean;
}

/** The caller's arguments do not fit the parameters; `fault` says how. */
export interface ArgumentsFault {
  readonly fault: string;
}

/**
 * `open`: a connection that `connect` announced. `temporary`: it exists for this request alone, so
 * the lifecycle reducers run around it.
 */
export interface RequestConnection {
  readonly kind: 'open' | 'temporary';
  /** 128 bits, never 0n. */
  readonly id: bigint;
}

export type CallOutcome =
  | {
      readonly kind: 'committed';
      readonly offset: CommitOffset;
      /** Encoded by the type that the reducer declares; absent: it returns nothing. */
      readonly value?: Uint8Array;
      readonly micros: number;
    }
  | { readonly kind: 'aborted'; readonly error: CallError; readonly micros: number };

export type CallError =
  /** No such reducer, or one that this caller may not know of. */
  | { readonly code: 'reducer.unknown'; readonly reducer: string }
  | {
      readonly code: 'reducer.lifecycle';
      readonly lifecycle: 'init' | 'onConnect' | 'onDisconnect';
    }
  | { readonly code: 'arguments.invalid'; readonly message: string }
  /** The module threw `SenderError`. */
  | { readonly code: 'reducer.refused'; readonly message: string }
  /** It threw `CallError`: `value` is encoded by the type that the reducer declares for it. */
  | {
      readonly code: 'reducer.refusedWithValue';
      readonly message: string;
      readonly value: Uint8Array;
    }
  /** The reducer declares a type for its errors and threw words all the same. */
  | { readonly code: 'reducer.refusedWithoutValue'; readonly message: string }
  /** The module threw anything else; details are in its log only. */
  | { readonly code: 'reducer.crashed' }
  /** Ended from outside: time or memory. The text names the limit. */
  | { readonly code: 'reducer.overBudget'; readonly message: string }
  /** The database, or its owner, holds as much as it may. The text says how much that is. */
  | { readonly code: 'quota.exceeded'; readonly message: string }
  /** The caller may read and nothing else. */
  | { readonly code: 'call.readOnly'; readonly message: string }
  /** `client_connected` refused the caller. */
  | { readonly code: 'connection.refused'; readonly message: string }
  | { readonly code: 'schema.changed' };

/** One SQL statement as a door hands it over. */
export interface SqlRequest {
  readonly caller: Caller;
  readonly connection: RequestConnection;
  readonly sql: string;
  /** Values of `$1` and `:name`, by what stands behind the mark. */
  readonly parameters?: SqlParameters;
  /** Running time after which it is stopped; absent, or more: as long as any statement may run. */
  readonly millisMax?: number;
  readonly confirmed: boolean;
}

/** A number is its digits: like a literal it takes the type of its place. */
export type SqlParameters = ReadonlyMap<string, string | boolean | null>;

export type SqlOutcome =
  | {
      readonly kind: 'result';
      /** Empty for a statement that returns no rows. Types hold no refs, except recursive ones. */
      readonly columns: readonly NamedType[];
      /** What those refs index. */
      readonly types: Typespace;
      /** Encoded rows, one after another, each the product of `columns`. */
      readonly rows: Uint8Array;
      readonly rowCount: number;
      readonly inserted: number;
      readonly deleted: number;
      readonly updated: number;
      readonly offset: CommitOffset;
      readonly micros: number;
    }
  | { readonly kind: 'failed'; readonly error: SqlError; readonly micros: number };

/** What a statement gives, whenever it ran. */
export type SqlRows = Omit<
  Extract<SqlOutcome, { readonly kind: 'result' }>,
  'kind' | 'offset' | 'micros'
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
        | 'sql.parameter'
        | 'sql.noHistory'
        | 'sql.overBudget'
        /** Too many statements run, or hold too much; the same one may succeed later. */
        | 'sql.busy'
        /** As `quota.exceeded` of a call. */
        | 'sql.overQuota'
        /** A bug of ours; nothing was changed. */
        | 'sql.internal'
        | 'connection.refused';
    });

interface SqlErrorParts {
  readonly message: string;
  /** Where in the statement, both counted from 1. */
  readonly place?: { readonly line: number; readonly column: number };
  /** What to try instead, for instance the nearest name that the caller may see. */
  readonly hint?: string;
}

/**
 * Asks for a query set: its queries are watched until it is unsubscribed or the connection goes.
 * Accepted as a whole or not at all.
 */
export interface SubscribeRequest {
  readonly caller: Caller;
  /** Of an open connection. */
  readonly connectionId: bigint;
  /** Chosen by the client; unique among the sets that its connection has. */
  readonly setId: number;
  /** In the dialect of the connection, or `SELECT * FROM *`. */
  readonly queries: readonly string[];
  /** Absent: the narrow one. */
  readonly dialect?: QueryDialect;
  /** False for clients that do not know of event tables: queries of one are refused. */
  readonly knowsEvents: boolean;
}

export type SubscribeOutcome =
  | {
      readonly kind: 'applied';
      /** The commit whose rows these are; later ones come as updates. */
      readonly offset: CommitOffset;
      /** Each query of the set, once, in their order; with `SELECT * FROM *` expanded. */
      readonly queries: readonly QueryRows[];
      readonly micros: number;
    }
  /** `error`: for the client, exact. */
  | { readonly kind: 'refused'; readonly error: string; readonly micros: number };

export interface UnsubscribeRequest {
  readonly connectionId: bigint;
  readonly setId: number;
  /** True: the answer has the rows of the set as they are now. */
  readonly withRows: boolean;
}

export type UnsubscribeOutcome =
  | {
      readonly kind: 'removed';
      readonly offset: CommitOffset;
      /** Only when rows were asked for. */
      readonly queries: readonly QueryRows[] | undefined;
      readonly micros: number;
    }
  /** Nothing of the set is left, if there was one. */
  | { readonly kind: 'refused'; readonly error: string; readonly micros: number };

/** A query in the dialect of the connection that is answered once. */
export interface OneOffRequest {
  readonly caller: Caller;
  /** Of an open connection. */
  readonly connectionId: bigint;
  readonly sql: string;
  /** Absent: the narrow one. */
  readonly dialect?: QueryDialect;
}

export type OneOffOutcome =
  | {
      readonly kind: 'rows';
      readonly offset: CommitOffset;
      readonly table: string;
      readonly tableId: number;
      readonly rows: RowSet;
      readonly micros: number;
    }
  | { readonly kind: 'failed'; readonly error: string; readonly micros: number };

/** What callers are told of a module that failed in a way its author did not mean. */
export const fatalErrorText = 'The instance encountered a fatal error.';

/** A request that was refused before anything ran. Caught at the doors only. */
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

export interface RefusalBody {
  readonly code:
    | 'database.overloaded'
    /** It reads its log; the request waited as long as it may. */
    | 'database.opening'
    | 'database.stopped'
    | 'database.broken'
    /** Its disk is full: it is read as ever, and written again as soon as there is space. */
    | 'database.full'
    /** A crash left it unknown whether the request happened. */
    | 'database.lost'
    /** The operator lets only some callers create databases. */
    | 'creation.forbidden'
    /** The caller has as many databases as it may. */
    | 'quota.databases'
    | 'quota.names'
    /** The program, or what its owner holds, is larger than the operator allows. */
    | 'quota.bytes'
    | 'name.invalid'
    | 'name.unknown'
    | 'name.taken'
    | 'name.notYours'
    | 'database.unknown'
    | 'notOwner'
    | 'notOperator'
    /** The token counts in another database only. */
    | 'token.limited'
    | 'token.unknown'
    | 'grants.tooMany'
    | 'database.locked'
    | 'program.invalid'
    | 'migration.refused'
    | 'migration.breaksClients'
    | 'migration.token'
    | 'migration.failed'
    | 'init.failed'
    | 'publish.request'
    | 'durability.timeout';
  readonly message: string;
  /** When to try again, where that is known. */
  readonly retryAfterSeconds?: number;
}
