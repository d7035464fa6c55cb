import type { CommitOffset } from '../../store/commit-offset.ts';
import type { ConnectionNumber } from '../../values/connection-number.ts';

/** A commit that a connection of this host has asked the leader for, as the log's record has it. */
export interface OwnCommit {
  readonly offset: CommitOffset;
  readonly connectionId: ConnectionNumber;
  /** Canonical name; empty if no reducer ran. */
  readonly reducer: string;
  readonly args: Uint8Array;
  /** When the leader accepted the request. */
  readonly timestampMicros: bigint;
}
