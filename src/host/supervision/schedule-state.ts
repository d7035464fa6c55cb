import type { ModuleDefinition } from '../../schema/definition.ts';
import { scopesOf } from '../../schema/flatten.ts';

/** What is known of the schedules of a database without asking it. */
export interface ScheduleState {
  /** True: it has schedules, for which it must be open. */
  readonly exist: boolean;
  /** True: none of them runs, until they are resumed together. */
  readonly isPaused: boolean;
}

export const noSchedules: ScheduleState = { exist: false, isPaused: false };

/** True for a database that has work to do without requests. */
export function isSelfActing({ exist, isPaused }: ScheduleState): boolean {
  return exist && !isPaused;
}

export function hasSchedules(definition: ModuleDefinition): boolean {
  return scopesOf(definition).some(({ module: { crons, tables } }) => {
    return crons.length > 0 || tables.some(({ schedule }) => schedule !== undefined);
  });
}
