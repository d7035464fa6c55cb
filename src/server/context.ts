import { ConnectionId } from '../values/connection-id.ts';
import { Identity } from '../values/identity.ts';
import { Timestamp } from '../values/timestamp.ts';
import { Uuid } from '../values/uuid.ts';
import { type AuthCtx, authOf } from './auth.ts';
import type { Bridge } from './bridge.ts';
import { type Environment, type EnvSnapshot, noEnv } from './environment.ts';
import { type Random, randomFrom } from './random.ts';

/** The part of a program that belongs to one module: the root or a submodule. */
export interface ModuleScope {
  /** Table handles by accessor; submodules' are nested. */
  readonly db: Readonly<Record<string, unknown>>;
  /** The same for functions that only read. */
  readonly readonlyDb: ModuleScope['db'];
  readonly submodules: ReadonlyMap<string, ModuleScope>;
  /** Only of the root module: its configuration. */
  readonly environment?: Environment | undefined;
}

/** State that all contexts of one call share, whatever module they are narrowed to. */
class Call {
  readonly uuidCounter = { value: 0 };
  /** As the host knows it; 0: the one that runs. */
  readonly #number: number;
  readonly #bridge: Bridge;
  #random: Random | undefined;
  #auth: AuthCtx | undefined;
  #env: EnvSnapshot | undefined;

  constructor(bridge: Bridge, number: number) {
    this.#bridge = bridge;
    this.#number = number;
  }

  /** Created at first use, from the entropy of the call. */
  get random(): Random {
    if (this.#random === void 0) {
      const { sys } = this.#bridge;
      this.#bridge.guard();
      const seedBytes = sys.seed(this.#number);
      if (seedBytes < 0) throw this.#bridge.failure(seedBytes);
      this.#random = randomFrom(this.#bridge.read(seedBytes).raw(seedBytes));
    }
    return this.#random;
  }

  /** Taken at first use, so that a call that waits does not see it change. */
  env(environment: Environment | undefined): EnvSnapshot {
    if (environment === void 0) return noEnv;
    this.#env ??= environment.now();
    return this.#env;
  }

  auth(sender: Identity, isInternal: boolean): AuthCtx {
    this.#auth ??= authOf(this.#bridge.sys.jwt(this.#number), sender, isInternal);
    return this.#auth;
  }
}

/** The `ctx` of a reducer, created for every call. Its type is in `contexts.ts`. */
export class CallContext {
  readonly sender: Identity;
  readonly databaseIdentity: Identity;
  readonly timestamp: Timestamp;
  readonly connectionId: ConnectionId | null;
  readonly db: ModuleScope['db'];
  readonly #call: Call;
  readonly #scope: ModuleScope;

  constructor(
    scope: ModuleScope,
    from: Pick<CallContext, 'sender' | 'databaseIdentity' | 'timestamp' | 'connectionId'>,
    call: Call,
  ) {
    this.sender = from.sender;
    this.databaseIdentity = from.databaseIdentity;
    this.timestamp = from.timestamp;
    this.connectionId = from.connectionId;
    this.db = scope.db;
    this.#call = call;
    this.#scope = scope;
  }

  /** The same context at another time of its call. */
  static at(context: CallContext, timestamp: Timestamp): CallContext {
    const { sender, databaseIdentity, connectionId } = context;
    const from = { sender, databaseIdentity, connectionId, timestamp };
    return new CallContext(context.#scope, from, context.#call);
  }

  static readonlyDbOf(context: CallContext): ModuleScope['readonlyDb'] {
    return context.#scope.readonlyDb;
  }

  /** For procedures and HTTP handlers: with the secrets. */
  static wholeEnvOf(context: CallContext): object {
    return context.#call.env(context.#scope.environment).whole;
  }

  get env(): object {
    return this.#call.env(this.#scope.environment).plain;
  }

  get identity(): Identity {
    return this.databaseIdentity;
  }

  get senderAuth(): AuthCtx {
    return this.#call.auth(this.sender, this.sender.isEqual(this.databaseIdentity));
  }

  get random(): Random {
    return this.#call.random;
  }

  newUuidV4(): Uuid {
    return Uuid.fromRandomBytesV4(this.random.fill(new Uint8Array(16)));
  }

  newUuidV7(): Uuid {
    const bytes = this.random.fill(new Uint8Array(4));
    return Uuid.fromCounterV7(this.#call.uuidCounter, this.timestamp, bytes);
  }

  /** This context as seen by each submodule. */
  get as(): Readonly<Record<string, CallContext>> {
    const narrowed = [...this.#scope.submodules].map(
      ([namespace, scope]) => [namespace, new CallContext(scope, this, this.#call)] as const,
    );
    return Object.fromEntries(narrowed);
  }
}

/** Makes the contexts of a program's calls. */
export class ContextFactory {
  readonly #bridge: Bridge;
  #databaseIdentity: Identity | undefined;

  constructor(bridge: Bridge) {
    this.#bridge = bridge;
  }

  contextOf(
    scope: ModuleScope,
    sender: bigint,
    connectionId: bigint,
    timestamp: bigint,
    call = 0,
  ): CallContext {
    this.#databaseIdentity ??= new Identity(this.#bridge.sys.identity());
    const from = {
      sender: new Identity(sender),
      databaseIdentity: this.#databaseIdentity,
      timestamp: new Timestamp(timestamp),
      connectionId: connectionId === 0n ? null : new ConnectionId(connectionId),
    };
    return new CallContext(scope, from, new Call(this.#bridge, call));
  }
}
