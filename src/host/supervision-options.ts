import type { Clock } from '../database/clock.ts';
import type { ProgramHash } from '../database/program-hash.ts';
import type { ProgramSource } from '../database/program-source.ts';
import type { StorageLimits } from '../database/storage-quota.ts';
import type { ReportOfDatabase } from './end-line.ts';
import type { Space } from './full-disk.ts';
import type { SeatTaker, StampedLine } from './seat.ts';

/** What a supervised database is given. */
export interface SupervisionOptions {
  readonly identity: bigint;
  readonly clock: Clock;
  readonly hash: ProgramHash;
  readonly takeSeat: SeatTaker;
  /** Loads a program aside and returns its description; rejects with `Refusal`. */
  readonly examine: (program: ProgramSource) => Promise<Uint8Array>;
  /** Told which program runs, when it may be another one. */
  readonly runs?: (programHash: string) => void;
  readonly lines: (lines: readonly StampedLine[]) => void;
  /** How much it may hold; absent: any amount. */
  readonly storage?: StorageLimits;
  /** Where its files are. */
  readonly space?: Space | undefined;
  /** Told when the actor has said what it holds. */
  readonly measured?: () => void;
  /** Bytes of its log that opening it reads; absent: nothing lasts. */
  readonly logBytes?: () => number;
  /** For the operator: restarts and failures, one sentence each, and what programs look for. */
  readonly report: ReportOfDatabase;
}
