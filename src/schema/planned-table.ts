/** What becomes of a table and its rows. All names are full canonical names. */
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
