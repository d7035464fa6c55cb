import type { DatabaseIdentity, OwnerIdentity } from '../../values/identity-roles.ts';
import type { StampedLine } from '../seats/seat.ts';
import type { SupervisedDatabase } from '../supervision/supervised-database.ts';

/** A database that is being created and is not reachable yet. */
export interface NewDatabase {
  readonly identity: DatabaseIdentity;
  readonly owner: OwnerIdentity;
  readonly generation: number;
  readonly handle: SupervisedDatabase;
  /** Lines of the module's log until there is a log to write them to. */
  readonly lines: StampedLine[];
}

/** Lines of a creation that are kept; a module can write more of them than anyone will read. */
export const creationLinesMax = 1_000;
