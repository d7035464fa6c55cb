import { ownerRights, type Rights, strangerRights } from '../sql/rights.ts';

export { ownerRights, type Rights, strangerRights };

/** What an owner, or an admin, granted to another identity. */
export type Role = (typeof roles)[number];

/** Each may do what those before it may. */
export const roles = ['reader', 'developer', 'admin'] as const;

/** Of an identity that reads what the owner reads, and changes nothing by SQL. */
const readerRights: Rights = {
  key: 'reader',
  readsPrivateTables: true,
  writes: false,
  exceedsRowLimit: true,
  bypassesFilters: true,
  callsPrivateReducers: false,
  readsProgram: false,
  previews: false,
  isReadOnly: false,
};

/** Limits that a token carries. */
export interface RightsLimits {
  /** Canonical names; absent: what a stranger reads. */
  readonly tables?: readonly string[];
  /** Canonical names; absent: what a stranger may call. */
  readonly reducers?: readonly string[];
  /** No reducer and no statement may change anything. */
  readonly readOnly: boolean;
  /** INSERT, UPDATE and DELETE, in the listed tables. */
  readonly sqlWrites: boolean;
  readonly rowsMax?: number;
  /** What calls and writes would do may be learned, as far as the maker may. */
  readonly previews: boolean;
  /** Nothing at all is changed on behalf of the bearer, not even by lifecycle reducers. */
  readonly isReadOnly: boolean;
}

/** Of an identity that sees to the program, too. */
const developerRights: Rights = {
  ...readerRights,
  key: 'developer',
  callsPrivateReducers: true,
  readsProgram: true,
  previews: true,
};

export function rightsOfRole(role: Role): Rights {
  switch (role) {
    case 'admin':
      return ownerRights;
    case 'developer':
      return developerRights;
    case 'reader':
      return readerRights;
  }
}

/** The rights that are left of `rights` under the limits of a token. */
export function narrowed(rights: Rights, limits: RightsLimits): Rights {
  const { tables, readOnly, sqlWrites, rowsMax, previews, isReadOnly } = limits;
  const rest = [readOnly, sqlWrites, rowsMax, previews, isReadOnly];
  const reads = tables === undefined ? strangerRights : rights;
  const reducers = readOnly ? [] : limits.reducers;
  const calls = reducers === undefined ? strangerRights : rights;
  return {
    key: `${rights.key} ${JSON.stringify([tables, reducers, rest])}`,
    readsPrivateTables: reads.readsPrivateTables,
    // Who writes bypasses filters, so a table that is not listed is for reading only.
    writes: rights.writes && sqlWrites && !readOnly && tables !== undefined,
    exceedsRowLimit: reads.exceedsRowLimit,
    bypassesFilters: reads.bypassesFilters,
    callsPrivateReducers: calls.callsPrivateReducers,
    // Who hands out tokens cannot hand out the source by them, not even in a list of tables.
    readsProgram: false,
    previews: rights.previews && previews,
    isReadOnly,
    ...(tables === undefined ? {} : { tables: new Set(tables) }),
    ...(reducers === undefined ? {} : { reducers: new Set(reducers) }),
    ...(rowsMax === undefined ? {} : { rowsMax }),
  };
}
