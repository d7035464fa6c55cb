import type { Clock } from '../../database/clock.ts';
import { type ActorTimes, spanCount } from '../../database/time-counts.ts';
import type { DatabaseReply, DatabaseRequest, TurnReport } from '../../database/turn.ts';
import { type WriteNumber, writeNumber } from '../../database/write-number.ts';
import { ownEnds } from '../seats/own-ends.ts';
import type { SeatEnd } from '../seats/seat.ts';
import { AnswerCounts, type AnswerFigures, isOfServedCall } from './answer-counts.ts';
import { countReply, type ReplyCounts } from './count-reply.ts';
import type { Waits } from './health.ts';
import { type CallFigures, RecentCalls } from './recent-calls.ts';

/** A request when its answer arrives. */
interface Answered {
  readonly request: Pick<DatabaseRequest, 'kind'>;
  readonly acceptedAt: number;
}

/** Outcomes of the requests of one database, for metrics. */
export interface VitalFigures {
  readonly answers: readonly AnswerFigures[];
  readonly refusals: ReadonlyMap<string, number>;
  readonly faults: ReadonlyMap<FaultReason, number>;
  readonly resumes: AnswerCounts['resumes'];
}

/** Calls of reducers, as they are counted. */
export interface CallCounts {
  /** Since the service started. */
  allCalls(): CallFigures;
  callsOfLastMinute(): CallFigures;
}

export type FaultReason = SeatEnd['cause'];

/** Reasons for which an actor ended, other than on request. */
export const faultReasons: readonly FaultReason[] = [...ownEnds, 'killed', 'budget', 'silent'];

/**
 * The condition of one database, as its owner sees it without asking it: when it last made
 * progress, since when commits wait to be durable, the outcomes of its requests, and why its actors
 * ended. A request costs two readings of the clock, a turn one.
 */
export class Vitals implements CallCounts {
  /** Calls and statements since the service started; what was only previewed did not happen. */
  readonly counts: ReplyCounts = { callsCommitted: 0, callsAborted: 0, queries: 0 };
  readonly #clock: Clock;
  readonly #answers = new AnswerCounts();
  readonly #recent = new RecentCalls();
  readonly #faults = new Map(faultReasons.map((reason) => [reason, 0]));
  /** When a turn last ended, or an actor opened. */
  #turnedAt: number;
  #turnCount = 0;
  #lastWrite = writeNumber(0);
  /**
   * Since when a write waits to be durable, and since when the first one does that came after a
   * sync last ended: when the next one ends, what is left came after that. The sync may cover that
   * write, too, so the age is too high by at most one sync.
   */
  #undurableSince: number | undefined;
  #laterSince: number | undefined;
  /** Answers of this turn that are sent when it is durable: slot and time of each in turns. */
  #owed: number[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#turnedAt = clock.monotonicMillis();
  }

  /** When a turn last ended, or an actor opened, in milliseconds of the monotonic clock. */
  get turnedAt(): number {
    return this.#turnedAt;
  }

  /** Notes that an actor serves; everything that it has is durable. */
  opened(): void {
    this.#turnedAt = this.#clock.monotonicMillis();
    this.#turnCount = 0;
    this.#lastWrite = writeNumber(0);
    this.#undurableSince = undefined;
    this.#laterSince = undefined;
  }

  turned({ write }: Pick<TurnReport, 'write'>): void {
    const now = this.#clock.monotonicMillis();
    this.#turnedAt = now;
    if (write <= this.#lastWrite) return;
    this.#lastWrite = write;
    this.#undurableSince ??= now;
    this.#laterSince ??= now;
  }

  durable(write: WriteNumber): void {
    this.#undurableSince = write < this.#lastWrite ? this.#laterSince : undefined;
    this.#laterSince = undefined;
  }

  /** Notes turns that hand nothing over, because a long read continues in them. */
  measured({ turn }: ActorTimes): void {
    const count = spanCount(turn);
    if (count !== this.#turnCount) this.#turnedAt = this.#clock.monotonicMillis();
    this.#turnCount = count;
  }

  /** `oldestAt`: when the longest-waiting request was accepted. */
  waits(
    oldestAt: number | undefined,
    fanOutMillis: (heldMillis: number) => number,
  ): Omit<Waits, 'scheduleMillis'> {
    const now = this.#clock.monotonicMillis();
    const since = (moment: number | undefined) => (moment === undefined ? 0 : now - moment);
    const undurableMillis = since(this.#undurableSince);
    return {
      requestMillis: oldestAt === undefined ? 0 : now - Math.max(oldestAt, this.#turnedAt),
      undurableMillis,
      fanOutMillis: fanOutMillis(undurableMillis),
    };
  }

  /** Counts an answer; `left` takes the returned number when the answer is sent. */
  answered({ request }: Answered, reply: DatabaseReply): number {
    countReply(this.counts, reply);
    const slot = this.#answers.note(request.kind, reply);
    // What was refused counts as nothing: strangers can send as much of it as they like.
    if (reply.kind === 'called' && isOfServedCall(slot)) {
      this.#recent.answered(isFaultOfProgram(reply));
    }
    return slot;
  }

  left(slot: number, acceptedAt: number): void {
    if (slot < 0) return;
    const now = this.#clock.monotonicMillis();
    this.#answers.took(slot, now - acceptedAt);
    if (isOfServedCall(slot)) this.#recent.took(now - acceptedAt, now);
  }

  /** Counts an answer to a connection, which is sent with all of its turn: see `owed`. */
  owe(answered: Answered, reply: DatabaseReply): void {
    const slot = this.answered(answered, reply);
    if (slot >= 0) this.#owed.push(slot, answered.acceptedAt);
  }

  /** Returns the function to call when those answers are sent. */
  owed(): () => void {
    const owed = this.#owed;
    if (owed.length === 0) return nothingOwed;
    this.#owed = [];
    return () => {
      for (let at = 0; at < owed.length; at += 2) this.left(owed[at] ?? -1, owed[at + 1] ?? 0);
    };
  }

  /** Counts requests that got an error as their answer, outside of any turn. */
  refused(code: string, count = 1): void {
    if (count > 0) this.#answers.refused(code, count);
  }

  /**
   * Notes that an actor ended before its time, while it ran this request, if any. Returns the code
   * of the error that its caller gets.
   */
  failed(reason: FaultReason, running: Answered | undefined): string | undefined {
    this.#faults.set(reason, (this.#faults.get(reason) ?? 0) + 1);
    if (running === undefined) return undefined;
    const { kind } = running.request;
    // An update is lost, and counted as that.
    if (kind === 'update') return undefined;
    const ofModule = overBudgetOf(kind);
    const code = reason === 'budget' || reason === 'died' ? ofModule : 'database.stopped';
    if (kind === 'call') this.#recent.answered(code === ofModule);
    this.left(this.#answers.noteCode(kind, code), running.acceptedAt);
    return code;
  }

  allCalls(): CallFigures {
    return this.#recent.figures();
  }

  callsOfLastMinute(): CallFigures {
    return this.#recent.lastMinute(this.#clock.monotonicMillis());
  }

  figures(): VitalFigures {
    const { refusals, resumes } = this.#answers;
    return { answers: this.#answers.answers(), refusals, faults: this.#faults, resumes };
  }
}

/** Whether the program failed, and not what its caller sent. */
function isFaultOfProgram({ outcome }: Extract<DatabaseReply, { readonly kind: 'called' }>) {
  if (outcome.kind !== 'aborted') return false;
  const { code } = outcome.error;
  return code === 'reducer.crashed' || code === 'reducer.overBudget';
}

function overBudgetOf(kind: DatabaseRequest['kind']): string {
  if (kind === 'call') return 'reducer.overBudget';
  return kind === 'procedure' || kind === 'handler' ? 'procedure.overBudget' : 'sql.overBudget';
}

const nothingOwed = (): void => undefined;
