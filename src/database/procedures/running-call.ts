import type { ConnectionNumber } from '../../values/connection-number.ts';
import type { CallerKey } from '../caller-key.ts';
import type {
  Caller,
  CommitOffset,
  Committed,
  HandlerRequest,
  ProcedureError,
  ProcedureRequest,
} from '../outcome.ts';
import type { Program } from '../program.ts';
import type { ScheduledMark } from '../schedules/scheduled-mark.ts';
import type { Ticket } from '../ticket.ts';
import type { ProgramProcedure } from './program-procedure.ts';

/** A procedure or an HTTP handler that a lane runs, or will run. */
export interface RunningCall {
  /** As its lane knows it. */
  readonly number: number;
  /** `undefined`: no request waits for it. */
  readonly ticket: Ticket | undefined;
  /** Canonical name. */
  readonly name: string;
  readonly caller: Pick<Caller, 'identity' | 'jwtPayload'>;
  /** 0n = no connection. */
  readonly connectionId: ConnectionNumber;
  /** As whose it counts while it is in flight. */
  readonly countedAs: CallerKey | `client ${string}` | 'schedule';
  readonly job: Job;
  /** The program that served when it was called: the one its lane runs. */
  readonly program: Program;
  readonly acceptedMicros: bigint;
  /** By the monotonic clock, in milliseconds. */
  readonly startedAt: number;
  /** True once an update has ended its temporary connection. */
  hasLeft: boolean;
  /** Why it was refused to write, because the disk is full. */
  full: string | undefined;
  /** What its transactions have committed so far. */
  committed: Committed | undefined;
  /** Why its lane was ended, if its own transaction was the reason. */
  late: string | undefined;
}

export type Job =
  | {
      readonly kind: 'procedure';
      readonly request: ProcedureRequest;
      readonly procedure: ProgramProcedure;
    }
  | { readonly kind: 'handler'; readonly request: HandlerRequest }
  | ScheduledJob;

/** A procedure that a schedule runs. */
export interface ScheduledJob {
  readonly kind: 'schedule';
  readonly procedure: ProgramProcedure;
  readonly mark: ScheduledMark;
  /** Names the run in lines of the log. */
  readonly place: () => string;
  /** Called once, within a turn; `undefined`: it has returned. */
  readonly ended: (error: ProcedureError | undefined) => void;
}

/** Adds a commit to those of a call. */
export function noteCommitted(call: RunningCall, offset: CommitOffset, rows: number): void {
  call.committed = { offset, rows: (call.committed?.rows ?? 0) + rows };
}

/** Why nothing of the rows is left to a procedure whose program was replaced. */
export const outdatedText =
  'the database was published again while the procedure ran; call it again';
