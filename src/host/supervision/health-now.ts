import { emptyActorEnv, envFor } from '../../module/module-env.ts';
import type { DatabaseStatistics } from './database-statistics.ts';
import { type DatabaseHealth, healthOf, overdueMillis, type Waits } from './health.ts';
import { noSchedules } from './schedule-state.ts';
import type { SupervisionOptions } from './supervision-options.ts';

/** The health of a database at this moment, which runs the program with that hash, if any. */
export function healthNow(
  { schedules, clock, env }: Pick<SupervisionOptions, 'schedules' | 'clock' | 'env'>,
  statistics: DatabaseStatistics,
  waits: Omit<Waits, 'scheduleMillis'>,
  programHash: string | undefined,
): DatabaseHealth {
  const { isPaused } = schedules?.() ?? noSchedules;
  const late = overdueMillis(statistics.nextDueMicros, clock.nowMicros());
  const { unreadable } = envFor(env?.() ?? emptyActorEnv, programHash);
  const scheduleMillis = isPaused ? 0 : late;
  return healthOf({ ...statistics, isPaused, unreadable }, { ...waits, scheduleMillis });
}
