import type { HttpRequest } from '../protocol/http-abi.ts';
import { errorCodes, type redirectModes } from '../protocol/module-abi.ts';
import type { ConnectionNumber } from '../values/connection-number.ts';
import type { CallerIdentity } from '../values/identity-roles.ts';
import type { Scratch } from './host-calls.ts';
import type { TraceFrame } from './log-line.ts';

/**
 * A lane runs procedures and HTTP handlers: a program in a realm of its own, apart from the actor
 * that owns the rows. This file is the contract between the program of a lane and the database.
 */

/** The data calls of the module boundary, as numbers that cross from a lane to its database. */
export const dataOps = {
  /** a: bytes of the name in the scratch. */
  tableId: 0,
  /** a: bytes of the name in the scratch. */
  indexId: 1,
  rowCount: 2,
  insert: 3,
  update: 4,
  deleteEqual: 5,
  find: 6,
  scan: 7,
  scanPoint: 8,
  scanRange: 9,
  next: 10,
  close: 11,
  deletePoint: 12,
  deleteRange: 13,
  clear: 14,
  /** The JSON text is then in the scratch; the result is its bytes. */
  violation: 15,
} as const;

export type DataOp = (typeof dataOps)[keyof typeof dataOps];

/** Codes with which a database answers its lanes: each is the negated code of a host call. */
export const laneCodes = {
  /** With a text that says why. */
  failed: -errorCodes.hostCallFailure,
  undecodable: -errorCodes.undecodable,
} as const;

/** `write`: may change rows. `read`: sees the rows of one offset and holds no writer up. */
export type TransactionKind = 'write' | 'read';

/** What a call draws from, and who has made it. */
export interface CallSecrets {
  /** 32 bytes of host entropy. */
  readonly seed: Uint8Array;
  /** Payload of the caller's token, as JSON text; empty = none. */
  readonly jwtPayload: string;
}

/** One procedure or handler as a lane begins it. */
export interface LaneCall extends CallSecrets {
  /** Never 0; unique in its database as long as the actor lives. */
  readonly number: number;
  readonly kind: 'procedure' | 'handler';
  /** Position in the definition's procedures, or in its handlers. */
  readonly id: number;
  /** Canonical name, for log lines. */
  readonly name: string;
  readonly sender: CallerIdentity;
  /** 0n = no connection. */
  readonly connectionId: ConnectionNumber;
  readonly timestampMicros: bigint;
  /** Encoded product of the parameters, already checked; for a handler, the encoded request. */
  readonly args: Uint8Array;
  /** True: nobody waits for it, so it can take any time in all. */
  readonly isScheduled?: boolean;
  /** Body of the request, for a handler. */
  readonly body?: Uint8Array;
  /** Parameters of the path, for a handler. */
  readonly params?: readonly (readonly [name: string, value: string])[];
}

export type LaneEnd =
  /** `value`: encoded, unchecked; for a handler, the encoded response, with its body beside it. */
  | { readonly kind: 'returned'; readonly value: Uint8Array; readonly body?: Uint8Array }
  /** Whatever it threw, a `SenderError` included. */
  | { readonly kind: 'failed'; readonly message: string; readonly trace: readonly TraceFrame[] };

/** Runs the program of one lane. All calls are made inside the lane, and none nests. */
export interface LaneRunner {
  /** The program's own description, to be compared with the one that the database has. */
  describe(): Uint8Array;
  /** Runs a call until it ends or waits for something. */
  start(call: LaneCall): LaneEnd | 'waiting';
  /** Hands over what a call waited for; calls that end by that are in `takeEnded`. */
  completed(operation: number, outcome: AsyncOutcome): void;
  /** Nobody waits for a call any more, for this reason: aborts its signal, if it waits. */
  abort(call: number, reason: string): void;
  /** Gives up a call that waits; it is not in `takeEnded`. */
  drop(call: number): void;
  takeEnded(): readonly { readonly call: number; readonly end: LaneEnd }[];
  dispose(): void;
}

/**
 * A lane's way to its database and to the world. Every method but `ask` and `cancel` blocks the
 * lane.
 */
export interface LaneLink {
  /**
   * Opens a transaction; returns its timestamp in microseconds, or a negated error code, with
   * `failure` as its text.
   */
  begin(kind: TransactionKind, call: number): bigint;
  /** Why `begin` has refused; empty: the text of the code says it. */
  readonly failure: string;
  /**
   * One data call in the open transaction, with the numbers and the scratch of `HostCalls`; a
   * negative result is a negated error code.
   */
  data(op: DataOp, a: number, b: number, c: number, d: number, e: number, scratch: Scratch): number;
  /** Ends the open transaction. `code`: 0, or negated, with `failure` as its text. */
  end(how: 'commit' | 'abort'): TransactionEnd;
  /** Position of a reducer by canonical or source name; `-hostCallFailure`: there is none. */
  reducerId(name: string): number;
  /** Runs a reducer of the same module, as the caller of `call`. */
  reducer(id: number, args: Uint8Array, call: number): ReducerEnd;
  /** Waits for the response. Absent where programs may send no requests. */
  fetch?(request: OutboundRequest, call: number): FetchOutcome;
  /** Starts something that `LaneRunner.completed` reports; returns its number, never 0. */
  ask(operation: AsyncOperation, call: number): number;
  /** Ends something that was started; it is not reported. */
  cancel(operation: number): void;
}

export interface TransactionEnd {
  readonly code: number;
  readonly failure: string;
}

export type ReducerEnd =
  | { readonly kind: 'returned'; readonly value?: Uint8Array }
  /** The reducer refused; `value` is encoded by the type that it declares for errors. */
  | { readonly kind: 'refused'; readonly message: string; readonly value?: Uint8Array }
  /** It crashed, or was over its quota or budget; the text is for the module. */
  | { readonly kind: 'failed'; readonly message: string }
  /** The call itself was wrong, for instance within a transaction. */
  | { readonly kind: 'code'; readonly code: number };

export interface OutboundRequest {
  readonly head: HttpRequest;
  readonly body: Uint8Array;
  /** What becomes of redirects; absent: they are followed. */
  readonly redirect?: RedirectMode;
}

/** `error`: a redirect is a failure. `manual`: it is the response. */
export type RedirectMode = keyof typeof redirectModes;

export type FetchOutcome =
  | {
      readonly kind: 'response';
      /** An encoded `HttpResponse`. */
      readonly head: Uint8Array;
      readonly body: Uint8Array;
      /** The one that has answered, after redirects. */
      readonly url: string;
      readonly isRedirected: boolean;
    }
  /** `message`: the causes, joined by `: `, without the query of the URL. */
  | { readonly kind: 'failed'; readonly message: string };

export type AsyncOperation =
  | { readonly kind: 'fetch'; readonly request: OutboundRequest }
  | { readonly kind: 'sleep'; readonly micros: bigint };

export type AsyncOutcome = FetchOutcome | { readonly kind: 'slept' };
