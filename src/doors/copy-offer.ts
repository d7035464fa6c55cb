import type { ReadableCopy } from '../host/replication/read-copy.ts';
import type { CopyHandle } from '../host/supervision/copy-handle.ts';

/** This host's copy of a database that another host leads, for a request that may read it. */
export interface CopyOffer extends ReadableCopy {
  readonly copy: CopyHandle;
  /** Has the leader answer the whole request; false: its answer has begun already. */
  passOn(): boolean;
}
