import type { ConnectionId } from '../values/connection-id.ts';
import type { Identity } from '../values/identity.ts';
import { Timestamp } from '../values/timestamp.ts';
import type { Uuid } from '../values/uuid.ts';
import { CallContext, type ModuleScope } from './context.ts';
import type { HttpClient } from './contexts.ts';
import type { Random } from './random.ts';
import type { CallReducer } from './reducer-caller.ts';
import type { Transactions } from './with-tx.ts';

/** What procedures of a program can do besides computing. */
export interface ProcedureTools {
  readonly transactions: Transactions;
  readonly callReducer: CallReducer;
  readonly http: HttpClient;
}

/** What `ctx.read` hands to its body. */
export interface ReadScope {
  readonly db: ModuleScope['readonlyDb'];
  readonly timestamp: Timestamp;
}

/** The `ctx` of a procedure, created for every call. Its type is in `contexts.ts`. */
export class ProcedureContext {
  readonly sender: Identity;
  readonly databaseIdentity: Identity;
  readonly timestamp: Timestamp;
  readonly connectionId: ConnectionId | null;
  readonly http: HttpClient;
  /** The context of the call as its transactions see it, which the procedure does not get. */
  readonly #inside: CallContext;
  readonly #tools: ProcedureTools;

  constructor(inside: CallContext, tools: ProcedureTools) {
    this.sender = inside.sender;
    this.databaseIdentity = inside.databaseIdentity;
    this.timestamp = inside.timestamp;
    this.connectionId = inside.connectionId;
    this.http = tools.http;
    this.#inside = inside;
    this.#tools = tools;
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
    return this.#tools.transactions.write((micros) =>
      body(CallContext.at(this.#inside, new Timestamp(micros))),
    );
  }

  read<Result>(body: (read: ReadScope) => Result): Result {
    const db = CallContext.readonlyDbOf(this.#inside);
    return this.#tools.transactions.read((micros) =>
      body(Object.freeze({ db, timestamp: new Timestamp(micros) })),
    );
  }

  call(reducer: unknown, args?: unknown): unknown {
    return this.#tools.callReducer(reducer, args);
  }

  /** This context as seen by each submodule. */
  get as(): Readonly<Record<string, ProcedureContext>> {
    const narrowed = Object.entries(this.#inside.as).map(
      ([namespace, inside]) => [namespace, new ProcedureContext(inside, this.#tools)] as const,
    );
    return Object.fromEntries(narrowed);
  }
}
