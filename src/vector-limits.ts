/** The bounds of indexes of vectors. `limits.ts` is the list of all. */
export const vectorLimits = {
  /** Rows without a place in the graph that a search looks at one by one. */
  vectorWaitingMax: 4_096,
  /** Rows that a search takes into the graph, and if more are waiting than it looks at. */
  vectorSearchRows: 16,
  vectorCatchUpRows: 64,
} as const;
