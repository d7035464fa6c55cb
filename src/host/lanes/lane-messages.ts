import type { MessagePort } from 'node:worker_threads';
import type { LaneCall, LaneEnd } from '../../module/lane.ts';
import type { ModuleLogLine } from '../../module/log-line.ts';
import type { LinkedProgram } from '../../module/runner.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { RequestWay } from '../outbound/request-way.ts';
import type { HeapLimits } from '../seats/heap-care.ts';
import type { EnvWay } from './env-way.ts';

/** A program as its lanes get it. */
export interface LaneProgram {
  /** 64 hex digits. */
  readonly hash: string;
  readonly linked: LinkedProgram;
  /** What it said of itself to its database; in a lane it must say the same. */
  readonly described: Uint8Array;
  readonly publishedMicros: bigint;
}

/** What a lane is started with, but for its two boards. */
export interface LaneStart {
  readonly identity: DatabaseIdentity;
  /** Counts the resets of the database. */
  readonly generation: number;
  readonly program: LaneProgram;
  /** See `window.ts`. */
  readonly window: SharedArrayBuffer;
  readonly hardeningFile: string;
  /** True: time is what its database says, which does not pass by itself. */
  readonly isTimeGiven: boolean;
}

/** The data that the thread of a lane is started with. */
export interface LaneThreadStart extends LaneStart {
  /** See `board.ts`. */
  readonly board: ArrayBufferLike;
  /** Leads to its database. */
  readonly port: MessagePort;
  /** Memory that its program may keep while it does not compute. */
  readonly heap: HeapLimits;
  /** Absent: its module may send no HTTP requests. */
  readonly requests: RequestWay | undefined;
  /** Leads to the configuration, which never comes from the database; absent: there is none. */
  readonly env: EnvWay | undefined;
  /** From where niceness counts; see `baseNiceness`. */
  readonly niceness: number;
}

/** Database to lane. */
export type ToLane =
  | { readonly kind: 'start'; readonly call: LaneCall }
  /** Nobody waits for this call any more. */
  | { readonly kind: 'abort'; readonly call: number; readonly reason: string }
  /** This call is over for its database; the lane gives it up, and confirms that by its end. */
  | { readonly kind: 'drop'; readonly call: number }
  /** Where time is given: a sleep is over, and this is the time; `slept` answers it. */
  | { readonly kind: 'slept'; readonly sleep: number; readonly nowMicros: bigint }
  /** It has nothing to do any more. */
  | { readonly kind: 'close' };

/** Lane to database. */
export type FromLane =
  /** There is a question in the window. */
  | { readonly kind: 'asked' }
  | { readonly kind: 'line'; readonly line: ModuleLogLine }
  /** The call that was started last waits; the lane can take another one. */
  | { readonly kind: 'waiting'; readonly call: number }
  | { readonly kind: 'ended'; readonly call: number; readonly end: LaneEnd }
  /** After `drop`. */
  | { readonly kind: 'dropped'; readonly call: number }
  /** Where time is given: a sleep begins, or nobody waits for it any more. */
  | { readonly kind: 'sleep'; readonly sleep: number; readonly micros: bigint }
  | { readonly kind: 'awake'; readonly sleep: number }
  /** What followed from the end of a sleep is done, as far as it did not have to wait. */
  | { readonly kind: 'slept'; readonly sleep: number }
  /** Where time is given: so many requests have no answer, or what follows from it is not done. */
  | { readonly kind: 'requests'; readonly count: number }
  /** It keeps too much memory for its program, and does nothing any more. */
  | { readonly kind: 'over'; readonly what: 'heap' | 'buffers' }
  /** It could not load the program. */
  | { readonly kind: 'failed'; readonly message: string };

/** Why the thread of a lane ended. */
export interface LaneDeath {
  /** `budget`: its module took too much time or memory. */
  readonly cause: 'budget' | 'closed' | 'died';
  readonly message: string;
}

/** Starts the thread of a lane; its port leads there. Ends are reported once. */
export type StartLane = (
  start: LaneStart,
  port: MessagePort,
  ended: (death: LaneDeath) => void,
) => LaneThread;

export interface LaneThread {
  /** Its program was replaced: it sends no more HTTP requests, and those under way end. */
  replaced(): void;
  /** Ends it, wherever it is, and its requests. */
  end(death: LaneDeath): void;
}
