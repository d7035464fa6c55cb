import type { DatabaseIdentity } from '../../values/identity-roles.ts';

/** A part of a watch whose resources are watched in the same way. */
export interface WatchedPart {
  /** Starts watching; returns the URIs that exist for the caller. */
  open(): Promise<readonly string[]>;
  /** Checks again after a change of a database or, without one, of rights. */
  examine(database?: DatabaseIdentity): void;
  close(): void;
}
