import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { present } from '../assert.ts';
import { deriveIdentity } from '../auth/identity.ts';
import { buildModule } from '../bundle/build-module.ts';
import { envFileFault, envFileName, parseEnvFile } from '../bundle/env-file.ts';
import {
  type CallError,
  type ProcedureError,
  Refusal,
  refusal,
  type SqlParameters,
} from '../database/outcome.ts';
import type { RanSchedule } from '../database/schedules/ran-schedule.ts';
import { callErrorText, procedureErrorText } from '../doors/call-error-text.ts';
import { findProcedure, findReducer, resultOf } from '../doors/json-call.ts';
import { Host } from '../host/host.ts';
import type { HostedDatabase } from '../host/hosted-database.ts';
import { type AllowedPlace, parseAllowedPlace } from '../host/outbound/outbound-rules.ts';
import type { RequestedEnv } from '../host/publishing/publish-request.ts';
import type { HostCaller } from '../host/registry/host-caller.ts';
import { temporaryConnection } from '../host/supervision/temporary-connection.ts';
import { MachineEntropy } from '../node/entropy.ts';
import { flatDefinition } from '../schema/flat-definition.ts';
import { fullTablesOf } from '../schema/flatten.ts';
import { Request, type RequestInit, type SyncResponse } from '../server/http-messages.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import { BinaryWriter } from '../values/binary-writer.ts';
import { Identity } from '../values/identity.ts';
import { asOwner, callerIdentity } from '../values/identity-roles.ts';
import { nativeDecoderOf, nativeEncoderOf } from '../values/native.ts';
import { Timestamp } from '../values/timestamp.ts';
import type { AlgebraicType, ProductType } from '../values/type.ts';
import { answerRequest } from './module-request.ts';
import { insideOf, type ScheduledRun, TestClock } from './test-clock.ts';

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
  readonly params?: readonly QueryParameter[] | Readonly<Record<string, QueryParameter>>;
}

/**
 * The value of a statement's parameter; like a literal, it takes the type that its place requires.
 */
export type QueryParameter = string | number | bigint | boolean | null;

/** Options of a request besides its address. */
export interface TestRequestInit extends CallOptions, RequestInit {}

/** Values of a call's parameters: by position, or by name. */
export type CallArguments = readonly unknown[] | Readonly<Record<string, unknown>>;

/** A row as clients see it: values as in a module, columns under their canonical names. */
export type TestRow = Readonly<Record<string, unknown>>;

/**
 * A reducer did not commit, or a procedure did not return. `message` is the text a client gets;
 * `code` distinguishes the cases; `error` is the value that the reducer rejected the call with, if
 * it threw a `CallError`.
 */
export class CallFailed extends Error {
  override readonly name = 'CallFailed';
  readonly code: CallError['code'] | ProcedureError['code'];
  readonly error: unknown;

  constructor(cause: CallError | ProcedureError, error?: unknown) {
    super(textOf(cause));
    this.code = cause.code;
    this.error = error;
  }
}

/** A statement was rejected; `message` is the text a client gets. */
export class QueryFailed extends Error {
  override readonly name = 'QueryFailed';
}

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
export async function openTestDatabase(options: TestDatabaseOptions): Promise<TestDatabase> {
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
  const database = new TestDatabase(host, clock, options.env);
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

const testIssuer = 'test';
const databaseName = 'test';

/** Whichever database an entry is for, as in settings that are shared with a service. */
function placeOf(entry: string): AllowedPlace {
  return parseAllowedPlace(`${databaseName}=${entry.replace(/^[^=]+=/, '')}`);
}

/** One database in this process. Made by `openTestDatabase`. */
export class TestDatabase {
  /** The identity that published the module. */
  readonly owner: Identity;
  readonly clock: TestClock;
  readonly #host: Host;
  readonly #env: NonNullable<TestDatabaseOptions['env']>;

  constructor(host: Host, clock: TestClock, env: TestDatabaseOptions['env'] = {}) {
    this.#host = host;
    this.#env = env;
    this.clock = clock;
    this.owner = this.identity('owner');
  }

  /** The identity of a caller named by the test; the same name gives the same identity. */
  identity(name: string): Identity {
    return new Identity(deriveIdentity(testIssuer, name));
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
    const plan = isFirst ? undefined : await this.#host.planPublish(caller, databaseName, source);
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
    await this.#rest();
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
   * Runs a reducer, or else a procedure, and returns its result. Throws `CallFailed` when it does
   * not commit, or does not return.
   */
  call<Returned = unknown>(
    name: string,
    args: CallArguments = [],
    { as = this.owner }: CallOptions = {},
  ): Promise<Returned> {
    return insideOf(this.clock).during(this.#call(name, args, as));
  }

  async #call<Returned>(name: string, args: CallArguments, as: Identity): Promise<Returned> {
    const database = this.#database();
    const described = await database.handle.describe();
    const definition = flatDefinition(described.definition);
    const reducer = findReducer(definition, name);
    const procedure = reducer === undefined ? findProcedure(definition, name) : undefined;
    const declared = reducer ?? procedure;
    if (declared === undefined) throw new CallFailed({ code: 'reducer.unknown', reducer: name });
    const { typespace } = definition;
    const writer = new BinaryWriter();
    const encode = nativeEncoderOf(declared.params, typespace);
    encode(writer, byName(declared.params, args));
    const request = {
      caller: this.#host.callerFor(callerOf(as), database),
      connection: temporaryConnection(),
      args: writer.finish(),
      schemaVersion: described.schemaVersion,
      confirmed: true,
    };
    const decoded = (type: AlgebraicType | undefined, bytes: Uint8Array | undefined): unknown => {
      return type && bytes && nativeDecoderOf(type, typespace)(new BinaryReader(bytes));
    };
    if (procedure !== undefined) {
      const outcome = await database.handle.procedure({ ...request, procedure: name });
      await this.#rest();
      if (outcome.kind === 'failed') throw new CallFailed(outcome.error);
      return decoded(procedure.returnType, outcome.value) as Returned;
    }
    const outcome = await database.handle.call({ ...request, reducer: name });
    await this.#rest();
    const type = outcome.kind === 'committed' ? reducer?.returns : reducer?.throws;
    const value = decoded(type, resultOf(outcome));
    if (outcome.kind === 'aborted') throw new CallFailed(outcome.error, value);
    // Only the module says what the function returns, and the test knows the module.
    return value as Returned;
  }

  /**
   * Sends a request to the HTTP handlers of the module and returns the response as a client would
   * get it, a failure included: 500 with the text of the error. The address is what follows
   * `/route`, such as `/board?day=1`. Without `as`, it comes without a token.
   */
  request(target: string | Request, init: TestRequestInit = {}): Promise<SyncResponse> {
    return insideOf(this.clock).during(this.#request(target, init));
  }

  async #request(
    target: string | Request,
    { as, ...init }: TestRequestInit,
  ): Promise<SyncResponse> {
    const database = this.#database();
    const request = typeof target === 'string' ? new Request(target, init) : target;
    const caller = as && this.#host.callerFor(callerOf(as), database);
    const response = await answerRequest(database.handle, request, caller);
    await this.#rest();
    return response;
  }

  /** Runs one SQL statement and returns its rows. Throws `QueryFailed`. */
  async query(
    sql: string,
    { as = this.owner, params = [] }: QueryOptions = {},
  ): Promise<TestRow[]> {
    const database = this.#database();
    const outcome = await database.handle.query({
      caller: this.#host.callerFor(callerOf(as), database),
      connection: temporaryConnection(),
      sql,
      parameters: parametersOf(params),
      confirmed: true,
    });
    await this.#rest();
    if (outcome.kind === 'failed') throw new QueryFailed(outcome.error.message);
    const rowType: ProductType = { kind: 'product', elements: outcome.columns };
    const decode = nativeDecoderOf(rowType, outcome.types);
    const reader = new BinaryReader(outcome.rows);
    return Array.from({ length: outcome.rowCount }, () => decode(reader) as TestRow);
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

  /** What a request has made due runs before anything else; a procedure begins, at least. */
  async #rest(): Promise<void> {
    const { handle } = this.#database();
    const { isHeld, rested } = insideOf(this.clock);
    const isDue = (): boolean => {
      const { state, nextDueMicros } = handle.statistics();
      if (state !== 'serving' || nextDueMicros === undefined) return false;
      return nextDueMicros <= this.clock.nowMicros();
    };
    while (isDue() && !isHeld()) await rested();
  }

  #database(): HostedDatabase {
    return this.#host.database(databaseName);
  }
}

function textOf(cause: CallError | ProcedureError): string {
  return isOfProcedure(cause) ? procedureErrorText(cause) : callErrorText(cause);
}

/** Where both have the code, their texts are the same. */
function isOfProcedure(cause: CallError | ProcedureError): cause is ProcedureError {
  return cause.code.startsWith('procedure.');
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

/** A caller of a test, with the token payload that the module's auth context shows. */
function callerOf(identity: Identity): HostCaller {
  const payload = JSON.stringify({ iss: testIssuer, sub: identity.toHexString() });
  return { identity: callerIdentity(identity.__identity__), payload, isAnonymous: false };
}

function byName(params: ProductType, args: CallArguments): Readonly<Record<string, unknown>> {
  if (!Array.isArray(args)) return args as Readonly<Record<string, unknown>>;
  if (args.length !== params.elements.length) {
    throw new TypeError(`${args.length} arguments given, ${params.elements.length} expected`);
  }
  return Object.fromEntries(params.elements.map(({ name }, at) => [name ?? '', args[at]]));
}

function parametersOf(params: NonNullable<QueryOptions['params']>): SqlParameters {
  const named = Array.isArray(params)
    ? params.map((value, at) => [String(at + 1), value] as const)
    : Object.entries(params);
  return new Map(named.map(([name, value]) => [name, parameterOf(value)]));
}

function parameterOf(value: QueryParameter): string | boolean | null {
  return typeof value === 'number' || typeof value === 'bigint' ? String(value) : value;
}
