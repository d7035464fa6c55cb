import type { LogPoint } from '../log/log-point.ts';
import type { Beginning, Lead } from './entry-payloads.ts';
import type { BootId } from './host-ids.ts';
import type { Look } from './leadership.ts';
import type { LogName } from './log-name.ts';
import type { Replica } from './replica.ts';
import type { Replicator, ReplicatorEnd } from './replicator.ts';
import type { AppendResult, SharedLog } from './shared-log.ts';

export interface MemberOptions {
  readonly sharedLog: SharedLog;
  readonly log: LogName;
  /** This host, as the entries that begin its terms name it. */
  readonly me: Lead;
  readonly replica: Replica;
  /** The term that this host gave away, in an earlier life of this member. */
  readonly handedTerm?: number | undefined;
  /** How the log begins, for the entries from which it can be read on; absent: it has none. */
  readonly beginning?: (() => Beginning | undefined) | undefined;
  /** Seqs that are multiples of this can be such entries; absent: `limits.restartEveryEntries`. */
  readonly restartEvery?: number;
  readonly entryBytesMax: number;
  readonly leaseMillis: number;
  /** Whether leaders answer reads without the engine; see `ReadLease`. Absent: they do not. */
  readonly isReadByLease?: boolean | undefined;
  readonly waitsForLocalSync: boolean;
  readonly now: () => number;
  readonly pause: (millis: number) => Promise<void>;
  /** What the engine calls its past now. */
  readonly history: () => string;
  /**
   * Where the acknowledged history ends by those hosts that can be reached; asked when the engine's
   * past has changed since the last term.
   */
  readonly acknowledgedElsewhere: () => Promise<readonly LogPoint[]>;
  /** What this host sees of the leader, but for what the log says. */
  readonly look: (leader: Lead | undefined) => LookAround;
  readonly events: MemberEvents;
}

export type LookAround = Pick<
  Look,
  'isEngineReached' | 'beatAgeMillis' | 'isGone' | 'rank' | 'skewMillis' | 'isCandidate'
>;

/** What the leader of a term says of its commits. */
export interface SettledNote {
  readonly term: number;
  readonly boot: BootId;
  readonly offset: number;
}

export interface MemberEvents {
  /** This host leads: calls can run. */
  readonly onLead: (replicator: Replicator) => void;
  /**
   * It does not any more. What was not acknowledged has failed; then the local end is set aside.
   */
  readonly onLost: (end: ReplicatorEnd) => void;
  readonly onResult?: (result: AppendResult) => void;
  readonly onAcknowledged?: (offset: number) => void;
  readonly warn: (message: string) => void;
}
