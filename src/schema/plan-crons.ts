import type { CronDefinition, ModuleDefinition } from './definition.ts';
import type { MigrationStep } from './migration-steps.ts';

/** A cron with another expression or time zone counts from the update, so it is a new one. */
export function planCrons(old: ModuleDefinition, next: ModuleDefinition): MigrationStep[] {
  return [
    ...missing(old.crons, next.crons).map((cron): MigrationStep => ({ kind: 'removeCron', cron })),
    ...missing(next.crons, old.crons).map((cron): MigrationStep => ({ kind: 'addCron', cron })),
  ];
}

function missing(from: readonly CronDefinition[], to: readonly CronDefinition[]): CronDefinition[] {
  return from.filter((cron) => !to.some((other) => isSameCron(cron, other)));
}

/** Whether the next due time of one is that of the other. */
export function isSameCron(a: CronDefinition, b: CronDefinition): boolean {
  return a.name === b.name && a.expression === b.expression && a.timeZone === b.timeZone;
}
