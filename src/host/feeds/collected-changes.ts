import type { SetId } from '../../database/live/set-id.ts';
import type { LiveUpdate } from '../../live/live-update.ts';
import type { SetUpdate } from './live-connection.ts';

/** The changes of a commit for one query of one set. */
export interface Change {
  readonly setId: SetId;
  readonly update: LiveUpdate;
}

/** What the commit that is being distributed has changed for one connection. */
export class CollectedChanges {
  #changes: Change[] = [];

  /** Returns true for the first one. */
  add(setId: SetId, update: LiveUpdate): boolean {
    this.#changes.push({ setId, update });
    return this.#changes.length === 1;
  }

  /** The only one; `undefined` when there are more. */
  get only(): Change | undefined {
    return this.#changes.length === 1 ? this.#changes[0] : undefined;
  }

  /** Takes all of them, by set and table. */
  take(): readonly SetUpdate[] {
    const changes = this.#changes;
    if (changes.length === 0) return noSets;
    this.#changes = [];
    if (changes.length > 1) changes.sort(byPlace);
    const sets: { setId: SetId; updates: LiveUpdate[] }[] = [];
    for (const { setId, update } of changes) {
      const last = sets.at(-1);
      if (last?.setId === setId) last.updates.push(update);
      else sets.push({ setId, updates: [update] });
    }
    return sets;
  }
}

const noSets: readonly SetUpdate[] = [];

function byPlace(one: Change, other: Change): number {
  if (one.setId !== other.setId) return one.setId - other.setId;
  const { table, query } = one.update;
  if (table !== other.update.table) return table < other.update.table ? -1 : 1;
  return query - other.update.query;
}
