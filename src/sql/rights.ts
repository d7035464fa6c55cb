import type { TableSpec } from '../schema/catalog.ts';
import type { CallerIdentity } from '../values/identity-roles.ts';

/**
 * The rights of a caller in one database: settled once before a request enters it, and the only
 * thing that checks look at. Two callers with the same `key` have the same rights, so what is
 * prepared for one serves the other.
 */
export interface Rights {
  readonly key: string;
  readonly readsPrivateTables: boolean;
  /** INSERT, UPDATE and DELETE. */
  readonly writes: boolean;
  readonly exceedsRowLimit: boolean;
  /** Filters of row-level security do not apply to them. */
  readonly bypassesFilters: boolean;
  readonly callsPrivateReducers: boolean;
  /** Reads the program, including its sources; others see its hash. */
  readonly readsProgram: boolean;
  /** Can preview the effects of a call or a write, which reveals more than making it. */
  readonly previews: boolean;
  /** Nothing is changed on their behalf, whatever their other rights. */
  readonly isReadOnly: boolean;
  /** Writes only by applying previews; absent: in any way. */
  readonly writesByPreview?: boolean;
  /** Canonical names of the only tables and views that exist for them; absent: all. */
  readonly tables?: ReadonlySet<string>;
  /** Canonical names of the only reducers that exist for them; absent: all. */
  readonly reducers?: ReadonlySet<string>;
  /** Most rows in one answer; absent: the general limit of the service. */
  readonly rowsMax?: number;
}

/** The caller for whom a statement is checked. */
export interface StatementCaller {
  readonly identity: CallerIdentity;
  readonly rights: Rights;
}

/** Rights of the identity that owns a database. */
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

/** Rights of everyone else. */
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

/** Whether the table or view exists for a caller with these rights. */
export function isVisible(table: Pick<TableSpec, 'name' | 'access'>, rights: Rights): boolean {
  if (rights.tables?.has(table.name) === false) return false;
  return table.access === 'public' || rights.readsPrivateTables;
}
