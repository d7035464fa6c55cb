import type { ActorStart } from '../messages/worker-messages.ts';
import type { Budget } from '../seats/budget.ts';

/**
 * What the process of a database is started with, as JSON: everything that its first thread, the
 * keeper, has to know.
 */
export interface KeeperPlan {
  /** Hex digits. */
  readonly identity: string;
  /** Descriptors that the process inherits by accident, with commas between. */
  readonly strays: string;
  /** See `baseNiceness`. */
  readonly niceness: number;
  readonly actor: ThreadPlan & { readonly heapMebibytes: number };
  readonly lanes: ThreadPlan & {
    readonly budget: Budget;
    /** True: their programs may send HTTP requests. */
    readonly sendsRequests: boolean;
  };
  readonly snapshots: ThreadPlan & Pick<ActorStart, 'directory' | 'writer'>;
}

interface ThreadPlan {
  /** The file that the thread runs. */
  readonly entry: string;
  /** Flags for this thread alone: what it may read and write. */
  readonly flags: readonly string[];
}

/** Exit code of the process when the actor had too much on its heap. */
export const overHeapExit = 71;
