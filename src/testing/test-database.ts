import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { present } from '../assert.ts';
import { buildModule } from '../bundle/build-module.ts';
import { envFileFault, envFileName, parseEnvFile } from '../bundle/env-file.ts';
import { Refusal, refusal } from '../database/outcome.ts';
import type { RanSchedule } from '../database/schedules/ran-schedule.ts';
import { Host } from '../host/host.ts';
import type { HostedDatabase } from '../host/hosted-database.ts';
import { type AllowedPlace, parseAllowedPlace } from '../host/outbound/outbound-rules.ts';
import type { RequestedEnv } from '../host/publishing/publish-request.ts';
import type { PlanOutcome, ProgramSource } from '../host/supervision/database-handle.ts';
import { MachineEntropy } from '../node/entropy.ts';
import { fullTablesOf } from '../schema/flatten.ts';
import type { Request, RequestInit, SyncResponse } from '../server/http-messages.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import type { Identity } from '../values/identity.ts';
import { asOwner } from '../values/identity-roles.ts';
import { nativeDecoderOf } from '../values/native.ts';
import { Timestamp } from '../values/timestamp.ts';
import type { ProductType } from '../values/type.ts';
import {
  type CallArguments,
  callerOf,
  DatabaseRequests,
  databaseName,
  identityNamed,
  type QueryParameters,
  type TestRow,
  testIssuer,
} from './database-requests.ts';
import type {
  AnyModule,
  TestProcedures,
  TestQuery,
  TestReducers,
  TestTables,
} from './module-types.ts';
import { TestCaller } from './test-caller.ts';
import { insideOf, type ScheduledRun, TestClock } from './test-clock.ts';
import type { TestWatch } from './test-watch.ts';

export interface TestDatabaseOptions {
  /** Folder of a module project; it is built without a type check. */
  readonly module: string;
  /** The clock of the database; by default it starts at midnight of 1 January 2025. */
  readonly clock?: TestClock;
  /**
   * Values that the module reads as `ctx.env`, secrets among them. They count before those in the
   * file `.env.reducerdb` of the project's folder.
   */
  readonly env?: Readonly<Record<string, string | number | bigint | boolean>>;
  /**
   * Places that requests of the module reach beside public addresses, written like those of the
   * setting `module-http.allow`: `127.0.0.1:4000`, or a network. The database need not be named.
   */
  readonly moduleHttpAllow?: readonly string[];
}

export interface CallOptions {
  /** The caller; defaults to the owner. */
  readonly as?: Identity;
}

export interface QueryOptions extends CallOptions {
  /** Values of `$1`, `$2`, … in order, or of `:name` by name. */
  readonly params?: QueryParameters;
}

/** Options of a request besides its address. */
export interface TestRequestInit extends CallOptions, RequestInit {}

/**
 * Opens a database from a module, in this process and in memory: the real engine and the real
 * sandbox, without a service.
 *
 * ```ts
 * const db = await openTestDatabase({ module: 'app' });
 * const ada = db.identity('ada');
 * await db.call('add_task', ['drink tea'], { as: ada });
 * const [task] = await db.query('SELECT title FROM task');
 * await db.close();
 * ```
 */
export async function openTestDatabase<M = AnyModule>(
  options: TestDatabaseOptions,
): Promise<TestDatabase<M>> {
  const clock = options.clock ?? new TestClock();
  const { makeAlarm, began, isHeld, ran, counted } = insideOf(clock);
  const host = await Host.open({
    directory: undefined,
    placement: 'local',
    creators: 'anyone',
    operators: [],
    issuer: testIssuer,
    clock,
    entropy: new MachineEntropy(),
    budget: {},
    outbound: { mode: 'public', allow: (options.moduleHttpAllow ?? []).map(placeOf) },
    makeAlarm,
    laneTime: { makeAlarm, nowMicros: () => clock.nowMicros(), counted },
    follower: { began, isHeld, ran: (run) => ran(run.target, () => scheduledRun(host, run)) },
    report: () => {},
  });
  const database = new TestDatabase<M>(host, clock, options.env);
  try {
    await database.publish(options.module);
    return database;
  } catch (error) {
    await host.close();
    throw error;
  }
}

/** What the text of a missing value adds in a test, which has no command that publishes. */
const envHint = `. In a test: \`env\` of openTestDatabase, or ${envFileName} beside the module`;

function isMissingEnv(error: unknown): error is Refusal {
  return error instanceof Refusal && error.body.code === 'env.missing';
}

/** Whichever database an entry is for, as in settings that are shared with a service. */
function placeOf(entry: string): AllowedPlace {
  return parseAllowedPlace(`${databaseName}=${entry.replace(/^[^=]+=/, '')}`);
}

/** One database in this process. Made by `openTestDatabase`. */
export class TestDatabase<M = AnyModule> {
  /** The identity that published the module. */
  readonly owner: Identity;
  readonly clock: TestClock;
  readonly #host: Host;
  readonly #requests: DatabaseRequests;
  readonly #env: NonNullable<TestDatabaseOptions['env']>;

  constructor(host: Host, clock: TestClock, env: TestDatabaseOptions['env'] = {}) {
    this.#host = host;
    this.#requests = new DatabaseRequests(host, clock);
    this.#env = env;
    this.clock = clock;
    this.owner = this.identity('owner');
  }

  /** The identity of a caller named by the test; the same name gives the same identity. */
  identity(name: string): Identity {
    return identityNamed(name);
  }

  /** Publishes a module project over the running one: rows are kept, tables are migrated. */
  async publish(module: string): Promise<void> {
    try {
      await this.#publish(module);
    } catch (error) {
      throw isMissingEnv(error) ? refusal('env.missing', `${error.message}${envHint}`) : error;
    }
  }

  async #publish(module: string): Promise<void> {
    const { program } = await buildModule(module, {});
    const caller = callerOf(this.owner);
    const source = { kind: 'js', bytes: program } as const;
    const isFirst = this.#host.databasesOwnedBy(asOwner(caller.identity)).length === 0;
    const plan = isFirst ? undefined : await this.#plan(source);
    await this.#host.publish({
      caller,
      target: databaseName,
      program: source,
      clear: false,
      policy: plan?.kind === 'automatic' ? 'breakClients' : 'compatible',
      token: plan?.kind === 'automatic' ? plan.token : undefined,
      confirmMillis: 5_000,
      env: this.#valuesIn(module),
    });
    await this.#requests.rest();
  }

  #plan(source: ProgramSource): Promise<PlanOutcome> {
    const database = this.#host.database(databaseName);
    return this.#host.plans.plan(callerOf(this.owner), database, source);
  }

  /**
   * Sets a value that the module reads as `ctx.env`, as its owner could while it runs. The next
   * call reads it.
   */
  async setEnv(name: string, value: string | number | bigint | boolean): Promise<void> {
    const given = { name, text: String(value) };
    await this.#host.env.set(callerOf(this.owner), this.#database(), given);
  }

  #valuesIn(module: string): readonly RequestedEnv[] {
    const file = path.join(module, envFileName);
    const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
    const fault = envFileFault(text);
    if (fault !== undefined) throw new Error(`${file}, ${fault}`);
    const kept = parseEnvFile(text);
    const values = new Map<string, unknown>([...kept, ...Object.entries(this.#env)]);
    return [...values].map(([name, value]) => ({ name, text: String(value) }));
  }

  /**
   * A caller, who has the rights of an identity, or of the one that the test names so. Calls, rows
   * and errors have the types of the module: `openTestDatabase<typeof module>(…)`.
   */
  as(caller: Identity | string): TestCaller<M> {
    const identity = typeof caller === 'string' ? this.identity(caller) : caller;
    return new TestCaller(this.#requests, identity);
  }

  /** The tables and views of the module, private ones too, as the owner sees them. */
  get tables(): TestTables<M> {
    return this.as(this.owner).tables;
  }

  /** The reducers of the module, called by the owner. */
  get reducers(): TestReducers<M> {
    return this.as(this.owner).reducers;
  }

  /** The procedures of the module, called by the owner. */
  get procedures(): TestProcedures<M> {
    return this.as(this.owner).procedures;
  }

  /** Subscribes to a query as the owner: see `TestCaller.watch`. */
  watch<Row = TestRow>(query: TestQuery<M, Row>): Promise<TestWatch<Row>> {
    return this.as(this.owner).watch(query);
  }

  /**
   * Runs a reducer, or else a procedure, and returns its result. The name is canonical or that of
   * the module, and so are those of fields and variants in the arguments. Throws `CallFailed` when
   * it does not commit, or does not return.
   */
  call<Returned = unknown>(
    name: string,
    args: CallArguments = [],
    { as = this.owner }: CallOptions = {},
  ): Promise<Returned> {
    return this.as(as).call<Returned>(name, args);
  }

  /**
   * Sends a request to the HTTP handlers of the module and returns the response as a client would
   * get it, a failure included: 500 with the text of the error. The address is what follows
   * `/route`, such as `/board?day=1`. Without `as`, it comes without a token.
   */
  request(target: string | Request, init: TestRequestInit = {}): Promise<SyncResponse> {
    const { as, ...rest } = init;
    return this.#requests.request(target, as, rest);
  }

  /**
   * Runs one SQL statement, or a query of `tables`, and returns its rows: those of a statement with
   * canonical names, those of a query in the module's spelling. Throws `QueryFailed`.
   */
  query<Row = TestRow>(
    query: TestQuery<M, Row>,
    { as = this.owner, params }: QueryOptions = {},
  ): Promise<Row[]> {
    return this.as(as).query(query, params);
  }

  /** The lines of the module log, as JSON objects. */
  async logs(): Promise<Readonly<Record<string, unknown>>[]> {
    const request = { lines: undefined, follow: false };
    let text = '';
    for await (const chunk of this.#host.logs(callerOf(this.owner), databaseName, request)) {
      text += chunk;
    }
    const lines = text.split('\n').filter((line) => line !== '');
    return lines.map((line) => JSON.parse(line));
  }

  /** Closes the database; everything in it is lost. */
  async close(): Promise<void> {
    await this.#host.close();
  }

  #database(): HostedDatabase {
    return this.#host.database(databaseName);
  }
}

/** A run as tests see it: its row has the values of a module. */
function scheduledRun(host: Host, run: RanSchedule): ScheduledRun {
  const { name: schedule, functionName, row, dueMicros, error } = run;
  const of = { schedule, function: functionName, due: new Timestamp(dueMicros) };
  const outcome = error === undefined ? { outcome: 'committed' as const } : failedWith(error);
  return { ...of, row: row && rowOf(host, schedule, row), ...outcome };
}

function failedWith(error: string): Pick<ScheduledRun, 'outcome' | 'error'> {
  return { outcome: 'failed', error };
}

function rowOf(host: Host, tableName: string, row: Uint8Array): TestRow {
  const { handle } = host.database(databaseName);
  const { definition } = present(handle.description, 'a database that has served');
  const found = fullTablesOf(definition).find(({ table }) => table.name === tableName);
  const { table, typespace } = present(found, 'the table of a schedule');
  const type: ProductType = { kind: 'product', elements: table.columns };
  return nativeDecoderOf(type, typespace)(new BinaryReader(row)) as TestRow;
}
