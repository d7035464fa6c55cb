import { ownerRights, type Rights, strangerRights } from '../sql/rights.ts';

export { ownerRights, strangerRights };

/** What an owner, or an admin, granted to another identity. */
export type Role = 'reader' | 'developer' | 'admin';

/** Of an identity that reads what the owner reads, and changes nothing by SQL. */
export const readerRights: Rights = {
  key: 'reader',
  readsPrivateTables: true,
  writes: false,
  exceedsRowLimit: true,
  bypassesFilters: true,
  callsPrivateReducers: false,
};

/** Limits that a token carries: what is absent is not limited. */
export interface CapabilityLimits {
  /** Canonical names. */
  readonly reducers?: readonly string[];
  readonly tables?: readonly string[];
  /** No reducer and no statement may change anything. */
  readonly readOnly: boolean;
  readonly rowsMax?: number;
}

export function rightsOfRole(role: Role | undefined): Rights {
  switch (role) {
    case undefined:
      return strangerRights;
    case 'admin':
      return ownerRights;
    case 'reader':
    case 'developer':
      return readerRights;
  }
}

/** The rights that are left of `rights` under the limits of a token. */
export function narrowed(rights: Rights, limits: CapabilityLimits): Rights {
  const { rowsMax, readOnly } = limits;
  const reducers = readOnly ? [] : limits.reducers;
  const { tables } = limits;
  return {
    ...rights,
    key: `${rights.key} ${JSON.stringify([reducers, tables, readOnly, rowsMax])}`,
    writes: rights.writes && !readOnly,
    ...(tables === undefined ? {} : { tables: new Set(tables) }),
    ...(reducers === undefined ? {} : { reducers: new Set(reducers) }),
    ...(rowsMax === undefined ? {} : { rowsMax }),
  };
}
