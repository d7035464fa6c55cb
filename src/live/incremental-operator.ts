import { filterChanges } from './evaluate-filter.ts';
import { joinChanges } from './evaluate-join.ts';
import type { LiveFragment } from './fragment.ts';
import type { Keep, Stages, WholeRead } from './kept-stages.ts';
import type { LiveOperator, OperatorSurroundings } from './live-operator.ts';
import { changesOf, eventsOf, type RowChanges } from './live-update.ts';
import { distinctRows } from './row-bag.ts';
import type { RowSet } from './row-set.ts';
import type { FragmentHits } from './source-changes.ts';

/** The parts of an `IncrementalOperator` besides its fragments. */
export interface IncrementalParts {
  readonly stages?: Stages | undefined;
  /** The fragments return rows of an event table, and may return the same ones. */
  readonly hasSameEvents?: boolean;
}

/**
 * Follows the changed rows: through fragments alone, whose differences are those of the answer, or
 * into the stages that keep their rows.
 */
export class IncrementalOperator implements LiveOperator {
  readonly fragments: readonly LiveFragment[];
  readonly sources = [];
  readonly #stages: Stages | undefined;
  readonly #hasSameEvents: boolean;

  constructor(fragments: readonly LiveFragment[], parts: IncrementalParts = {}) {
    this.fragments = fragments;
    this.#stages = parts.stages;
    this.#hasSameEvents = parts.hasSameEvents === true;
  }

  get bytes(): number {
    return this.fragments.reduce((sum, { bytes }) => sum + bytes, this.#stages?.bytes ?? 0);
  }

  open(whole: WholeRead, keep: Keep): void {
    this.#stages?.open(whole, keep);
  }

  changes(
    hits: ReadonlyMap<LiveFragment, FragmentHits>,
    around: OperatorSurroundings,
  ): readonly RowChanges[] {
    const found = this.#found(hits, around);
    if (this.#hasSameEvents) return eventsOnce(found);
    const stages = this.#stages;
    if (stages === undefined) return found;
    const persistent = found.filter((change) => change.kind === 'persistent');
    if (persistent.length === 0) return [];
    const { inserts, deletes } = stages.apply(persistent, around.reread);
    const changed = changesOf(inserts, deletes);
    return changed === undefined ? [] : [changed];
  }

  /** The same list for all callers whose change is the same: it is sent once for all of them. */
  #found(
    hits: ReadonlyMap<LiveFragment, FragmentHits>,
    around: OperatorSurroundings,
  ): readonly RowChanges[] {
    const [only, second] = this.fragments;
    const hit = only && hits.get(only);
    if (only !== undefined && hit !== undefined && second === undefined) {
      return fragmentChanges(only, hit, around);
    }
    return this.fragments.flatMap((fragment) => {
      const own = hits.get(fragment);
      return own === undefined ? [] : fragmentChanges(fragment, own, around);
    });
  }

  rows(): RowSet | undefined {
    return this.#stages?.rows();
  }
}

function eventsOnce(found: readonly RowChanges[]): readonly RowChanges[] {
  const sets = found.flatMap((change) => (change.kind === 'event' ? [change.events] : []));
  const events = eventsOf(distinctRows(sets));
  return events === undefined ? [] : [events];
}

function fragmentChanges(
  fragment: LiveFragment,
  hit: FragmentHits,
  { frame, tables, scan }: OperatorSurroundings,
): readonly RowChanges[] {
  const side = fragment.caller?.join.side;
  const known = side === undefined ? undefined : hit[side]?.result;
  if (known !== undefined) return known;
  const whole = wholeChange(fragment, hit);
  if (whole !== undefined) return whole;
  const change =
    fragment.join === undefined
      ? filterChanges(fragment, hit, frame)
      : joinChanges(fragment, hit, { frame, tables: tables(), scan });
  return change === undefined ? [] : [change];
}

/** The change of a source of which the fragment has all rows: one list for all such fragments. */
function wholeChange(
  { relations, join, output, isEvent }: LiveFragment,
  [hit]: FragmentHits,
): readonly RowChanges[] | undefined {
  if (hit === undefined || join !== undefined || output.kind !== 'row' || isEvent) return undefined;
  const isWhole = hit.inserts === undefined && hit.deletes === undefined;
  if (!isWhole || relations[0]?.test !== undefined) return undefined;
  const { changes } = hit;
  if (changes.whole === undefined) {
    const change = changesOf(changes.inserts, changes.deletes);
    changes.whole = change === undefined ? [] : [change];
  }
  return changes.whole;
}
