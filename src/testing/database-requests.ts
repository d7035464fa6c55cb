import { present } from '../assert.ts';
import { deriveIdentity } from '../auth/identity.ts';
import type { SqlParameters } from '../database/outcome.ts';
import { findProcedure, findReducer, resultOf } from '../doors/json-call.ts';
import type { Host } from '../host/host.ts';
import type { HostedDatabase } from '../host/hosted-database.ts';
import type { HostCaller } from '../host/registry/host-caller.ts';
import {
  randomConnectionId,
  temporaryConnection,
} from '../host/supervision/temporary-connection.ts';
import type { ModuleDefinition, ReducerDefinition } from '../schema/definition.ts';
import { flatDefinition } from '../schema/flat-definition.ts';
import { columnsLeftOut, type LeftOutColumns } from '../schema/left-out.ts';
import { Request, type RequestInit, type SyncResponse } from '../server/http-messages.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import { BinaryWriter } from '../values/binary-writer.ts';
import { Identity } from '../values/identity.ts';
import { callerIdentity } from '../values/identity-roles.ts';
import { nativeDecoderOf, nativeEncoderOf } from '../values/native.ts';
import { specialKindOf } from '../values/special-types.ts';
import type { AlgebraicType, NamedType, ProductType, Typespace } from '../values/type.ts';
import { resolveType } from '../values/typespace.ts';
import { filledArguments } from './filled-value.ts';
import { type ModuleNames, namesOf } from './module-names.ts';
import { answerRequest } from './module-request.ts';
import { insideOf, type TestClock } from './test-clock.ts';
import { CallFailed, QueryFailed } from './test-errors.ts';
import { type TestWatch, watchQuery } from './test-watch.ts';

/**
 * The value of a statement's parameter; like a literal, it takes the type that its place requires.
 */
export type QueryParameter = string | number | bigint | boolean | null;

/** Values of `$1`, `$2`, … in order, or of `:name` by name. */
export type QueryParameters = readonly QueryParameter[] | Readonly<Record<string, QueryParameter>>;

/** Values of a call's parameters: by position, or by name. */
export type CallArguments = readonly unknown[] | Readonly<Record<string, unknown>>;

/** A row as clients see it: values as in a module, columns under their canonical names. */
export type TestRow = Readonly<Record<string, unknown>>;

export interface NamedCall {
  /** Canonical, or that of the module. */
  readonly name: string;
  readonly args: CallArguments;
  readonly as: Identity;
  /** Whose names fields and variants of the result have; arguments of `clients` may have either. */
  readonly spelling: 'module' | 'clients';
}

export const testIssuer = 'test';
export const databaseName = 'test';

/** The identity of a caller named by the test. */
export function identityNamed(name: string): Identity {
  return new Identity(deriveIdentity(testIssuer, name));
}

/** A caller of a test, with the token payload that the module's auth context shows. */
export function callerOf(identity: Identity): HostCaller {
  const payload = JSON.stringify({ iss: testIssuer, sub: identity.toHexString() });
  return { identity: callerIdentity(identity.__identity__), payload, isAnonymous: false };
}

/** What callers of a test ask of its database. After each request, what it has made due runs. */
export class DatabaseRequests {
  readonly #host: Host;
  readonly #clock: TestClock;

  constructor(host: Host, clock: TestClock) {
    this.#host = host;
    this.#clock = clock;
  }

  get database(): HostedDatabase {
    return this.#host.database(databaseName);
  }

  /** Of the program that serves. */
  names(): ModuleNames {
    const { description } = this.database.handle;
    return namesOf(flatDefinition(present(description, 'a database that has served').definition));
  }

  /** Throws `CallFailed` when it does not commit, or does not return. */
  call(call: NamedCall): Promise<unknown> {
    return insideOf(this.#clock).during(this.#call(call));
  }

  async #call({ name: given, args, as, spelling }: NamedCall): Promise<unknown> {
    const { database } = this;
    const described = await database.handle.describe();
    const definition = flatDefinition(described.definition);
    const name = canonicalName(definition, given);
    const reducer = findReducer(definition, name);
    const procedure = reducer === undefined ? findProcedure(definition, name) : undefined;
    const declared = reducer ?? procedure;
    if (declared === undefined) {
      throw new CallFailed({ code: 'reducer.unknown', reducer: name }, name);
    }
    const { typespace, sourceTypespace } = definition;
    const types = spelling === 'module' ? [sourceTypespace] : [typespace, sourceTypespace];
    const request = {
      caller: this.#host.callerFor(callerOf(as), database),
      connection: temporaryConnection(),
      args: encodedArguments(declared, args, { types, leftOut: columnsLeftOut(definition) }),
      schemaVersion: described.schemaVersion,
      confirmed: true,
    };
    const decoded = (type: AlgebraicType | undefined, bytes: Uint8Array | undefined): unknown => {
      const [own] = types;
      return type && bytes && nativeDecoderOf(type, own)(new BinaryReader(bytes));
    };
    if (procedure !== undefined) {
      const outcome = await database.handle.procedure({ ...request, procedure: name });
      await this.rest();
      if (outcome.kind === 'failed') throw new CallFailed(outcome.error, name);
      return decoded(procedure.returnType, outcome.value);
    }
    const outcome = await database.handle.call({ ...request, reducer: name });
    await this.rest();
    const type = outcome.kind === 'committed' ? reducer?.returns : reducer?.throws;
    const value = decoded(type, resultOf(outcome));
    if (outcome.kind === 'aborted') throw new CallFailed(outcome.error, name, value);
    return value;
  }

  request(
    target: string | Request,
    as: Identity | undefined,
    init: RequestInit,
  ): Promise<SyncResponse> {
    return insideOf(this.#clock).during(this.#request(target, as, init));
  }

  async #request(
    target: string | Request,
    as: Identity | undefined,
    init: RequestInit,
  ): Promise<SyncResponse> {
    const { database } = this;
    const request = typeof target === 'string' ? new Request(target, init) : target;
    const caller = as && this.#host.callerFor(callerOf(as), database);
    const response = await answerRequest(database.handle, request, caller);
    await this.rest();
    return response;
  }

  /** Rows with canonical names, or those of `rowType`. Throws `QueryFailed`. */
  async query(
    sql: string,
    as: Identity,
    { params = [], rowType }: { params?: QueryParameters; rowType?: ProductType } = {},
  ): Promise<TestRow[]> {
    const { database } = this;
    const outcome = await database.handle.query({
      caller: this.#host.callerFor(callerOf(as), database),
      connection: temporaryConnection(),
      sql,
      parameters: parametersOf(params),
      confirmed: true,
    });
    await this.rest();
    if (outcome.kind === 'failed') throw new QueryFailed(outcome.error.message);
    const decode =
      rowType === undefined
        ? nativeDecoderOf({ kind: 'product', elements: outcome.columns }, outcome.types)
        : nativeDecoderOf(rowType, this.names().typespace);
    const reader = new BinaryReader(outcome.rows);
    return Array.from({ length: outcome.rowCount }, () => decode(reader) as TestRow);
  }

  /** Opens a connection of its own, with one subscription. */
  async watch(sql: string, as: Identity): Promise<TestWatch<TestRow>> {
    const { database } = this;
    const caller = this.#host.callerFor(callerOf(as), database);
    const connection = { caller, connectionId: randomConnectionId(), dialect: 'full' } as const;
    const watch = await watchQuery(
      sql,
      () => this.names(),
      (sink) => database.handle.live({ ...connection, confirmed: false }, sink),
    );
    await this.rest();
    return watch;
  }

  /** What a request has made due runs before anything else; a procedure begins, at least. */
  async rest(): Promise<void> {
    const { handle } = this.database;
    const { isHeld, rested } = insideOf(this.#clock);
    const isDue = (): boolean => {
      const { state, nextDueMicros } = handle.statistics();
      if (state !== 'serving' || nextDueMicros === undefined) return false;
      return nextDueMicros <= this.#clock.nowMicros();
    };
    while (isDue() && !isHeld()) await rested();
  }
}

function canonicalName({ reducers, procedures }: ModuleDefinition, name: string): string {
  const all = [...reducers, ...procedures];
  if (all.some((one) => one.name === name)) return name;
  return all.find((one) => one.sourceName === name)?.name ?? name;
}

/** The first types whose names the arguments have; if none fits, the error is that of the first. */
function encodedArguments(
  declared: DeclaredParams,
  args: CallArguments,
  { types, leftOut }: { readonly types: readonly Typespace[]; readonly leftOut: LeftOutColumns },
): Uint8Array {
  const { params } = declared;
  const values = byName(declared, args, types[0] ?? { types: [] });
  let fault: unknown;
  for (const typespace of types) {
    try {
      const writer = new BinaryWriter();
      const filled = filledArguments(declared, values, { typespace, leftOut });
      nativeEncoderOf(params, typespace)(writer, filled);
      return writer.finish();
    } catch (error) {
      fault ??= error;
    }
  }
  throw fault;
}

type DeclaredParams = Pick<ReducerDefinition, 'params' | 'paramDefaults'>;

/** An array can lack options and parameters with a default at its end. */
function byName(
  { params: { elements }, paramDefaults = [] }: DeclaredParams,
  args: CallArguments,
  typespace: Typespace,
): Readonly<Record<string, unknown>> {
  if (!Array.isArray(args)) return args as Readonly<Record<string, unknown>>;
  const isNeeded = ({ type }: NamedType, at: number) =>
    paramDefaults[at] === undefined && specialKindOf(resolveType(type, typespace)) !== 'option';
  const countMin = elements.findLastIndex(isNeeded) + 1;
  if (args.length < countMin || args.length > elements.length) {
    throw new TypeError(`${args.length} arguments given, ${elements.length} expected`);
  }
  return Object.fromEntries(elements.map(({ name }, at) => [name ?? '', args[at]]));
}

function parametersOf(params: QueryParameters): SqlParameters {
  const named = Array.isArray(params)
    ? params.map((value, at) => [String(at + 1), value] as const)
    : Object.entries(params);
  return new Map(named.map(([name, value]) => [name, parameterOf(value)]));
}

function parameterOf(value: QueryParameter): string | boolean | null {
  return typeof value === 'number' || typeof value === 'bigint' ? String(value) : value;
}
