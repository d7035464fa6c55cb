/** A part of a watch: what is found out in the same way. */
export interface WatchedPart {
  /** Begins to watch; gives the URIs of what exists for the caller. */
  open(): Promise<readonly string[]>;
  /** Looks again, as a database changed, or, without one, what somebody may do. */
  examine(database?: bigint): void;
  close(): void;
}
