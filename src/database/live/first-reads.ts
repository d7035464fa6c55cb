import { limits } from '../../limits.ts';
import type { RowSet } from '../../live/row-set.ts';
import type { RowsRead } from '../../live/rows-read.ts';
import type { CommitOffset } from '../../store/commit-offset.ts';

/** The rows of a query at one commit, for all who ask for them at that commit. */
export class SharedRead {
  readonly key: string | undefined;
  readonly offset: CommitOffset;
  readonly read: RowsRead;
  /** Who has not let go of it. */
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

  /** What is handed out changes hands, with its memory: who needs the rows later gets copies. */
  endTurn(): void {
    if (this.#isHandedOut && this.userCount > 0) this.read.copyRows();
    this.#isHandedOut = false;
  }
}

/**
 * Reads of first rows that are under way, or were done in this turn. After a restart many ask for
 * the same at once: they share one read.
 */
export class FirstReads {
  readonly #all = new Set<SharedRead>();
  /** Those that may be shared. */
  readonly #byKey = new Map<string, SharedRead>();
  #sharedBytes = 0;
  /** Who has paused with reads of their own: what they have read so far is all in memory. */
  pausedCount = 0;

  /** False: too much is kept for reads that have paused, and for the moments that they see. */
  get mayPause(): boolean {
    if (this.pausedCount >= limits.pausedSetsMax) return false;
    const moments = new Set<CommitOffset>();
    for (const { read, offset } of this.#all) if (!read.isDone) moments.add(offset);
    return moments.size <= limits.pausedSetsMax;
  }

  /** The read of a query as of the last commit, for the caller to let go of; begun when need be. */
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
    // Done in this turn, it serves others until the turn ends.
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
    // Beyond, the time of reading is what ends the turn.
    return this.#sharedBytes <= limits.sharedRowsBytesMax;
  }

  #forget(shared: SharedRead): void {
    const { key } = shared;
    if (key !== undefined && this.#byKey.get(key) === shared) this.#byKey.delete(key);
  }
}
