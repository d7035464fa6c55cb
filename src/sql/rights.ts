/**
 * What a caller may do in one database: settled once before a request enters it, and the only
 * thing that checks look at. Two callers with the same `key` have the same rights, so what is
 * prepared for one serves the other.
 */
export interface Rights {
  readonly key: string;
  readonly readsPrivateTables: boolean;
  /** INSERT, UPDATE and DELETE. */
  readonly writes: boolean;
  readonly exceedsRowLimit: boolean;
  /** Filters of row-level security do not hold for them. */
  readonly bypassesFilters: boolean;
  readonly callsPrivateReducers: boolean;
  /** The program, with the sources in it; others learn its hash. */
  readonly readsProgram: boolean;
  /** May learn what a call or a write would do, which is more than doing it tells. */
  readonly previews: boolean;
  /** Nothing is changed on their behalf, whatever else they may. */
  readonly isReadOnly: boolean;
  /** Canonical names of the only tables and views that exist for them; absent: all. */
  readonly tables?: ReadonlySet<string>;
  /** Canonical names of the only reducers that exist for them; absent: all. */
  readonly reducers?: ReadonlySet<string>;
  /** Most rows that one answer may have; absent: as many as the service gives anybody. */
  readonly rowsMax?: number;
}

/** On whose behalf a statement is checked. */
export interface StatementCaller {
  readonly identity: bigint;
  readonly rights: Rights;
}

/** Of the identity that owns a database. */
export const ownerRights: Rights = {
  key: 'owner',
  readsPrivateTables: true,
  writes: true,
  exceedsRowLimit: true,
  bypassesFilters: true,
  callsPrivateReducers: true,
  readsProgram: true,
  previews: true,
  isReadOnly: false,
};

/** Of everybody else. */
export const strangerRights: Rights = {
  key: 'stranger',
  readsPrivateTables: false,
  writes: false,
  exceedsRowLimit: false,
  bypassesFilters: false,
  callsPrivateReducers: false,
  readsProgram: false,
  previews: false,
  isReadOnly: false,
};
