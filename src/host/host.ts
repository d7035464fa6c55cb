import type { Caller } from '../database/outcome.ts';
import type { PlanOutcome, ProgramSource } from './database-handle.ts';
import type { HostOptions } from './host-options.ts';
import type {
  DatabaseRecord,
  HostCaller,
  HostedDatabase,
  HostStatistics,
  LogRequest,
  LogStream,
  PublishOutcome,
  PublishRequest,
} from './host-types.ts';

/**
 * Many databases in one process: their names, owners, programs and the threads they run on.
 *
 * `target` is always a database name or an identity as a caller wrote it. Every method refuses by
 * throwing `Refusal`, whose message is the text for the caller:
 *
 * | code | text |
 * |---|---|
 * | `name.invalid` | `Invalid URL: …` for a target; the parser's words in `addName`; ``Error parsing `x`: …`` in `replaceNames` |
 * | `name.unknown` | `` `x` not found`` |
 * | `database.unknown` | `No such database.` |
 * | `notOwner` | `<caller> is not authorized to perform action on database <identity>: <action>` |
 * | `name.notYours` | the name itself |
 * | `name.taken` | the whole sentence |
 * | all others | the whole text of the answer |
 */
export declare class Host {
  /** Opens the registry and starts every database; those that cannot start are `broken`. */
  static open(options: HostOptions): Promise<Host>;
  /** Lets accepted work finish, makes it durable and ends every worker. */
  close(): Promise<void>;

  /** The identity behind a target, whether or not there is a database. */
  resolve(target: string): bigint;
  /** The database behind a target. */
  database(target: string): HostedDatabase;
  /** The caller as that database sees it: owner or not. */
  callerFor(caller: HostCaller, database: DatabaseRecord): Caller;
  /** In the order of registration. */
  namesOf(identity: bigint): readonly string[];
  /** Identities in the order of creation. */
  databasesOwnedBy(owner: bigint): readonly bigint[];

  /** Creates, updates or (with `clear`) resets a database. Goes on when the caller goes away. */
  publish(request: PublishRequest): Promise<PublishOutcome>;
  /** What publishing would do; action `update database`. */
  planPublish(caller: HostCaller, target: string, program: ProgramSource): Promise<PlanOutcome>;
  /** Drops all rows and starts again from `program`, or from the current one. */
  reset(
    caller: HostCaller,
    target: string,
    program: ProgramSource | undefined,
  ): Promise<PublishOutcome>;
  /** Deletes the database; its names stay with the deleter. No database there: does nothing. */
  remove(caller: HostCaller, target: string): Promise<void>;
  /** A lock keeps a database from being deleted or reset. */
  setLock(caller: HostCaller, target: string, isLocked: boolean): Promise<void>;
  /** Returns the database's identity. Action `rename database`. */
  addName(caller: HostCaller, target: string, name: string): Promise<bigint>;
  /** Replaces all names of the database at once. */
  replaceNames(caller: HostCaller, target: string, names: readonly string[]): Promise<void>;

  /** Module log of a database, also of one that cannot start. Action `view module logs`. */
  logs(caller: HostCaller, target: string, request: LogRequest): LogStream;
  statistics(): HostStatistics;
}
