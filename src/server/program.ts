import { decodePathParameters } from '../protocol/http-abi.ts';
import { logLevels } from '../protocol/module-abi.ts';
import type { HandlerAuth } from '../schema/definition.ts';
import { encodeRawModuleV10 } from '../schema/encode-raw-module.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import { useTimer } from './abort-signal.ts';
import {
  type Answer,
  answerOf,
  type HandlerAnswer,
  handlerAnswerOf,
  procedureAnswerOf,
  refusePromise,
} from './answer.ts';
import { Bridge } from './bridge.ts';
import { useHostConsole } from './console.ts';
import { ContextFactory, type ModuleScope } from './context.ts';
import type { ModulePlan, PlannedTable } from './describe.ts';
import { Environment } from './environment.ts';
import { SenderError } from './errors.ts';
import { decodeRequest } from './http-heads.ts';
import { ProcedureContext, type ProcedureTools } from './procedure-context.ts';
import { type CallableReducer, reducerCaller } from './reducer-caller.ts';
import type { AnyHandler } from './registration.ts';
import { Operations, RunningCall } from './running-call.ts';
import type { Sys } from './sys.ts';
import { lazyDecoder, makeTableHandles } from './table-handle.ts';
import { makeViews, type RunnableView, type ViewResult } from './view-program.ts';
import { Transactions } from './with-tx.ts';

/** The functions that the host calls. `this` is the hooks object. */
export interface ModuleHooks {
  /** The module's definition in its binary form. */
  __describe_module__(): Uint8Array;
  /**
   * Runs one reducer. `args` holds its encoded arguments and is valid only during the call. Returns
   * the encoded value of a reducer that declares one.
   */
  __call_reducer__(
    id: number,
    sender: bigint,
    connectionId: bigint,
    timestamp: bigint,
    args: DataView,
  ): Uint8Array | undefined;
  /**
   * Runs one procedure and returns its encoded value, or a promise of it; `args` as of a reducer.
   * `call` is its number, for functions of `Sys`.
   */
  __call_procedure__(
    id: number,
    sender: bigint,
    connectionId: bigint,
    timestamp: bigint,
    args: DataView,
    call: number,
  ): Uint8Array | Promise<Uint8Array>;
  /**
   * Answers a request with a handler: `request` is its encoded head, `params` are the parameters of
   * its path. A host of the peer passes the first four.
   */
  __call_http_handler__(
    id: number,
    timestamp: bigint,
    request: Uint8Array,
    body: Uint8Array,
    params?: Uint8Array,
    sender?: bigint,
    call?: number,
  ): HandlerAnswer | Promise<HandlerAnswer>;
  /** An operation that the program has started is over; see `Operations`. */
  __operation_completed__(
    operation: number,
    result: number,
    bodyBytes: number,
    text: string,
    isRedirected: boolean,
  ): void;
  /** Nobody waits for a call any more, or, without a reason, it is over. */
  __abort_call__(call: number, reason: string): void;
  /** Evaluates a view for `sender`. */
  __call_view__(id: number, sender: bigint, args: Uint8Array): ViewResult;
  /** Evaluates an anonymous view; these are numbered separately. */
  __call_view_anon__(id: number, args: Uint8Array): ViewResult;
  /** Errors of this class are shown to the caller. */
  readonly __sender_error_class__: typeof SenderError;
}

interface Runnable {
  readonly handler: AnyHandler;
  readonly decodeArgs: (reader: BinaryReader) => unknown;
  /** Only for reducers that declare a result or an error. */
  readonly answer: Answer | undefined;
  readonly scope: ModuleScope;
}

interface RunnableProcedure extends Pick<Runnable, 'handler' | 'decodeArgs' | 'scope'> {
  readonly encodeReturned: (value: unknown) => Uint8Array | Promise<Uint8Array>;
}

interface RunnableHandler extends Pick<Runnable, 'handler' | 'scope'> {
  readonly auth: HandlerAuth;
  readonly encodeReturned: (value: unknown) => HandlerAnswer | Promise<HandlerAnswer>;
}

/** Functions, indexed by the numbers that the host uses. */
interface Functions {
  readonly reducers: Runnable[];
  /** The same reducers, as procedures call them. */
  readonly callable: CallableReducer[];
  readonly procedures: RunnableProcedure[];
  /** Of the root module alone. */
  readonly handlers: RunnableHandler[];
  readonly senderViews: RunnableView[];
  readonly anonymousViews: RunnableView[];
}

/** What a program with migrations adds; the others do not carry its code. */
export interface ProgramExtension {
  /** Payload of the block of migrations. */
  readonly block: Uint8Array;
  readonly hooks: (bridge: Bridge) => object;
}

/** Connects a described module to the host that runs it. */
export function startProgram(
  plan: ModulePlan,
  sys: Sys,
  extension?: ProgramExtension,
): ModuleHooks {
  useHostConsole(sys);
  const bridge = new Bridge(sys);
  const contexts = new ContextFactory(bridge);
  const functions: Functions = {
    reducers: [],
    callable: [],
    procedures: [],
    handlers: [],
    senderViews: [],
    anonymousViews: [],
  };
  makeScope(bridge, plan, '', functions);
  const { reducers, procedures, handlers, senderViews, anonymousViews } = functions;
  const operations = new Operations(bridge);
  useTimer((micros, done) => operations.timer(micros, done));
  const tools: ProcedureTools = {
    bridge,
    transactions: new Transactions(bridge),
    callReducer: reducerCaller(bridge, functions.callable),
    operations,
  };
  const args = new ArgumentReader();
  return {
    __describe_module__() {
      warnOfSharedNames(plan, '', sys);
      return encodeRawModuleV10(plan.raw, extension?.block);
    },
    __call_reducer__(id, sender, connectionId, timestamp, encoded) {
      const { handler, decodeArgs, answer, scope } = reducers[id] as Runnable;
      const decoded = decodeArgs(args.open(encoded));
      const ctx = contexts.contextOf(scope, sender, connectionId, timestamp);
      if (answer !== void 0) return answer(() => handler(ctx, decoded));
      refusePromise(handler(ctx, decoded));
      return void 0;
    },
    __call_procedure__(id, sender, connectionId, timestamp, encoded, number) {
      const { handler, decodeArgs, encodeReturned, scope } = procedures[id] as RunnableProcedure;
      const decoded = decodeArgs(args.open(encoded));
      const inside = contexts.contextOf(scope, sender, connectionId, timestamp, number);
      const call = new RunningCall(number);
      const answer = encodeReturned(handler(new ProcedureContext(inside, tools, call), decoded));
      return answer instanceof ByteArray ? answer : operations.untilSettled(call, answer);
    },
    __call_http_handler__(id, timestamp, request, body, params, sender = 0n, number = 0) {
      const { handler, auth, encodeReturned, scope } = handlers[id] as RunnableHandler;
      const decoded = decodeRequest(request, body, paramsOf(params));
      const inside = contexts.contextOf(scope, sender, 0n, timestamp, number);
      const call = new RunningCall(number);
      const ctx = new ProcedureContext(inside, tools, call, auth);
      const answer = encodeReturned(handler(ctx, decoded));
      return 'then' in answer ? operations.untilSettled(call, answer) : answer;
    },
    __operation_completed__: (...completion) => operations.completed(...completion),
    __abort_call__: (call, reason) => operations.abort(call, reason),
    __call_view__: (id, sender) => (senderViews[id] as RunnableView).evaluate(sender),
    __call_view_anon__: (id) => (anonymousViews[id] as RunnableView).evaluate(void 0),
    __sender_error_class__: SenderError,
    ...extension?.hooks(bridge),
  };
}

/** The tables of one module and, after its own functions, those of its submodules. */
function makeScope(
  bridge: Bridge,
  plan: ModulePlan,
  namespace: string,
  functions: Functions,
): ModuleScope {
  const { typespace } = plan.registry;
  const db = new Map<string, unknown>();
  const readonlyDb = new Map<string, unknown>();
  const submodules = new Map<string, ModuleScope>();
  const environment = namespace === '' ? new Environment(bridge.sys, plan.raw.env) : undefined;
  const scope = { db: {}, readonlyDb: {}, submodules, environment };
  for (const planned of plan.tables) {
    const handles = makeTableHandles(bridge, namespace, planned, typespace);
    db.set(planned.key, handles.write);
    readonlyDb.set(planned.key, handles.read);
  }
  for (const reducer of plan.reducers) {
    const decodeArgs = lazyDecoder(reducer.params, typespace);
    const answer = answerOf(reducer, plan.registry);
    functions.reducers.push({ handler: reducer.handler, decodeArgs, answer, scope });
    functions.callable.push({ planned: reducer, typespace });
  }
  for (const procedure of plan.procedures) {
    const decodeArgs = lazyDecoder(procedure.params, typespace);
    const encodeReturned = procedureAnswerOf(procedure, plan.registry);
    functions.procedures.push({ handler: procedure.handler, decodeArgs, encodeReturned, scope });
  }
  for (const { name, auth, handler } of namespace === '' ? plan.handlers : []) {
    const encodeReturned = handlerAnswerOf(name);
    functions.handlers.push({ handler, auth, encodeReturned, scope });
  }
  for (const view of makeViews(plan, namespace, () => scope.readonlyDb)) {
    (view.isAnonymous ? functions.anonymousViews : functions.senderViews).push(view);
  }
  for (const { namespace: key, plan: inner } of plan.submodules) {
    const innerScope = makeScope(bridge, inner, `${namespace}${key}.`, functions);
    submodules.set(key, innerScope);
    db.set(key, innerScope.db);
    readonlyDb.set(key, innerScope.readonlyDb);
  }
  scope.db = Object.freeze(Object.fromEntries(db));
  scope.readonlyDb = Object.freeze(Object.fromEntries(readonlyDb));
  return scope;
}

function paramsOf(params: Uint8Array | undefined): Record<string, string> {
  return params === void 0 ? {} : Object.fromEntries(decodePathParameters(params));
}

/** Reuses one reader for all calls: the host uses the same buffer for nearly all of them. */
class ArgumentReader {
  #bytes = new ByteArray(0);
  readonly #reader = new BinaryReader(this.#bytes);

  open(args: DataView): BinaryReader {
    if (args.buffer !== this.#bytes.buffer) {
      this.#bytes = new ByteArray(args.buffer as ArrayBuffer);
    }
    this.#reader.reset(this.#bytes, args.byteOffset, args.byteOffset + args.byteLength);
    return this.#reader;
  }
}

const tableMembers = ['insert', 'delete', 'clear', 'count', 'iter'];

/**
 * Warns of index accessors named like a method of the handle: they work, but read as the method.
 */
function warnOfSharedNames(plan: ModulePlan, namespace: string, sys: Sys): void {
  for (const planned of plan.tables) {
    for (const accessor of sharedNames(planned)) {
      const column = `${namespace}${planned.key}.${accessor}`;
      sys.log(logLevels.warn, `index accessor ${column} has the name of a table method`);
    }
  }
  for (const submodule of plan.submodules) {
    warnOfSharedNames(submodule.plan, `${namespace}${submodule.namespace}.`, sys);
  }
}

function sharedNames({ table }: PlannedTable): string[] {
  return table.idxs.map(({ accessor }) => accessor).filter((name) => tableMembers.includes(name));
}

// In the sandbox a global is looked up through a proxy; hot code reads this instead.
const ByteArray = Uint8Array;
