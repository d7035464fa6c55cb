import type { DeclaredMigration } from './declared-step.ts';
import type { ModuleDefinition } from './definition.ts';
import type { LegPlan } from './migration-leg.ts';
import type { MigrationStep } from './migration-steps.ts';
import type { PlannedTable } from './planned-table.ts';

/**
 * How a database gets from its definition to that of a program whose migrations it has not all
 * applied. All names are full canonical names.
 */
export interface DeclaredPlan {
  readonly kind: 'declared';
  /** In the order in which they are carried out, at least one; the last leads to the program's. */
  readonly stages: readonly PlannedStage[];
  /** Migrations that are applied afterwards and were not before, and the ids of the opposite. */
  readonly added: readonly DeclaredMigration[];
  readonly removed: readonly string[];
  readonly breaksClients: boolean;
  /** The plan as people read it, without colours and with those of a terminal. */
  readonly text: string;
  readonly colouredText: string;
}

/** A stretch of migrations that takes each row once. One with whole steps is one migration. */
export interface PlannedStage {
  readonly direction: 'up' | 'down';
  /** Positions in the program's list of migrations, both included. */
  readonly first: number;
  readonly last: number;
  /** The ids of these migrations, in the order in which they are carried out. */
  readonly ids: readonly string[];
  /** The definition that it leads to; of the tables and types alone something is asked. */
  readonly after: ModuleDefinition;
  /** Every table of the definition before it, once. */
  readonly tables: readonly PlannedTable[];
  /**
   * What its steps leave different and the automatic plan does, in execution order: of it the
   * defaults of columns added to kept tables are used, and the publisher reads the rest.
   */
  readonly automatic: readonly MigrationStep[];
  /** Its `run` and `assert` steps, in order. */
  readonly whole: readonly WholeStep[];
  /** The migrations of the stretch by themselves; `catalogOfStage` and the program need them. */
  readonly legs: readonly LegPlan[];
  /** Whether it leads to the program's own definition, with its views. */
  readonly isLast: boolean;
}

export interface WholeStep {
  readonly kind: 'run' | 'assert';
  /** Position among the steps of the migration. */
  readonly step: number;
  /** The text of an assertion; empty for `run`. */
  readonly text: string;
  /** The statement of an assertion that is one. */
  readonly sql: string | undefined;
}

export type { PlannedTable };
