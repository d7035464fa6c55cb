import { limits } from '../../limits.ts';
import type { DatabaseStatistics } from './database-statistics.ts';

/** How long work has been waiting in a database, in milliseconds; 0: nothing waits. */
export interface Waits {
  /** Time that requests have waited without a turn ending. */
  readonly requestMillis: number;
  /** The oldest commit that is not durable. */
  readonly undurableMillis: number;
  /** The oldest update that has not left for its client. */
  readonly fanOutMillis: number;
  /** The scheduled run that has been due for longest. */
  readonly scheduleMillis: number;
}

/** Whether a database does its work, and which part of it does not. */
export interface DatabaseHealth {
  readonly isFine: boolean;
  readonly opened: { readonly isFine: boolean; readonly state: DatabaseStatistics['state'] };
  /** Requests that wait are run. */
  readonly commits: WaitingPart;
  /** Writes become durable. */
  readonly durability: WaitingPart & { readonly isReadOnly: boolean };
  /** Clients get the updates that they subscribed to. */
  readonly fanOut: WaitingPart;
  /** Scheduled runs begin when they are due. */
  readonly schedules: WaitingPart & { readonly isPaused: boolean };
  /** Snapshots can be written: fewer than some failed one after another. */
  readonly snapshots: { readonly isFine: boolean; readonly failures: number };
  /** Its secrets can be decrypted, all but these. */
  readonly secrets: { readonly isFine: boolean; readonly unreadable: readonly string[] };
}

export interface WaitingPart {
  readonly isFine: boolean;
  readonly waitingMillis: number;
}

interface HealthFacts extends Pick<DatabaseStatistics, 'state' | 'isReadOnly' | 'snapshots'> {
  /** True: its schedules are paused, all of them. */
  readonly isPaused: boolean;
  /** Names of secrets whose key is missing. */
  readonly unreadable: readonly string[];
}

export function healthOf(
  { state, isReadOnly, isPaused, unreadable, snapshots: taken }: HealthFacts,
  { requestMillis, undurableMillis, fanOutMillis, scheduleMillis }: Waits,
): DatabaseHealth {
  const { healthWaitMillisMax, healthFanOutMillisMax, healthScheduleMillisMax } = limits;
  // One that is closed, or sleeps, opens on the first request.
  const isFine = state === 'serving' || state === 'closed' || state === 'asleep';
  const opened = { isFine, state };
  const commits = part(requestMillis, healthWaitMillisMax);
  const written = part(undurableMillis, healthWaitMillisMax);
  // Nothing waits in a database that rejects writes because its disk is full.
  const durability = { ...written, isFine: written.isFine && !isReadOnly, isReadOnly };
  const fanOut = part(fanOutMillis, healthFanOutMillisMax);
  const schedules = { ...part(scheduleMillis, healthScheduleMillisMax), isPaused };
  const failures = taken.failuresInRow;
  const snapshots = { isFine: failures < limits.healthSnapshotFailuresMax, failures };
  const secrets = { isFine: unreadable.length === 0, unreadable };
  const parts = { opened, commits, durability, fanOut, schedules, snapshots, secrets };
  return { isFine: Object.values(parts).every((one) => one.isFine), ...parts };
}

function part(waitingMillis: number, millisMax: number): WaitingPart {
  return { isFine: waitingMillis <= millisMax, waitingMillis };
}

/** How long a scheduled run is due already. */
export function overdueMillis(due: bigint | undefined, now: bigint): number {
  return due === undefined ? 0 : Math.max(0, Number(now - due) / 1_000);
}
