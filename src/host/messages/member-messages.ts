import type { LogPoint } from '../../log/log-point.ts';
import type { FetchedSnapshot } from '../../log/snapshot-begin.ts';
import type { Lead } from '../../shared-log/entry-payloads.ts';
import type { BootId } from '../../shared-log/host-ids.ts';
import type { LogName } from '../../shared-log/log-name.ts';
import type { LookAround, SettledNote } from '../../shared-log/member-options.ts';
import type {
  AppendResult,
  ConfirmResult,
  ReadAnswer,
  StreamedEntry,
} from '../../shared-log/shared-log.ts';
import type { CopyReading, DatabaseRole } from '../replication/database-role.ts';

/** What an actor of a cluster's database is started with. */
export interface MemberData {
  readonly log: LogName;
  readonly me: Omit<Lead, 'history'>;
  readonly entryBytesMax: number;
  readonly leaseMillis: number;
  readonly isReadByLease: boolean | undefined;
  readonly waitsForLocalSync: boolean;
  readonly handedTerm: number | undefined;
  readonly coldReason: string | undefined;
  readonly news: ClusterNews;
}

/** What the gateway sees of the cluster at a moment. */
export interface ClusterNews {
  /** The leader that `around` is about: another one may have been read meanwhile. */
  readonly leader: BootId | undefined;
  readonly history: string;
  readonly around: LookAround;
  readonly readRestarts: boolean;
}

/** Actor to gateway. Only the log of its own database can be asked for. */
export type MemberOrder =
  | { readonly kind: 'member'; readonly id: number; readonly ask: MemberAsk }
  | { readonly kind: 'role'; readonly role: DatabaseRole }
  /** Its copy takes reads from now on, or no more. */
  | { readonly kind: 'readable'; readonly reading: CopyReading }
  /** A hand-over that was asked for is done, or why it is not. */
  | { readonly kind: 'handedOver'; readonly failure: string | undefined };

export type MemberAsk =
  | {
      readonly kind: 'append';
      readonly seq: number;
      readonly bytes: Uint8Array;
      readonly after: Uint8Array | undefined;
    }
  | {
      readonly kind: 'read';
      readonly from: number;
      readonly bytesMax: number;
      readonly countMax: number | undefined;
    }
  | { readonly kind: 'wait'; readonly from: number }
  | { readonly kind: 'streamed'; readonly from: number }
  /** Nobody waits any more for what that one asked; it is answered all the same. */
  | { readonly kind: 'stop'; readonly of: number }
  | { readonly kind: 'confirm'; readonly seq: number }
  | { readonly kind: 'create'; readonly bytes: Uint8Array }
  /** Of a log that it has created itself, and does not serve. */
  | { readonly kind: 'remove' }
  | { readonly kind: 'elsewhere' }
  /** A snapshot of that log position, or of a later one, is wanted beside the log. */
  | { readonly kind: 'snapshot'; readonly position: number };

/** Gateway to actor. */
export type MemberNews =
  | { readonly kind: 'memberReply'; readonly id: number; readonly reply: MemberReply }
  /** `isDue`: it looks at once. */
  | { readonly kind: 'look'; readonly news: ClusterNews; readonly isDue: boolean }
  | { readonly kind: 'handOver'; readonly to: Lead }
  | { readonly kind: 'settled'; readonly note: SettledNote }
  /** Of one that leads: somebody reads, and the lease for that ends. */
  | { readonly kind: 'renewLead' }
  /** Somebody wants to read its copy: the program is to be loaded. */
  | { readonly kind: 'prepareReads' };

export type MemberReply =
  | { readonly kind: 'append'; readonly result: AppendResult }
  | { readonly kind: 'read'; readonly answer: ReadAnswer }
  | { readonly kind: 'wait' }
  | { readonly kind: 'streamed'; readonly entries: readonly StreamedEntry[] }
  | { readonly kind: 'confirm'; readonly result: ConfirmResult }
  | {
      readonly kind: 'create';
      readonly result: 'created' | 'exists' | 'unknown';
    }
  | { readonly kind: 'remove' }
  | { readonly kind: 'elsewhere'; readonly ends: readonly LogPoint[] }
  | { readonly kind: 'snapshot'; readonly fetched: FetchedSnapshot | undefined }
  | { readonly kind: 'failed'; readonly message: string };
