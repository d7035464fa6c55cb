import { ownerRights, type Rights, strangerRights } from '../sql/rights.ts';

export { ownerRights, type Rights, strangerRights };

/** The role that an owner, or an admin, granted to another identity. */
export type Role = (typeof roles)[number];

/** Each role includes the ones before it. */
export const roles = ['reader', 'developer', 'admin'] as const;

/** The rights of an identity that reads what the owner reads, and changes nothing by SQL. */
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
  /** Canonical names; absent: the tables that a stranger can read. */
  readonly tables?: readonly string[];
  /** Canonical names; absent: the reducers that a stranger can call. */
  readonly reducers?: readonly string[];
  /** No reducer and no statement can change anything. */
  readonly readOnly: boolean;
  /** INSERT, UPDATE and DELETE, in the listed tables. */
  readonly sqlWrites: boolean;
  readonly rowsMax?: number;
  /** The bearer can preview calls and writes, as far as the token's maker can. */
  readonly previews: boolean;
  /** Nothing at all is changed on behalf of the bearer, not even by lifecycle reducers. */
  readonly isReadOnly: boolean;
  /** Each write is applied from a preview, so the bearer can preview, too. */
  readonly writesByPreview?: boolean;
}

/** The rights of an identity that also manages the program. */
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

/** True of the rights of a limited token. */
export function areLimited({ key }: Pick<Rights, 'key'>): boolean {
  return key.includes(' ');
}

/** Whether they come from a role in the database, also through the limits of a token. */
export function hasRole({ key }: Pick<Rights, 'key'>): boolean {
  return key.split(' ', 1)[0] !== strangerRights.key;
}

/** The part of `rights` that the limits of a token leave. */
export function narrowed(rights: Rights, limits: RightsLimits): Rights {
  const { tables, readOnly, sqlWrites, rowsMax, isReadOnly, writesByPreview = false } = limits;
  const previews = limits.previews || writesByPreview;
  const rest = [readOnly, sqlWrites, rowsMax, previews, isReadOnly, writesByPreview];
  const reads = tables === undefined ? strangerRights : rights;
  const reducers = readOnly ? [] : limits.reducers;
  const calls = reducers === undefined ? strangerRights : rights;
  return {
    key: `${rights.key} ${JSON.stringify([tables, reducers, rest])}`,
    readsPrivateTables: reads.readsPrivateTables,
    // Writers bypass row filters, so a table that is not listed is read-only.
    writes: rights.writes && sqlWrites && !readOnly && tables !== undefined,
    exceedsRowLimit: reads.exceedsRowLimit,
    bypassesFilters: reads.bypassesFilters,
    callsPrivateReducers: calls.callsPrivateReducers,
    // A token passes on the source by its feature `source` alone, and never by listing tables.
    readsProgram: false,
    previews: rights.previews && previews,
    isReadOnly,
    ...(writesByPreview && { writesByPreview }),
    ...(tables === undefined ? {} : { tables: new Set(tables) }),
    ...(reducers === undefined ? {} : { reducers: new Set(reducers) }),
    ...(rowsMax === undefined ? {} : { rowsMax }),
  };
}
