import type { HandlerAuth } from '../schema/definition.ts';
import type { ConnectionId } from '../values/connection-id.ts';
import type { Identity } from '../values/identity.ts';
import type { TimeDuration } from '../values/time-duration.ts';
import { Timestamp } from '../values/timestamp.ts';
import type { Uuid } from '../values/uuid.ts';
import type { AbortSignal } from './abort-signal.ts';
import type { AuthCtx } from './auth.ts';
import type { Bridge } from './bridge.ts';
import { CallContext, type ModuleScope } from './context.ts';
import type { FetchInit, HttpClient } from './contexts.ts';
import { fetchAsync, httpClient } from './http-client.ts';
import type { Request } from './http-messages.ts';
import type { Random } from './random.ts';
import type { CallReducer } from './reducer-caller.ts';
import type { Response } from './response.ts';
import type { Operations, RunningCall } from './running-call.ts';
import { sleepMicros } from './sleep-micros.ts';
import type { Transactions } from './with-tx.ts';

/** What procedures and HTTP handlers of a program can do besides computing. */
export interface ProcedureTools {
  readonly bridge: Bridge;
  readonly transactions: Transactions;
  readonly callReducer: CallReducer;
  readonly operations: Operations;
}

/** What `ctx.read` hands to its body. */
export interface ReadScope {
  readonly db: ModuleScope['readonlyDb'];
  readonly timestamp: Timestamp;
}

/**
 * The `ctx` of a procedure or an HTTP handler, created for every call. Its types are in
 * `contexts.ts`. Whatever it does is done for its own call, whichever goes on at that moment.
 */
export class ProcedureContext {
  /** Of a handler, only if it declares authentication; `null`: no token came with the request. */
  readonly sender?: Identity | null;
  readonly senderAuth?: AuthCtx;
  readonly databaseIdentity: Identity;
  readonly timestamp: Timestamp;
  readonly connectionId: ConnectionId | null;
  /** The context of the call as its transactions see it, which the procedure does not get. */
  readonly #inside: CallContext;
  readonly #tools: ProcedureTools;
  readonly #call: RunningCall;
  /** Of a handler. */
  readonly #auth: HandlerAuth | undefined;
  #http: HttpClient | undefined;

  constructor(inside: CallContext, tools: ProcedureTools, call: RunningCall, auth?: HandlerAuth) {
    if (auth === undefined) this.sender = inside.sender;
    else if (auth !== 'none') {
      this.senderAuth = inside.senderAuth;
      this.sender = inside.senderAuth.hasJWT ? inside.sender : null;
    }
    this.databaseIdentity = inside.databaseIdentity;
    this.timestamp = inside.timestamp;
    this.connectionId = inside.connectionId;
    this.#inside = inside;
    this.#tools = tools;
    this.#call = call;
    this.#auth = auth;
  }

  get http(): HttpClient {
    this.#http ??= httpClient(this.#tools.bridge, this.#call.number);
    return this.#http;
  }

  get signal(): AbortSignal {
    return this.#call.controller.signal;
  }

  fetch(url: string | Request, init?: FetchInit): Promise<Response> {
    const { bridge, operations } = this.#tools;
    return fetchAsync(bridge, operations, this.#call, url, init);
  }

  sleep(
    duration: TimeDuration | number,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<void> {
    const { bridge, operations } = this.#tools;
    const begin = () => bridge.sys.sleep(sleepMicros(duration), this.#call.number);
    return operations.wait(this.#call, signal, begin, () => undefined);
  }

  get env(): object {
    return CallContext.wholeEnvOf(this.#inside);
  }

  get identity(): Identity {
    return this.databaseIdentity;
  }

  get random(): Random {
    return this.#inside.random;
  }

  newUuidV4(): Uuid {
    return this.#inside.newUuidV4();
  }

  newUuidV7(): Uuid {
    return this.#inside.newUuidV7();
  }

  withTx<Result>(body: (tx: CallContext) => Result): Result {
    return this.#tools.transactions.write(this.#call.number, (micros) =>
      body(CallContext.at(this.#inside, new Timestamp(micros))),
    );
  }

  read<Result>(body: (read: ReadScope) => Result): Result {
    const db = CallContext.readonlyDbOf(this.#inside);
    return this.#tools.transactions.read(this.#call.number, (micros) =>
      body(Object.freeze({ db, timestamp: new Timestamp(micros) })),
    );
  }

  call(reducer: unknown, args?: unknown): unknown {
    return this.#tools.callReducer(this.#call.number, reducer, args);
  }

  /** This context as seen by each submodule. */
  get as(): Readonly<Record<string, ProcedureContext>> {
    const narrowed = Object.entries(this.#inside.as).map(
      ([namespace, inside]) =>
        [namespace, new ProcedureContext(inside, this.#tools, this.#call, this.#auth)] as const,
    );
    return Object.fromEntries(narrowed);
  }
}
