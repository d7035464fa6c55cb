import type { ModuleDefinition } from '../../schema/definition.ts';
import { fullTablesOf } from '../../schema/flatten.ts';

/** Warnings for the publisher about schedules that never run; one line each. */
export function scheduleWarnings(definition: ModuleDefinition): readonly string[] {
  return fullTablesOf(definition).flatMap(({ table: { name, schedule, isEvent } }) => {
    if (schedule === undefined || !isEvent) return [];
    const text = `\`${schedule.functionName}\` is never run by the schedule of \`${name}\``;
    return [`${text}: the rows of an event table are gone when their transaction ends`];
  });
}
