import { present } from '../assert.ts';
import type { SqlTables } from '../sql/schema.ts';
import type { RowRef } from '../store/row-ref.ts';
import type { Table } from '../store/table.ts';
import type { CallerJoin } from './caller-join.ts';
import { FoundRows } from './found-rows.ts';
import { frameOf, type LiveFragment } from './fragment.ts';
import { rowCountOf, startOfRow } from './row-set.ts';
import type { FragmentHits, SourceChanges, SourceKey } from './source-changes.ts';

/** Tables of any caller: those that callers have rows in are the same for all. */
export type TablesOfAny = (fragment: LiveFragment) => SqlTables;

/**
 * Finds the fragments of callers by the rows that changed rows are joined with. A changed row costs
 * by the rows that it is joined with, once for all who watch the query, and then a look-up for each
 * caller whom it concerns.
 */
export class CallerWatch {
  readonly #bySource = new Map<SourceKey, Map<CallerJoin, Members>>();

  has(source: SourceKey): boolean {
    return this.#bySource.has(source);
  }

  add(fragment: LiveFragment): void {
    if (fragment.caller === undefined) return;
    const { join, bytes } = fragment.caller;
    const key = keyOf(bytes, 0, bytes.length);
    const joins = this.#bySource.get(join.source) ?? new Map<CallerJoin, Members>();
    this.#bySource.set(join.source, joins);
    const members: Members = joins.get(join) ?? new Map();
    joins.set(join, members);
    const known = members.get(key);
    const member = { fragment, bytes, found: undefined };
    if (known === undefined) members.set(key, [member]);
    else known.push(member);
  }

  remove(fragment: LiveFragment): void {
    if (fragment.caller === undefined) return;
    const { join, bytes } = fragment.caller;
    const key = keyOf(bytes, 0, bytes.length);
    const joins = this.#bySource.get(join.source);
    const members = joins?.get(join);
    const left = members?.get(key)?.filter((member) => member.fragment !== fragment);
    if (joins === undefined || members === undefined || left === undefined) return;
    if (left.length > 0) members.set(key, left);
    else members.delete(key);
    if (members.size === 0) joins.delete(join);
    if (joins.size === 0) this.#bySource.delete(join.source);
  }

  /** Adds to `hits`, which have the changed rows of callers, what other changed rows mean. */
  collect(
    changed: ReadonlyMap<SourceKey, SourceChanges>,
    hits: Map<LiveFragment, FragmentHits>,
    tablesOf: TablesOfAny,
  ): void {
    if (this.#bySource.size === 0) return;
    // Where rows of the caller changed, the change is that of a join of both.
    for (const [{ caller }, hit] of hits) {
      const changes = caller && changed.get(caller.join.source);
      if (changes !== undefined) hit[caller?.join.side ?? 0] = whole(changes);
    }
    for (const [source, changes] of changed) {
      for (const [join, members] of this.#bySource.get(source) ?? []) {
        const [[first] = []] = members.values();
        const { fragment } = present(first, 'a member');
        const table = tablesOf(fragment).table(join.owned.id);
        collectJoin({ join, members, table }, changes, hits);
      }
    }
  }
}

/** The fragments of a query, by the key of their caller; others may have the same one. */
type Members = Map<number, Member[]>;

interface Member {
  readonly fragment: LiveFragment;
  /** What the caller has in the column. */
  readonly bytes: Uint8Array;
  /** Of the commit that is looked at. */
  found: FoundRows | undefined;
}

interface Watched {
  readonly join: CallerJoin;
  readonly members: Members;
  readonly table: Table;
}

/** A changed row that is joined with more rows than this is passed to all members unseen. */
const joinedRowsMin = 64;
const joinedRowsOfMember = 4;

const frame = frameOf([]);

function collectJoin(
  watched: Watched,
  changes: SourceChanges,
  hits: Map<LiveFragment, FragmentHits>,
): void {
  const { join, members } = watched;
  const found: Member[] = [];
  const isLooked = findMembers(watched, changes, found);
  if (!isLooked) {
    for (const list of members.values()) {
      for (const { fragment } of list) {
        if (!hits.has(fragment)) setHit(hits, fragment, join.side, whole(changes));
      }
    }
  }
  for (const member of found) {
    const { fragment, found: rows } = member;
    member.found = undefined;
    if (!isLooked || rows === undefined || hits.has(fragment)) continue;
    setHit(hits, fragment, join.side, rows.hit);
  }
}

/** Returns false if the rows that the changed ones are joined with are too many to look at. */
function findMembers(
  { join, members, table }: Watched,
  changes: SourceChanges,
  found: Member[],
): boolean {
  const { side, probe, changedTest, ownedTest, joinTest, ownedShape, column } = join;
  if (table.rowCount === 0) return true;
  const ownedSide = side === 0 ? 1 : 0;
  const root = new FoundRows(changes, join);
  const joinedMax = joinedRowsMin + joinedRowsOfMember * members.size;
  for (const list of ['deletes', 'inserts'] as const) {
    const rows = changes[list];
    const count = rowCountOf(rows);
    for (let row = 0; row < count; row++) {
      frame.pages[side] = rows.data;
      frame.rows[side] = startOfRow(rows, row);
      if (changedTest !== undefined && !changedTest(frame)) continue;
      const refs = probe.find(table, frame);
      if (refs.length > joinedMax) return false;
      for (let each = 0; each < refs.length; each++) {
        const ref = refs[each] as RowRef;
        const page = table.pageOf(ref);
        const start = table.offsetOf(ref);
        frame.pages[ownedSide] = page;
        frame.rows[ownedSide] = start;
        if (ownedTest !== undefined && !ownedTest(frame)) continue;
        if (joinTest !== undefined && !joinTest(frame)) continue;
        const at = ownedShape.startOf(page, start, column);
        const end = ownedShape.skip(page, at, column);
        for (const member of members.get(keyOf(page, at, end)) ?? nobody) {
          if (!isEqual(member.bytes, page, at, end)) continue;
          if (member.found === undefined) found.push(member);
          member.found = (member.found ?? root).and(list, row);
        }
      }
    }
  }
  return true;
}

const nobody: readonly Member[] = [];

/** Identities differ in their first bytes; a text of all of them would cost ten times as much. */
function keyOf(bytes: Uint8Array, start: number, end: number): number {
  const last = Math.min(end, start + keyedBytes);
  let key = 0x811c9dc5;
  for (let at = start; at < last; at++) key = Math.imul(key ^ (bytes[at] as number), 0x01000193);
  return key;
}

const keyedBytes = 9;

function isEqual(one: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (one.length !== end - start) return false;
  for (let at = 0; at < one.length; at++) if (one[at] !== bytes[start + at]) return false;
  return true;
}

function whole(changes: SourceChanges) {
  return { changes, inserts: undefined, deletes: undefined };
}

function setHit(
  hits: Map<LiveFragment, FragmentHits>,
  fragment: LiveFragment,
  side: 0 | 1,
  hit: FragmentHits[number],
): void {
  const sides: FragmentHits = [];
  sides[side] = hit;
  hits.set(fragment, sides);
}
