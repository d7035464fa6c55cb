import { present } from '../assert.ts';
import type { SqlTables } from '../sql/schema.ts';
import { noRow, type RowRef, type RowRefs } from '../store/row-ref.ts';
import type { Table } from '../store/table.ts';
import { ComputedRows } from './computed-rows.ts';
import type { FragmentJoin, LiveFragment, LiveFrame } from './fragment.ts';
import type { JoinProbe } from './join-probe.ts';
import type { Scan } from './live-operator.ts';
import { changesOf, eventsOf, type RowChanges } from './live-update.ts';
import { RowBag } from './row-bag.ts';
import { type RowSet, rowEnd } from './row-set.ts';
import type { FragmentHits } from './source-changes.ts';
import { eachPicked, type PickedChanges } from './source-changes.ts';

export interface JoinSurroundings {
  readonly frame: LiveFrame;
  readonly tables: SqlTables;
  readonly scan: Scan;
}

/**
 * The change of a fragment that joins R and S, whose rows after the commit are R' and S', and whose
 * changed rows are dR+, dR−, dS+, dS−:
 *
 * ```
 * gained − lost =  dR+ ⋈ S' − dR− ⋈ S'  +  R' ⋈ dS+ − R' ⋈ dS−
 *                − dR+ ⋈ dS+ + dR+ ⋈ dS−  +  dR− ⋈ dS+ − dR− ⋈ dS−
 * ```
 *
 * Rows of an event table are not in R'; what they join is sent as events. Output is computed only
 * after the pairs are counted: some of the pairs never existed.
 */
export function joinChanges(
  fragment: LiveFragment,
  hits: FragmentHits,
  surroundings: JoinSurroundings,
): RowChanges | undefined {
  return new JoinDelta(fragment, surroundings).changes(hits);
}

/** A changed row: where it lies, and whether it was inserted (1) or deleted (-1). */
interface ChangedRow {
  readonly page: Uint8Array;
  readonly start: number;
  readonly end: number;
  readonly sign: 1 | -1;
}

class JoinDelta {
  readonly #fragment: LiveFragment;
  readonly #join: FragmentJoin;
  readonly #around: JoinSurroundings;
  /** The rows that are returned, or pairs: the two rows back to back. */
  readonly #bag = new RowBag();

  constructor(fragment: LiveFragment, around: JoinSurroundings) {
    this.#fragment = fragment;
    this.#join = present(fragment.join, 'what joins the relations');
    this.#around = around;
    around.frame.parameters = fragment.parameters;
  }

  changes(hits: FragmentHits): RowChanges | undefined {
    const { isEvent } = this.#fragment;
    const changed = [this.#sift(0, hits[0]), this.#sift(1, hits[1])] as const;
    for (const side of [0, 1] as const) {
      const other = side === 0 ? 1 : 0;
      if (changed[side].length > 0 && !this.#isEvent(other)) this.#meet(changed[side], side);
    }
    if (isEvent) return eventsOf(this.#bag.surplus().gained);
    if (changed[0].length > 0 && changed[1].length > 0) this.#meetEachOther(changed[0], changed[1]);
    const { gained, lost } = this.#bag.surplusInOrder();
    const { output } = this.#fragment;
    if (output.kind === 'row') return changesOf(gained, lost);
    const computed = new ComputedRows(output.rowOf);
    this.#showPairs(lost, () => computed.add(this.#around.frame, -1));
    this.#showPairs(gained, () => computed.add(this.#around.frame, 1));
    return computed.changes();
  }

  #showPairs(pairs: RowSet, visit: () => void): void {
    const { shape } = present(this.#fragment.relations[0], 'the first relation');
    const page = pairs.data;
    eachPicked(pairs, undefined, (start, end) => {
      this.#show(0, { page, start, end });
      this.#show(1, { page, start: rowEnd(shape, page, start), end });
      visit();
    });
  }

  #isEvent(side: 0 | 1): boolean {
    return this.#fragment.relations[side]?.table.isEvent === true;
  }

  /** The changed rows of one relation that satisfy the conditions on it alone. */
  #sift(side: 0 | 1, hit: PickedChanges | undefined): ChangedRow[] {
    if (hit === undefined) return [];
    const { frame } = this.#around;
    const test = this.#fragment.relations[side]?.test;
    const rows: ChangedRow[] = [];
    for (const sign of [1, -1] as const) {
      const set = sign === 1 ? hit.changes.inserts : hit.changes.deletes;
      const page = set.data;
      frame.pages[side] = page;
      eachPicked(set, sign === 1 ? hit.inserts : hit.deletes, (start, end) => {
        frame.rows[side] = start;
        if (test === undefined || test(frame)) rows.push({ page, start, end, sign });
      });
    }
    return rows;
  }

  /** Joins changed rows of one relation with the current rows of the other. */
  #meet(changed: readonly ChangedRow[], side: 0 | 1): void {
    const other = side === 0 ? 1 : 0;
    const relation = present(this.#fragment.relations[other], 'the other relation');
    const table = this.#around.tables.table(relation.table.id);
    if (table.rowCount === 0) return;
    const { access } = this.#join.probes[other];
    if (access?.kind === 'joined') {
      for (const row of changed) {
        this.#show(side, row);
        this.#joinRefs(access.index.find(table, this.#around.frame), table, { row, side });
      }
      return;
    }
    const byKey = this.#byKey(changed, side);
    const { frame, scan } = this.#around;
    const refs = access?.index.find(table, frame);
    const read = (): void =>
      this.#eachRow(table, refs, other, (row) => {
        for (const match of byKey.get(this.#keyOf(other)) ?? []) {
          this.#show(side, match);
          this.#addPair(side === 0 ? [match, row] : [row, match], match.sign);
        }
      });
    if (refs === undefined) scan(relation.table, read);
    else read();
  }

  /** Visits the rows that satisfy the conditions on that relation, each one in the frame. */
  #eachRow(
    table: Table,
    refs: RowRefs | undefined,
    side: 0 | 1,
    visit: (row: RowRange) => void,
  ): void {
    const { frame } = this.#around;
    const test = this.#fragment.relations[side]?.test;
    const look = (ref: RowRef): void => {
      const page = table.pageOf(ref);
      const start = table.offsetOf(ref);
      frame.pages[side] = page;
      frame.rows[side] = start;
      if (test !== undefined && !test(frame)) return;
      visit({ page, start, end: start + table.lengthOf(ref) });
    };
    if (refs !== undefined) for (let at = 0; at < refs.length; at++) look(refs[at] as RowRef);
    else for (let ref = table.nextRow(noRow); ref !== noRow; ref = table.nextRow(ref)) look(ref);
  }

  #joinRefs(
    refs: RowRefs,
    table: Table,
    { row, side }: { readonly row: ChangedRow; readonly side: 0 | 1 },
  ): void {
    const other = side === 0 ? 1 : 0;
    this.#eachRow(table, refs, other, (found) => {
      this.#addPair(side === 0 ? [row, found] : [found, row], row.sign);
    });
  }

  #meetEachOther(left: readonly ChangedRow[], right: readonly ChangedRow[]): void {
    const byKey = this.#byKey(left, 0);
    for (const row of right) {
      this.#show(1, row);
      for (const match of byKey.get(this.#keyOf(1)) ?? []) {
        this.#show(0, match);
        this.#addPair([match, row], match.sign === row.sign ? -1 : 1);
      }
    }
  }

  #byKey(rows: readonly ChangedRow[], side: 0 | 1): Map<number | string, ChangedRow[]> {
    const byKey = new Map<number | string, ChangedRow[]>();
    for (const row of rows) {
      this.#show(side, row);
      const key = this.#keyOf(side);
      const known = byKey.get(key);
      if (known === undefined) byKey.set(key, [row]);
      else known.push(row);
    }
    return byKey;
  }

  #keyOf(side: 0 | 1): number | string {
    const probe: JoinProbe = this.#join.probes[side];
    return probe.keyOf(this.#around.frame);
  }

  #show(side: 0 | 1, { page, start }: RowRange): void {
    const { frame } = this.#around;
    frame.pages[side] = page;
    frame.rows[side] = start;
  }

  /** Counts the pair in the frame if it satisfies the join conditions. */
  #addPair(pair: readonly [RowRange, RowRange], count: number): void {
    if (!this.#join.test(this.#around.frame)) return;
    const { output } = this.#fragment;
    if (output.kind === 'row') {
      const { page, start, end } = pair[output.slot === 0 ? 0 : 1];
      this.#bag.add(count, page, start, end);
      return;
    }
    const [left, right] = pair;
    const leftBytes = left.end - left.start;
    const both = new Uint8Array(leftBytes + right.end - right.start);
    both.set(left.page.subarray(left.start, left.end), 0);
    both.set(right.page.subarray(right.start, right.end), leftBytes);
    this.#bag.add(count, both, 0, both.length);
  }
}

interface RowRange {
  readonly page: Uint8Array;
  readonly start: number;
  readonly end: number;
}
