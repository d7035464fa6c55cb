import { refusalText } from '../declare/refusal-text.ts';

/**
 * The `code` of an error, a literal, so that a program can tell errors apart without parsing texts.
 *
 * | code | class | when |
 * |---|---|---|
 * | `reducer.refused` | `SenderError`, `CallError` | the reducer rejected the call and says why |
 * | `call.failed` | `InternalError` | the call failed for another reason |
 * | `connection.lost` | `ConnectionLostError` | no answer: the connection ended, or never began |
 * | `socket.closed` | `ReducerDbError` | a socket was closed, by the server or on the way |
 * | `client.overloaded` | `OverloadedError` | too many calls of this client wait for an answer |
 * | `call.timeout` | `TimeoutError` | no answer within `timeoutMillis` |
 * | `schema.mismatch` | `SchemaMismatchError` | the database does not have what the types promise |
 * | `identity.changed` | `IdentityChangedError` | another identity came back after a reconnect |
 * | `token.refused` | `ConnectionRefusedError` | the server rejected the token or its owner |
 * | `query.refused` | `QueryError` | the server rejected a query |
 *
 * @example
 * ```ts
 * const code: ErrorCode | undefined = error instanceof ReducerDbError ? error.code : undefined;
 * ```
 */
export type ErrorCode =
  | 'reducer.refused'
  | 'call.failed'
  | 'connection.lost'
  | 'socket.closed'
  | 'client.overloaded'
  | 'call.timeout'
  | 'schema.mismatch'
  | 'identity.changed'
  | 'token.refused'
  | 'query.refused';

/**
 * The base of all errors of this library.
 *
 * @example
 * ```ts
 * const isLost = error instanceof ReducerDbError && error.code === 'connection.lost';
 * ```
 */
export class ReducerDbError extends Error {
  override name = 'ReducerDbError';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/**
 * The reducer rejected the call: it threw a `SenderError` with this text.
 *
 * @example
 * ```ts
 * const reason = error instanceof SenderError ? error.message : 'something went wrong';
 * ```
 */
export class SenderError extends ReducerDbError {
  override name = 'SenderError';
  declare readonly code: 'reducer.refused';

  constructor(message: string) {
    super('reducer.refused', message);
  }
}

/** The key under which a call has the name of its reducer. */
export const reducerName: unique symbol = Symbol('reducer');

declare const thrown: unique symbol;

/**
 * A reducer's call; `Value`, known only to the compiler, is the type of its error.
 *
 * @example
 * ```ts
 * const call: Throwing<unknown> = client.reducers.trade;
 * ```
 */
export interface Throwing<Value> {
  readonly [reducerName]: string;
  readonly [thrown]?: Value;
}

/**
 * The reducer rejected the call with a value of the type that it declares as `throws`.
 *
 * @example
 * ```ts
 * const value = error instanceof CallError ? error.error : undefined;
 * ```
 */
export class CallError<Value = unknown> extends SenderError {
  override name = 'CallError';
  /** As the program calls it. */
  readonly reducer: string;
  readonly error: Value;

  constructor(reducer: string, error: Value) {
    super(refusalText(error));
    this.reducer = reducer;
    this.error = error;
  }
}

/**
 * Whether `error` is a rejection by this reducer; if so, its value has the type that the module
 * declares.
 *
 * @example
 * ```ts
 * try {
 *   await client.reducers.trade({ gold: 5 });
 * } catch (error) {
 *   if (!isCallError(error, client.reducers.trade)) throw error;
 *   if (error.error.tag === 'TooPoor') console.warn(error.error.value);
 * }
 * ```
 */
export function isCallError<Value>(
  error: unknown,
  call: Throwing<Value>,
): error is CallError<Value> {
  return error instanceof CallError && error.reducer === call[reducerName];
}

/**
 * The call failed without being rejected by the reducer: no such function, wrong arguments, a
 * crash.
 *
 * @example
 * ```ts
 * const text = error instanceof InternalError ? String(error) : '';
 * ```
 */
export class InternalError extends ReducerDbError {
  override name = 'InternalError';
  declare readonly code: 'call.failed';

  constructor(message: string, options?: ErrorOptions) {
    super('call.failed', message, options);
  }

  /** Only the text, for older programs that expect a string here. */
  override toString(): string {
    return this.message;
  }
}

/**
 * The call has no answer. `not-sent`: it did not run. `unknown`: it may have run.
 *
 * @example
 * ```ts
 * const mayHaveRun = error instanceof ConnectionLostError && error.outcome === 'unknown';
 * ```
 */
export class ConnectionLostError extends ReducerDbError {
  override name = 'ConnectionLostError';
  declare readonly code: 'connection.lost';
  readonly outcome: 'unknown' | 'not-sent';

  constructor(outcome: 'unknown' | 'not-sent', options?: ErrorOptions) {
    const text =
      outcome === 'unknown'
        ? 'the connection was lost before the answer; the call may have run'
        : 'not connected; the call was not sent';
    super('connection.lost', text, options);
    this.outcome = outcome;
  }
}

/**
 * Too many calls of this client wait for an answer; no more are accepted.
 *
 * @example
 * ```ts
 * const isTooMuch = error instanceof OverloadedError;
 * ```
 */
export class OverloadedError extends ReducerDbError {
  override name = 'OverloadedError';
  declare readonly code: 'client.overloaded';

  constructor(count: number) {
    super('client.overloaded', `${count} calls wait for an answer; this one was not sent`);
  }
}

/**
 * No answer came in time. The call may still run.
 *
 * @example
 * ```ts
 * const isSlow = error instanceof TimeoutError;
 * ```
 */
export class TimeoutError extends ReducerDbError {
  override name = 'TimeoutError';
  declare readonly code: 'call.timeout';

  constructor(millis: number) {
    super('call.timeout', `no answer within ${millis} ms; the call may still run`);
  }
}

/**
 * The database lacks what the program's types promise; `accessor` names it.
 *
 * @example
 * ```ts
 * const missing = error instanceof SchemaMismatchError ? error.accessor : undefined;
 * ```
 */
export class SchemaMismatchError extends ReducerDbError {
  override name = 'SchemaMismatchError';
  declare readonly code: 'schema.mismatch';
  readonly accessor: string;

  constructor(accessor: string, what: string) {
    super('schema.mismatch', `the database ${what} \`${accessor}\``);
    this.accessor = accessor;
  }
}

/**
 * After a reconnect the server knows this client by another identity.
 *
 * @example
 * ```ts
 * const isSomebodyElse = error instanceof IdentityChangedError;
 * ```
 */
export class IdentityChangedError extends ReducerDbError {
  override name = 'IdentityChangedError';
  declare readonly code: 'identity.changed';

  constructor() {
    super('identity.changed', 'the server gave this client another identity');
  }
}

/**
 * The server rejected the token, or denied access to its owner: retrying does not help.
 *
 * @example
 * ```ts
 * const mustSignIn = error instanceof ConnectionRefusedError && error.status === 401;
 * ```
 */
export class ConnectionRefusedError extends ReducerDbError {
  override name = 'ConnectionRefusedError';
  declare readonly code: 'token.refused';
  readonly status: number;

  constructor(status: number, text: string) {
    super('token.refused', text);
    this.status = status;
  }
}

/**
 * The server rejected a query, or dropped a subscribed one.
 *
 * @example
 * ```ts
 * const text = error instanceof QueryError ? error.message : '';
 * ```
 */
export class QueryError extends ReducerDbError {
  override name = 'QueryError';
  declare readonly code: 'query.refused';

  constructor(message: string) {
    super('query.refused', message);
  }
}

/** Turns a thrown value into an error. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
