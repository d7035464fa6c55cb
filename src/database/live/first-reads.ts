import { limits } from '../../limits.ts';
import type { RowSet } from '../../live/row-set.ts';
import type { RowsRead } from '../../live/rows-read.ts';
import type { CommitOffset } from '../../store/commit-offset.ts';

/** The rows of a query at one commit, shared by all who read them at that commit. */
export class SharedRead {
  readonly key: string | undefined;
  readonly offset: CommitOffset;
  readonly read: RowsRead;
  /** Users that have not released it. */
  userCount = 1;
  #isHandedOut = false;

  constructor(key: string | undefined, offset: CommitOffset, read: RowsRead) {
    this.key = key;
    this.offset = offset;
    this.read = read;
  }

  /** The rows, to be handed out with this turn. */
  handOut(): readonly RowSet[] {
    this.#isHandedOut = true;
    return this.read.rows();
  }

  /** Rows handed out change owner, together with their memory; later users get copies. */
  endTurn(): void {
    if (this.#isHandedOut && this.userCount > 0) this.read.copyRows();
    this.#isHandedOut = false;
  }
}

/**
 * Reads of first rows that are under way, or were finished in this turn. After a restart many
 * clients request the same rows at once: they share one read.
 */
export class FirstReads {
  readonly #all = new Set<SharedRead>();
  /** Reads that can be shared. */
  readonly #byKey = new Map<string, SharedRead>();
  #sharedBytes = 0;
  /** Number of paused readers with reads of their own; all rows read so far are in memory. */
  pausedCount = 0;

  /** False if too much is kept for paused reads, and for the snapshots that they see. */
  get mayPause(): boolean {
    if (this.pausedCount >= limits.pausedSetsMax) return false;
    const moments = new Set<CommitOffset>();
    for (const { read, offset } of this.#all) if (!read.isDone) moments.add(offset);
    return moments.size <= limits.pausedSetsMax;
  }

  /** The read of a query as of the last commit, begun if necessary; the caller releases it. */
  take(key: string | undefined, offset: CommitOffset, begin: () => RowsRead): SharedRead {
    const known = key === undefined ? undefined : this.#byKey.get(key);
    if (known?.offset === offset && this.#isToShare(known.read)) {
      known.userCount += 1;
      this.#all.add(known);
      return known;
    }
    const made = new SharedRead(key, offset, begin());
    this.#all.add(made);
    if (key !== undefined) this.#byKey.set(key, made);
    return made;
  }

  letGo(shared: SharedRead): void {
    shared.userCount -= 1;
    if (shared.userCount > 0) return;
    this.#all.delete(shared);
    shared.read.dispose();
    // A read finished in this turn serves others until the turn ends.
    if (!shared.read.isDone) this.#forget(shared);
  }

  endTurn(): void {
    this.#sharedBytes = 0;
    for (const shared of this.#all) shared.endTurn();
    for (const shared of this.#byKey.values()) if (shared.read.isDone) this.#forget(shared);
  }

  #isToShare(read: RowsRead): boolean {
    if (read.hasFailed) return false;
    if (!read.isDone) return true;
    this.#sharedBytes += read.rows().reduce((sum, { data }) => sum + data.length, 0);
    // Beyond that, the time spent reading ends the turn.
    return this.#sharedBytes <= limits.sharedRowsBytesMax;
  }

  #forget(shared: SharedRead): void {
    const { key } = shared;
    if (key !== undefined && this.#byKey.get(key) === shared) this.#byKey.delete(key);
  }
}
