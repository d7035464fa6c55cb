import { unreachable } from '../assert.ts';
import type { MigrationStep } from './migration-steps.ts';

/** The line of the module's log that reports a step, for the steps that have one. */
export function logLineOf(step: MigrationStep): string | undefined {
  switch (step.kind) {
    case 'removeTable':
      return `Dropping table \`${step.table}\``;
    case 'addTable':
      return `Creating table \`${step.table.name}\``;
    case 'addIndex':
    case 'addDerivedIndex':
      return `Creating index \`${step.index.name}\` on table \`${step.table}\``;
    case 'removeIndex':
    case 'removeDerivedIndex':
      return `Dropping index \`${step.index.name}\` on table \`${step.table}\``;
    case 'addConstraint':
      return `Adding constraint \`${step.constraint.name}\` on table \`${step.table}\``;
    case 'removeConstraint':
      return `Dropping constraint \`${step.constraint.name}\` on table \`${step.table}\``;
    case 'addSequence':
      return `Adding sequence \`${step.sequence.name}\` to table \`${step.table}\``;
    case 'removeSequence':
      return `Dropping sequence \`${step.sequence.name}\` from table \`${step.table}\``;
    case 'addSchedule':
      return `Adding schedule for table \`${step.table}\``;
    case 'removeSchedule':
      return `Removing schedule for table \`${step.table}\``;
    case 'addCron':
      return `Adding cron \`${step.cron.name}\``;
    case 'removeCron':
      return `Removing cron \`${step.cron.name}\``;
    case 'changeColumns':
    case 'addColumns':
      return `Changing columns of table \`${step.table}\``;
    case 'replaceEventTable':
      return `Changing schema of event table \`${step.table}\``;
    case 'addRowFilter':
      return `Adding row-level security \`${step.sql}\``;
    case 'removeRowFilter':
      return `Removing row-level security \`${step.sql}\``;
    case 'changePrimaryKey':
      return `Changing primary key for table \`${step.table}\``;
    case 'disconnectClients':
      return 'Disconnecting all users';
    case 'changeIndexSourceName':
    case 'changeTableSourceName':
    case 'changeColumnSourceName':
    case 'changeAccess':
    case 'addView':
    case 'removeView':
      return undefined;
    default:
      return unreachable(step);
  }
}
