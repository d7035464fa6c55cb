import type { Scratch } from '../../module/host-calls.ts';
import type { DataOp, LaneCall, LaneEnd, ReducerEnd } from '../../module/lane.ts';
import type { ProgramSource } from '../program-source.ts';
import type { CancelReason } from '../turn.ts';

/**
 * The lanes of one database as its turns see them. `host/lanes` implements it with threads; tests
 * and the simulation run bodies where they are asked to.
 */
export interface LaneDesk {
  /**
   * Begins a call of this program. `queued`: it begins when a lane is free. `busy`: too many wait.
   */
  start(call: LaneCall, program: ProgramSource): 'started' | 'queued' | 'busy';
  /** A call that has not begun is dropped, and ends as `lost`; a waiting one is aborted. */
  cancel(call: number, why: CancelReason): void;
  /** Calls that ended, to be answered in this turn. */
  takeEnded(): readonly EndedCall[];
  /** The oldest request; at most one of each lane in a turn. */
  takeWanted(): LaneRequest | undefined;
  /** True while `takeEnded` or `takeWanted` would give something. */
  readonly hasWork: boolean;
  /**
   * Waits for `hasWork`, if a lane is likely to ask for more at once; blocks, but not for longer
   * than a message would take to arrive.
   */
  linger(): void;
  /** Called when `hasWork` becomes true while the database rests. */
  onWork(wake: () => void): void;
  /** The program was replaced: lanes of the old one end when their calls do. */
  replaced(): void;
  /** Gives running calls `millis`, then ends them; resolves when no lane is left. */
  stop(millis: number): Promise<void>;
}

export interface EndedCall {
  readonly call: number;
  /** What it had open is over. `lost`: its lane ended, for the reason that the text gives. */
  readonly end: LaneEnd | { readonly kind: 'lost'; readonly code: LostCode; readonly text: string };
}

/** Over its time or memory; or its lane ended for a reason outside of the call. */
export type LostCode = 'procedure.overBudget' | 'procedure.stopped';

export type LaneRequest =
  | {
      readonly kind: 'write' | 'read';
      readonly call: number;
      /**
       * Answers the data calls of the lane until it ends the transaction; blocks. A write that is
       * `late` is over, and so is its lane. A read that is `late` goes on: when its lane asks for
       * more, `takeWanted` gives this request again, and it is served again. `untilMillis`: by the
       * clock of the database.
       */
      serve(data: DataServer, untilMillis: number): 'commit' | 'abort' | 'late' | 'gone';
      /**
       * Tells the lane how its transaction began; a negated code refuses it, with its text, and
       * nothing else follows.
       */
      begun(timestampMicros: bigint, failure?: string): void;
      /** Tells the lane how it ended, once what was committed is written. */
      answer(code: number, failure: string): void;
    }
  | {
      readonly kind: 'reducer';
      readonly call: number;
      readonly reducerId: number;
      readonly args: Uint8Array;
      /** Tells the lane, once what was committed is written. */
      answer(end: ReducerEnd): void;
    };

/** `HostCalls` behind numbers. */
export type DataServer = (
  op: DataOp,
  a: number,
  b: number,
  c: number,
  d: number,
  e: number,
  scratch: Scratch,
) => number;
