import type { DeclaredMigration } from './declared-step.ts';
import type { ModuleDefinition } from './definition.ts';
import type { MigrationStep } from './migration-steps.ts';

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
  /** The plan as people read it, without colours. */
  readonly text: string;
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
   * defaults of columns added to kept tables are used, and the rest is told to the publisher.
   */
  readonly automatic: readonly MigrationStep[];
  /** Its `run` and `assert` steps, in order. */
  readonly whole: readonly WholeStep[];
}

export type PlannedTable =
  /**
   * Rows stay as they are stored, whatever it and its columns are called now; columns may be added
   * at the end, with a default, and types grow in place. The table keeps its id.
   */
  | { readonly kind: 'keep'; readonly before: string; readonly after: string }
  /**
   * The program makes the rows of `into`. `after`: the one of them that continues the table, with
   * its id and its sequences, if any does.
   */
  | {
      readonly kind: 'rewrite';
      readonly before: string;
      readonly after: string | undefined;
      readonly into: readonly string[];
    }
  /** Gone with its rows. */
  | { readonly kind: 'discard'; readonly before: string }
  /** Gone; refused if it has rows. */
  | { readonly kind: 'remove'; readonly before: string };

export interface WholeStep {
  readonly kind: 'run' | 'assert';
  /** Position among the steps of the migration. */
  readonly step: number;
  /** The text of an assertion; empty for `run`. */
  readonly text: string;
  /** The statement of an assertion that is one. */
  readonly sql: string | undefined;
}
