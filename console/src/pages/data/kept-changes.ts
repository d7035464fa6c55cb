import { useCallback } from 'react';
import { session } from '../../service/session-token.ts';
import { Store, useStore } from '../../service/store.ts';
import type { ChangeSet } from './change-set.ts';

/** Edits that nobody has applied yet, by database and table: other pages leave them alone. */
const kept = new Store<ReadonlyMap<string, ChangeSet>>(new Map());

/** The edits belong to who made them. */
session.subscribe(() => kept.set(new Map()));

/** A reload, or leaving the console, would lose them: the browser asks. */
addEventListener('beforeunload', (event) => {
  if (kept.get().size > 0) event.preventDefault();
});

const none: ChangeSet = [];

/** The edits of a table, and what takes others in their place. */
export function useChanges(
  database: string,
  table: string,
): readonly [ChangeSet, (set: ChangeSet) => void] {
  const key = keyOf(database, table);
  const set = useStore(kept).get(key) ?? none;
  const replace = useCallback(
    (next: ChangeSet) => {
      const all = new Map(kept.get());
      if (next.length === 0) all.delete(key);
      else all.set(key, next);
      kept.set(all);
    },
    [key],
  );
  return [set, replace];
}

/** How many edits of a table wait. */
export function useChangeCount(database: string, table: string): number {
  return useStore(kept).get(keyOf(database, table))?.length ?? 0;
}

function keyOf(database: string, table: string): string {
  return JSON.stringify([database, table]);
}
