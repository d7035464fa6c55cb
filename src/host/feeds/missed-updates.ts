import type { SetId } from '../../database/live/set-id.ts';
import type { ResumeOutcome } from '../../database/outcome.ts';
import { CollectedChanges } from './collected-changes.ts';
import type { UpdatedEvent } from './live-connection.ts';

/** What the sets of a client that is back have missed, by commit, set and table. */
export function missedUpdates({ sets, missed }: ResumeOutcome): readonly UpdatedEvent[] {
  const setsOf = new Map<number, SetId[]>();
  for (const { setId, queries } of sets) {
    for (const query of new Set(queries)) {
      const known = setsOf.get(query);
      if (known === undefined) setsOf.set(query, [setId]);
      else known.push(setId);
    }
  }
  const changes = new CollectedChanges();
  return missed.map(({ offset, updates }) => {
    for (const update of updates) {
      for (const setId of setsOf.get(update.query) ?? []) changes.add(setId, update);
    }
    return { kind: 'updated', requestId: 0, offset, sets: changes.take() };
  });
}
