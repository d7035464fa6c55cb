import type { Errand, ErrandHistory, ErrandRow } from './errand-crash.ts';

/**
 * Looks at a history slowly and obviously, and returns what is wrong with it: a run for a row that
 * was never committed, a second run of what runs at most once, a row that is gone without a run
 * that has returned, and one that is still there although it was due.
 */
export function errandFaults(history: ErrandHistory): string[] {
  return [
    ...history.faults,
    ...strangers(history),
    ...repetitions(history),
    ...[...lastVersions(history).values()].flatMap((row) => endFault(history, row)),
    ...skippedTicks(history),
  ];
}

/** Each run is for a version of a row that no crash has undone. */
function strangers({ edits, errands }: ErrandHistory): string[] {
  const known = new Set(edits.map(versionOf));
  return errands.filter((one) => !known.has(versionOf(one))).map((one) => `no row: ${text(one)}`);
}

/** A due time runs at most once, or at least never after a later one. */
function repetitions({ errands }: ErrandHistory): string[] {
  const last = new Map<string, Errand>();
  return errands.flatMap((errand) => {
    const isKnown = errand.due !== undefined || (errand.table === 'job' && !errand.isInterval);
    if (errand.kind !== 'began' || !isKnown) return [];
    const before = last.get(versionOf(errand));
    last.set(versionOf(errand), errand);
    if (before === undefined) return [];
    if (errand.table === 'job') {
      const isLater = errand.isInterval && (errand.due ?? 0) > (before.due ?? 0);
      return isLater ? [] : [`ran twice: ${text(errand)}`];
    }
    return (errand.due ?? 0) < (before.due ?? 0) ? [`went back: ${text(errand)}`] : [];
  });
}

function lastVersions({ edits }: ErrandHistory): Map<string, ErrandRow> {
  return new Map(edits.map((row) => [keyOf(row), row]));
}

/** What has to be left of the last version of a row. */
function endFault(history: ErrandHistory, row: ErrandRow): string[] {
  const { rows, failed, errands, endMicros } = history;
  const { table, at } = row;
  const key = keyOf(row);
  const found = rows.find((one) => keyOf(one) === key);
  if (at === undefined) return found === undefined ? [] : [`not removed: ${key}`];
  if (at.isInterval) return found === undefined ? [`interval is gone: ${key}`] : [];
  const runs = errands.filter((one) => versionOf(one) === versionOf(row));
  const hasReturned = runs.some(({ kind }) => kind === 'returned');
  if (at.micros > endMicros) return found === undefined ? [`gone too early: ${key}`] : [];
  if (table === 'job') return found === undefined ? [] : [`still there: ${key}`];
  if (found === undefined) return hasReturned ? [] : [`gone without a run: ${key}`];
  return failed.includes(key) ? [] : [`neither gone nor failed: ${key}`];
}

/** With `catchUp: 'all'`, each due time of an interval runs, unless too many runs have failed. */
function skippedTicks({ errands, catchUp, hasGivenUp }: ErrandHistory): string[] {
  if (catchUp !== 'all' || hasGivenUp) return [];
  const last = new Map<string, number>();
  return errands.flatMap((errand) => {
    const { kind, table, isInterval, due, at } = errand;
    if (kind !== 'began' || table !== 'other' || !isInterval || due === undefined) return [];
    const before = last.get(versionOf(errand));
    last.set(versionOf(errand), due);
    return before === undefined || due - before <= at ? [] : [`skipped before ${text(errand)}`];
  });
}

function versionOf(one: ErrandRow | Errand): string {
  const at = typeof one.at === 'number' ? one.at : one.at?.micros;
  return `${keyOf(one)} ${at}`;
}

function keyOf({ table, id }: { readonly table: string; readonly id: number }): string {
  return `${table} ${id}`;
}

function text(errand: Errand): string {
  return `${versionOf(errand)}, due ${errand.due}`;
}
