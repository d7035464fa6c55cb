import type { MessagePort } from 'node:worker_threads';
import type { CommitOffset, RefusalBody } from '../../database/outcome.ts';
import type { ProgramSource } from '../../database/program-source.ts';
import type { StorageLimits } from '../../database/storage-quota.ts';
import type { DatabaseReply, DatabaseRequest } from '../../database/turn.ts';
import type { WriteNumber } from '../../database/write-number.ts';
import type { ActorEnv } from '../../module/module-env.ts';
import type { WriterPlace } from '../../node/writer-mark.ts';
import type { DatabaseIdentity, OwnerIdentity } from '../../values/identity-roles.ts';
import type { LaneDeath, LaneStart } from '../lanes/lane-messages.ts';
import type { KeptPlace } from '../linking/kept-programs.ts';
import type { HeapLimits } from '../seats/heap-care.ts';
import type { SeatMemory, SeatMode, SeatOpening, StampedLine } from '../seats/seat.ts';
import type { PlainEnd } from '../seats/start-end.ts';
import type { MemberData, MemberNews, MemberOrder } from './member-messages.ts';

/**
 * What an actor is started with, in a thread or a process. It either holds one database until it
 * ends, or examines one program and ends.
 */
export interface ActorStart extends HeapLimits {
  readonly task:
    | { readonly kind: 'serve'; readonly mode: SeatMode }
    | { readonly kind: 'examine'; readonly program: ProgramSource };
  readonly identity: DatabaseIdentity;
  readonly ownerIdentity: OwnerIdentity;
  /** Counts the resets of the database. */
  readonly generation: number;
  readonly statementMillisMax: number;
  /** How much the database can hold. */
  readonly storage: StorageLimits;
  /** True: no scheduled run begins until the schedules are resumed. */
  readonly schedulesPaused: boolean;
  /** The configuration, without its secrets; absent: nothing is set. */
  readonly env?: ActorEnv | undefined;
  /** Directory of the log; `undefined` = in this worker's memory. */
  readonly directory: string | undefined;
  /** The mark of the data folder, which it may read; absent: no other service can write there. */
  readonly writer?: WriterPlace | undefined;
  /** Linked programs of this database, which it may read; `undefined` = there are none. */
  readonly kept: KeptPlace | undefined;
  /** Text of the library that hardens realms; a process may read nothing but its own files. */
  readonly hardeningFile: string;
  /** True: the sandbox of the next program is opened before the program comes. */
  readonly keepsSpare?: boolean | undefined;
  /** Where it is a database of a cluster. */
  readonly member?: MemberData | undefined;
}

/** The data that a thread is started with. */
export interface ThreadStart extends ActorStart {
  /** See `board.ts`. */
  readonly board: ArrayBufferLike;
}

/** The data of a thread that is started before there is anything to do; `ThreadTask` follows. */
export interface WaitingStart extends Pick<ThreadStart, 'board' | 'hardeningFile'> {
  readonly isWaiting: true;
}

/** The first message to a thread that waits. */
export interface ThreadTask {
  readonly start: ActorStart;
}

/** Gateway to worker. */
export type ToWorker =
  | { readonly kind: 'requests'; readonly batch: Batch }
  | { readonly kind: 'linked'; readonly id: number; readonly outcome: LinkOutcome }
  /** How much the database can hold from now on. */
  | { readonly kind: 'storage'; readonly limits: StorageLimits }
  /** The configuration from now on, without its secrets. */
  | { readonly kind: 'env'; readonly env: ActorEnv }
  | LaneNews
  | MemberNews
  /** There is a place for the snapshot that was asked for. */
  | { readonly kind: 'snapshotGranted' }
  /** `snapshotMillis`: time in which a last snapshot may be taken. */
  | { readonly kind: 'close'; readonly snapshotMillis: number };

/** To the actor, from the thread that starts its lanes: the gateway's, or its process's keeper. */
export type LaneNews =
  | { readonly kind: 'laneEnded'; readonly lane: number; readonly death: LaneDeath }
  /** Whether others wait for a lane: see `LanePool`. */
  | { readonly kind: 'lanesWanted'; readonly isWanted: boolean };

/** Worker to gateway. */
export type FromWorker =
  /** Asks the gateway, which has the linker, to link a program. */
  | { readonly kind: 'link'; readonly id: number; readonly bytes: Uint8Array }
  /** Bytes of the log read so far, reported now and then while the database opens. */
  | { readonly kind: 'read'; readonly bytes: number }
  | { readonly kind: 'opened'; readonly opening: SeatOpening }
  | { readonly kind: 'turn'; readonly batch: Batch }
  | { readonly kind: 'durable'; readonly write: WriteNumber; readonly offset: CommitOffset }
  | { readonly kind: 'lines'; readonly lines: readonly StampedLine[] }
  | { readonly kind: 'memory'; readonly memory: SeatMemory }
  | { readonly kind: 'warn'; readonly message: string }
  | LaneOrder
  | MemberOrder
  | SnapshotPort
  | SnapshotWish
  | { readonly kind: 'examined'; readonly described: Uint8Array }
  /** The actor ended on its own, or could not start; the worker ends next. */
  | { readonly kind: 'ended'; readonly end: PlainEnd }
  /** Everything is finished and durable; the worker ends next. */
  | { readonly kind: 'closed' };

/** Asks for a place among the snapshots of the service, and gives it back, or the wish. */
export interface SnapshotWish {
  readonly kind: 'askSnapshot' | 'leaveSnapshot';
}

/**
 * From the actor to the thread that starts others: the port of a snapshot, for the thread that
 * writes it. What folder it goes to is not for the actor to say.
 */
export interface SnapshotPort {
  readonly kind: 'snapshotPort';
  readonly port: MessagePort;
}

/** From the actor to the thread that starts its lanes, with which it shares memory. */
export type LaneOrder =
  | LaneRequestMessage
  /** A lane begins to run something, and none did before: they are to be watched again. */
  | { readonly kind: 'lanesBusy' }
  | { readonly kind: 'laneReplaced'; readonly lane: number }
  | { readonly kind: 'endLane'; readonly lane: number; readonly death: LaneDeath };

export interface LaneRequestMessage {
  readonly kind: 'lane';
  /** A number that the actor has given it. */
  readonly lane: number;
  readonly start: LaneStart;
  readonly port: MessagePort;
}

/** What changes owner with a message. */
export type Transferred = ArrayBuffer | MessagePort;

export type LinkOutcome =
  /** See `linked-file.ts`; the loader decodes it. */
  | { readonly kind: 'linked'; readonly bytes: Uint8Array }
  /** Something is wrong with the program. */
  | { readonly kind: 'failed'; readonly message: string }
  /** The program could not be linked now. */
  | { readonly kind: 'refused'; readonly body: RefusalBody };

/**
 * Requests, or the outcomes of a turn, in one buffer that is transferred, not copied: reading it
 * costs a fraction of the platform's own copying of small objects. Rare content is JSON text.
 * Programs and large results go beside it, each in a buffer of its own.
 */
export interface Batch {
  readonly bytes: Uint8Array;
  readonly blobs: readonly Uint8Array[];
  /** Few and deeply structured, so copied. */
  readonly structured: readonly Structured[];
}

export type Structured = StructuredRequest | StructuredReply;
export type StructuredRequest = Extract<
  DatabaseRequest,
  { kind: 'preview' | 'schedules' | 'export' }
>;
export type StructuredReply = Extract<
  DatabaseReply,
  {
    kind:
      | 'updated'
      | 'tried'
      | 'migrating'
      | 'previewed'
      | 'tables'
      | 'watches'
      | 'schedules'
      | 'snapshot'
      | 'rolled'
      | 'exported'
      | 'imported';
  }
>;

/** The buffers that are transferred with a batch. */
export function buffersOf(batch: Batch): ArrayBuffer[] {
  return [batch.bytes, ...batch.blobs].map(({ buffer }) => buffer as ArrayBuffer);
}

/** The buffers that are transferred with a linked program. */
export function linkedBuffers(outcome: LinkOutcome): ArrayBuffer[] {
  return outcome.kind === 'linked' ? [outcome.bytes.buffer as ArrayBuffer] : [];
}
