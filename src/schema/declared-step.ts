/**
 * A step that a migration declares, as data; what its functions do is known to the program alone.
 * Steps take effect one after the other: tables and columns go by the names that they have when a
 * step begins, as the module spells them; a table of a submodule has its namespace before it.
 */
export type DeclaredStep =
  | { readonly kind: 'renameTable'; readonly from: string; readonly to: string }
  | {
      readonly kind: 'renameColumn';
      readonly table: string;
      readonly from: string;
      readonly to: string;
    }
  /** The rows are discarded. */
  | { readonly kind: 'dropTable'; readonly table: string }
  | { readonly kind: 'dropColumn'; readonly table: string; readonly column: string }
  /** The program gives the value for each row. */
  | { readonly kind: 'addColumn'; readonly table: string; readonly column: string }
  | { readonly kind: 'changeColumn'; readonly table: string; readonly column: string }
  | { readonly kind: 'moveColumns'; readonly table: string; readonly order: readonly string[] }
  /**
   * Each row becomes none, one or several rows of the same table. `reads`: its function can read
   * other tables as they were before the migration.
   */
  | { readonly kind: 'mapRows'; readonly table: string; readonly reads: boolean }
  /** Each row becomes rows of several tables; `table` is gone unless `into` names it. */
  | {
      readonly kind: 'splitTable';
      readonly table: string;
      readonly into: readonly string[];
      readonly reads: boolean;
    }
  /** Reads the tables before, writes those after. */
  | { readonly kind: 'run' }
  /** `sql`: a statement that has to give a row whose only column is true; absent: a function. */
  | { readonly kind: 'assert'; readonly text: string; readonly sql: string | undefined };

/** Kinds of steps, in the order of the wire tags. */
export const stepKinds = [
  'renameTable',
  'renameColumn',
  'dropTable',
  'dropColumn',
  'addColumn',
  'changeColumn',
  'moveColumns',
  'mapRows',
  'splitTable',
  'run',
  'assert',
] as const satisfies readonly DeclaredStep['kind'][];

/** A migration as the program that carries it declares it. */
export interface DeclaredMigration {
  /** The name of its file without the ending, as in `0003-split-names`. */
  readonly id: string;
  /** SHA-256 of the source text of its file with line feeds alone as line ends, 32 bytes. */
  readonly hash: Uint8Array;
  /** The module's definition before it, in its binary form; its schema hash is what `from` says. */
  readonly before: Uint8Array;
  /** In the order of the file. */
  readonly steps: readonly DeclaredStep[];
  /** How to get back; absent: it declares no way. */
  readonly down: readonly DeclaredStep[] | undefined;
}
