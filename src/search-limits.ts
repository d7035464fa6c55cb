/** Bounds on full-text search. */
export const searchLimits = {
  /** UTF-16 units of a word that are compared; longer words are equal if these are. */
  searchWordUnitsMax: 64,
  /** Words of one query, and the characters of its text. */
  searchQueryWordsMax: 64,
  searchQueryLengthMax: 4_096,
  /** Parentheses and `NOT`s of a query inside each other. */
  searchQueryDepthMax: 32,
  /** Compiled queries, and words whose stems are kept, of one run of a statement. */
  searchQueriesKeptMax: 16,
  searchStemsKeptMax: 4_096,
} as const;
