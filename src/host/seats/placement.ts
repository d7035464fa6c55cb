import type { ProgramSource } from '../../database/program-source.ts';
import type { DatabaseIdentity, OwnerIdentity } from '../../values/identity-roles.ts';
import type { KeptPrograms } from '../linking/kept-programs.ts';
import type { SeatTaker } from './seat.ts';

/**
 * Decides where databases run: `local-placement.ts` in this thread, `worker-placement.ts` on
 * workers.
 */
export interface Placement {
  /** Seats for the actors of one database, one after another. */
  seatsOf(place: DatabasePlace): SeatTaker;
  /**
   * Loads a program where it can do no harm and returns its description. Rejects with `Refusal`
   * `program.invalid`. `signal` ends it early where nobody waits for it any more.
   */
  examine(program: ProgramSource, place: ProgramPlace, signal?: AbortSignal): Promise<Uint8Array>;
  /** After all databases are closed; ends what is still being made or examined. */
  close(): Promise<void>;
}

/** Whose program it is, and where it is kept linked; `undefined` = nowhere. */
export interface ProgramPlace {
  readonly identity: DatabaseIdentity;
  /** Absent: the database is not there yet. */
  readonly ownerIdentity?: OwnerIdentity | undefined;
  readonly programs: KeptPrograms | undefined;
}

export interface DatabasePlace extends ProgramPlace {
  readonly ownerIdentity: OwnerIdentity;
  /** Counts the resets of the database. */
  readonly generation: number;
  /** Directory of the log, which exists; `undefined` = in memory. */
  readonly directory: string | undefined;
}
