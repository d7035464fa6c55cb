import type { Transaction } from '../../store/transaction.ts';
import type { DatabaseCore } from '../core.ts';
import { hostLine } from '../host-line.ts';
import { runReducer } from '../run-reducer.ts';
import type { ArmedTable } from './armed-table.ts';
import { nextOf } from './catch-up.ts';
import { nextTick, ticksUntil } from './due-time.ts';
import type { DueRow } from './due-work.ts';
import { endFailed } from './fail-run.ts';
import { countRun, countSkipped, hostRun, moveOn, placeOf } from './move-on.ts';
import type { ProcedureRun } from './procedure-runs.ts';
import type { RowKey } from './schedule-tables.ts';

/**
 * Claims a row for the procedure that is due: once that is durable, it is handed to a lane.
 *
 * | delivery | the claim | the end |
 * |---|---|---|
 * | at most once | what a reducer does at its end: the row is gone, or moved on | nothing |
 * | at least once | the row is marked | the row is gone, or moved on; or it is repeated |
 *
 * A crash in between leaves a row that runs never again, or a mark that the next actor finds.
 */
export function claimRun(core: DatabaseCore, work: DueRow): void {
  const { schedules, program } = core;
  const { row, due, attempt } = work;
  const { delivery = 'atMostOnce' } = work.armed.definition;
  const start = schedules.time.now();
  const { attempts } = schedules.hidden;
  runReducer(core, {
    ...hostRun(core, start),
    after: (transaction) => {
      if (delivery === 'atMostOnce') {
        moveOn(core, transaction, work, { next: nextOf(work, start) });
      } else {
        const error = attempts.find(row)?.error ?? '';
        attempts.put(transaction, row, { state: 'claimed', due, at: 0, attempt, error });
      }
    },
  });
  schedules.runs.add({ work, delivery, program, write: undefined, startMicros: undefined });
  schedules.follower?.began();
}

/** False if the row was changed or deleted after its claim, and before its procedure began. */
export function isWanted({ schedules }: DatabaseCore, { delivery, work }: ProcedureRun): boolean {
  return delivery === 'atMostOnce' || schedules.hidden.attempts.find(work.row)?.state === 'claimed';
}

/** Ends a run that is not wanted any more. */
export function dropRun(core: DatabaseCore, run: ProcedureRun): void {
  const { schedules } = core;
  schedules.runs.remove(run);
  schedules.rearm(run.work.row);
  follow(core, run, changedText);
}

const changedText = 'the row was changed before its procedure began';

function follow({ schedules }: DatabaseCore, { work }: ProcedureRun, error?: string): void {
  const { armed, bytes, due } = work;
  const { name, functionName } = armed;
  const ran = { name, functionName, target: 'procedure', row: bytes } as const;
  schedules.follower?.ran({ ...ran, dueMicros: BigInt(due), error });
}

/** How the run of a procedure ended. */
export interface ProcedureRunEnd {
  /** Why it failed; `undefined`: the procedure has returned. */
  readonly error: string | undefined;
  /** True: it failed because its database stops. */
  readonly isStopped: boolean;
}

/** Ends a run: what becomes of its row is one commit. */
export function endRun(core: DatabaseCore, run: ProcedureRun, end: ProcedureRunEnd): void {
  const { schedules } = core;
  const { work, delivery } = run;
  const { row, due } = work;
  const { error } = end;
  schedules.runs.remove(run);
  const now = schedules.time.now();
  const startMicros = run.startMicros ?? Math.max(now, due);
  countRun(core, work.armed, { dueMicros: due, startMicros, error });
  const armed = schedules.armedOf(row.schedule);
  if (armed !== undefined) {
    if (delivery === 'atMostOnce') skipTicks(core, armed, row, now);
    else
      endClaim(core, { ...work, armed }, { ...end, now, isOfOther: run.program !== core.program });
    schedules.rearm(row);
  }
  follow(core, run, error);
}

/** The times of an interval that have passed during its own run are skipped, unless each runs. */
function skipTicks(core: DatabaseCore, armed: ArmedTable, row: RowKey, now: number): void {
  if (armed.policy.catchUp === 'all') return;
  const { dues } = core.schedules.hidden;
  const due = dues.find(row);
  const found = core.schedules.rowOf(armed, row.high, row.low);
  if (due === undefined || due > now || found === undefined || found.isSettled) return;
  const ticks = { due, every: found.at };
  const next = nextTick(ticks, now);
  countSkipped(core, armed, ticksUntil(ticks, now));
  const after = (transaction: Transaction): void => dues.put(transaction, row, next);
  runReducer(core, { ...hostRun(core, now), after });
}

interface ClaimEnd extends ProcedureRunEnd {
  readonly now: number;
  /** True: another program was published meanwhile. */
  readonly isOfOther: boolean;
}

/** A row that was changed meanwhile has lost its mark, and is left as it is. */
function endClaim(core: DatabaseCore, work: DueRow, end: ClaimEnd): void {
  const { attempts } = core.schedules.hidden;
  const { row, due, attempt } = work;
  const { error, now } = end;
  const claim = attempts.find(row);
  if (claim?.state !== 'claimed') return;
  const commit = (after: (transaction: Transaction) => void): void => {
    runReducer(core, { ...hostRun(core, now), after });
  };
  if (error === undefined) {
    const next = nextOf(work, now);
    if (work.isInterval) countSkipped(core, work.armed, skippedUntil(work, now));
    commit((transaction) => moveOn(core, transaction, work, { next }));
  } else if (work.armed.definition.delivery !== 'atLeastOnce') {
    // Another program says what becomes of it.
    commit((transaction) => attempts.remove(transaction, row));
  } else if (end.isStopped || end.isOfOther) {
    commit((transaction) => {
      attempts.put(transaction, row, { state: 'waits', due, at: now, attempt, error });
    });
  } else {
    endFailed(core, work, { start: now, error });
  }
}

function skippedUntil(work: DueRow, now: number): number {
  if (work.armed.policy.catchUp === 'all' || work.at === 0) return 0;
  return Math.max(0, ticksUntil({ due: work.due, every: work.at }, now) - 1);
}

/** Counts runs as failed that the end of the database before has ended; false if there are none. */
export function failLost(core: DatabaseCore): boolean {
  const lost = core.schedules.takeLost();
  for (const row of lost) {
    const armed = core.schedules.armedOf(row.schedule);
    if (armed !== undefined) failClaimed(core, armed, row, { error: lostText });
  }
  return lost.length > 0;
}

const lostText = 'The database ended while the procedure ran';

/**
 * Ends a claim whose procedure ended with its database. False if the row is not claimed, or not for
 * the time `due`.
 */
export function failClaimed(
  core: DatabaseCore,
  armed: ArmedTable,
  row: RowKey,
  {
    error,
    due,
    hasEndedActor = false,
  }: { readonly error: string; readonly due?: number; readonly hasEndedActor?: boolean },
): boolean {
  const { schedules } = core;
  const work = schedules.claimedOf(armed, row);
  if (work === undefined || (due !== undefined && work.due !== due)) return false;
  const start = schedules.time.now();
  core.report({ ...hostLine('error', `${error} (${placeOf(work)})`) });
  countRun(core, armed, { dueMicros: work.due, startMicros: Math.max(start, work.due), error });
  if (armed.definition.delivery === 'atLeastOnce') {
    endFailed(core, work, { start, error, hasEndedActor });
  } else {
    const { attempts } = schedules.hidden;
    const after = (transaction: Transaction): void => attempts.remove(transaction, row);
    runReducer(core, { ...hostRun(core, start), after });
  }
  return true;
}

/** The key of a row as two halves. */
export function rowKeyOf(armed: ArmedTable, key: bigint): RowKey {
  return { schedule: armed.id, high: Number(key >> 32n), low: Number(key & 0xffff_ffffn) };
}

/** Has a row run next, whenever it is due; one that is kept as failed runs again. */
export function runSoon(core: DatabaseCore, work: DueRow): void {
  const { schedules } = core;
  const { row, due, attempt } = work;
  const now = schedules.time.now();
  const error = schedules.hidden.attempts.find(row)?.error ?? '';
  const after = (transaction: Transaction): void => {
    schedules.hidden.attempts.put(transaction, row, {
      state: 'waits',
      due,
      at: now,
      attempt,
      error,
    });
  };
  runReducer(core, { ...hostRun(core, now), after });
}
