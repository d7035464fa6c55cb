import type { MessagePort } from 'node:worker_threads';
import type { SnapshotBlock, SnapshotPlace } from '../../log/snapshot.ts';
import type { WriterPlace } from '../../node/writer-mark.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';

/**
 * To the thread that writes snapshots: one that is to be written, or another task on the files of a
 * history, with a port of its own.
 */
export interface SnapshotOrder {
  readonly port: MessagePort;
  readonly identity: DatabaseIdentity;
  /** Directory of the log. */
  readonly directory: string;
  /** The mark of the data folder; absent: no other service can write there. */
  readonly writer?: WriterPlace | undefined;
}

/** From the actor, through that port: the calls of `SnapshotFile`. */
export type ToSnapshotThread =
  | { readonly kind: 'ask'; readonly bytes: number }
  | { readonly kind: 'begin'; readonly place: SnapshotPlace }
  | { readonly kind: 'add'; readonly block: SnapshotBlock }
  | { readonly kind: 'finish' }
  | { readonly kind: 'cancel' };

/** To the actor: the calls of `SnapshotEvents`. */
export type FromSnapshotThread =
  | { readonly kind: 'ready' }
  | { readonly kind: 'taken'; readonly buffer: ArrayBuffer | undefined }
  | { readonly kind: 'finished'; readonly bytes: number }
  | { readonly kind: 'failed'; readonly message: string; readonly isForSpace: boolean };

/** Instead of a snapshot: a task on a history (`history-task.ts`), or that nobody wants it now. */
export type HistoryMessage =
  | { readonly kind: 'history'; readonly task: string }
  | { readonly kind: 'stop' };

/** The answer to it, as text; the last message. */
export interface HistoryReply {
  readonly answer: string;
}
