import type { CommitOffset } from '../../database/outcome.ts';
import type { Staying } from '../../database/turn.ts';
import type {
  AttachedAnswer,
  AttachedClient,
  AttachedEnd,
  AttachedRequest,
} from './leader-line.ts';

/** Where a leader takes clients that are attached to other hosts; there too, it is reached so. */
export interface LeaderDesk {
  /** Never throws, and calls nothing of `sink` before it has returned. */
  admit(client: ArrivingClient, sink: DeskSink): DeskPlace;
}

/** A client as its host sends it. */
export interface ArrivingClient extends Omit<AttachedClient, 'isConnected'> {
  /** Absent: it is new. */
  readonly stays: Staying | undefined;
  /** Name of the host that it is connected with. */
  readonly through: string;
}

export interface DeskPlace {
  /** Takes effect in the order of sending. */
  send(request: AttachedRequest): void;
  /** Calls that were sent still run, then it is disconnected. Resolves when it is, or lost. */
  close(): Promise<void>;
  /** True: no more shall be sent until `changed`. */
  readonly isFull: boolean;
  /** False: the way to the leader is not there at the moment. */
  readonly isReached: boolean;
}

export interface DeskSink {
  /** It is in the client table, where it may have been before. */
  connected(offset: CommitOffset): void;
  answered(request: AttachedRequest, answer: Exclude<AttachedAnswer, { kind: 'unknown' }>): void;
  ended(end: AttachedEnd): void;
  /**
   * This one leads no more, or never did, and its connections were not ended: the next leader has
   * them. `undone`: requests of which nothing was done, in order; others that are not answered are
   * unknown. Nothing follows.
   */
  lost(undone: readonly AttachedRequest[]): void;
  /** There is room again, or the way to the leader is, or it is gone. */
  changed(): void;
}
