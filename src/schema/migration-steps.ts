import type { AlgebraicType, Typespace } from '../values/type.ts';
import type {
  CronDefinition,
  DerivedIndexDefinition,
  IndexDefinition,
  ScheduleDefinition,
  SequenceDefinition,
  UniqueConstraintDefinition,
} from './definition.ts';
import type { FullTable, FullView } from './flatten.ts';

/**
 * One change of a database's schema. Names are full canonical names; the steps of a plan are in
 * execution order. A changed index, sequence, schedule, cron or view is removed and added. Steps
 * about a table's names and access also apply to views.
 */
export type MigrationStep =
  | ({ readonly kind: 'removeIndex' } & IndexChange)
  | ({ readonly kind: 'removeDerivedIndex' } & DerivedIndexChange)
  | ({ readonly kind: 'removeConstraint' } & ConstraintChange)
  | ({ readonly kind: 'removeSequence' } & SequenceChange)
  | ({ readonly kind: 'removeSchedule' } & ScheduleChange)
  | ({ readonly kind: 'removeCron' } & CronChange)
  | ({ readonly kind: 'removeView' } & FullView)
  | { readonly kind: 'removeRowFilter'; readonly sql: string }
  /** The table must be empty when the step is carried out. */
  | { readonly kind: 'removeTable'; readonly table: string }
  /** Types grew in place; rows keep their bytes. */
  | {
      readonly kind: 'changeColumns';
      readonly table: string;
      readonly columns: readonly ColumnChange[];
    }
  /** An event table has no rows between transactions, so any change of its columns is possible. */
  | { readonly kind: 'replaceEventTable'; readonly table: string }
  /** Rows are rewritten with the default values appended. */
  | {
      readonly kind: 'addColumns';
      readonly table: string;
      readonly columns: readonly AddedColumn[];
    }
  | {
      readonly kind: 'changeIndexSourceName';
      readonly table: string;
      readonly index: string;
      readonly sourceName: string;
    }
  | { readonly kind: 'changeTableSourceName'; readonly table: string; readonly sourceName: string }
  | {
      readonly kind: 'changeColumnSourceName';
      readonly table: string;
      readonly column: string;
      readonly sourceName: string;
    }
  | ({ readonly kind: 'addTable' } & FullTable)
  | ({ readonly kind: 'addIndex' } & IndexChange)
  | ({ readonly kind: 'addDerivedIndex' } & DerivedIndexChange)
  | ({ readonly kind: 'addConstraint' } & ConstraintChange)
  | ({ readonly kind: 'addSequence' } & SequenceChange)
  /** Rows that are there are armed. */
  | ({ readonly kind: 'addSchedule' } & ScheduleChange)
  | ({ readonly kind: 'addCron' } & CronChange)
  | ({ readonly kind: 'addView' } & FullView)
  | { readonly kind: 'addRowFilter'; readonly sql: string }
  | {
      readonly kind: 'changeAccess';
      readonly table: string;
      readonly from: Access;
      readonly to: Access;
    }
  | {
      readonly kind: 'changePrimaryKey';
      readonly table: string;
      /** Column names; `undefined` if the table has none. */
      readonly from: string | undefined;
      readonly to: string | undefined;
    }
  /** Always last: clients built for the old schema could no longer read the data they receive. */
  | { readonly kind: 'disconnectClients' };

export interface IndexChange {
  readonly table: string;
  readonly index: IndexDefinition;
  readonly columns: readonly string[];
}

export interface DerivedIndexChange {
  readonly table: string;
  readonly index: DerivedIndexDefinition;
  readonly column: string;
}

export interface ConstraintChange {
  readonly table: string;
  readonly constraint: UniqueConstraintDefinition;
  readonly columns: readonly string[];
}

export interface SequenceChange {
  readonly table: string;
  readonly sequence: SequenceDefinition;
  readonly column: string;
}

export interface ScheduleChange {
  readonly table: string;
  readonly schedule: ScheduleDefinition;
}

export interface CronChange {
  readonly cron: CronDefinition;
}

export interface ColumnChange {
  readonly name: string;
  /** Types as people read them. */
  readonly from: string;
  readonly to: string;
}

export interface AddedColumn {
  readonly name: string;
  readonly type: AlgebraicType;
  readonly typespace: Typespace;
  /** The value for existing rows: one encoded value of `type`. */
  readonly defaultBytes: Uint8Array;
}

type Access = 'public' | 'private';

/** Kinds of steps in execution order. */
const stepOrder: readonly MigrationStep['kind'][] = [
  'removeIndex',
  'removeDerivedIndex',
  'removeConstraint',
  'removeSequence',
  'removeSchedule',
  'removeCron',
  'removeView',
  'removeRowFilter',
  'removeTable',
  'changeColumns',
  'replaceEventTable',
  'addColumns',
  'changeIndexSourceName',
  'changeTableSourceName',
  'changeColumnSourceName',
  'addTable',
  'addIndex',
  'addDerivedIndex',
  'addConstraint',
  'addSequence',
  'addSchedule',
  'addCron',
  'addView',
  'addRowFilter',
  'changeAccess',
  'changePrimaryKey',
  'disconnectClients',
];

/** Sorts steps into `stepOrder`; those of one kind keep their order. */
export function inStepOrder(steps: readonly MigrationStep[]): MigrationStep[] {
  return [...steps].sort((a, b) => stepOrder.indexOf(a.kind) - stepOrder.indexOf(b.kind));
}
