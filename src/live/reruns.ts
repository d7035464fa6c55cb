import { limits } from '../limits.ts';
import { computedTables } from '../schema/system-tables.ts';
import { QueryBudget } from '../sql/run/budget.ts';
import type { SqlTables } from '../sql/schema.ts';
import { changesOf } from './evaluate-filter.ts';
import type { LiveQuery } from './live-queries.ts';
import type { RowChanges } from './live-update.ts';
import type { PreparedQuery } from './prepared-query.ts';
import { RowsReader } from './read-rows.ts';
import { RowBag } from './row-bag.ts';
import { endOfRow, type RowSet, rowCountOf, startOfRow } from './row-set.ts';

/** What may have changed in tables whose rows are in no change set. */
export interface ComputedChanges {
  /** The program was updated. */
  readonly isNewSchema: boolean;
  /** Values of sequences were handed out. */
  readonly hasSequences: boolean;
}

/**
 * Queries without an incremental form: those over the computed system tables, whose rows come in no
 * change set. They are asked afresh when such a table may have changed, and what they gave before
 * is kept for the difference.
 */
export class Reruns {
  readonly #rows = new Map<LiveQuery, readonly RowSet[]>();

  /** Takes in a query that needs it, with the rows that it has now. */
  add(query: LiveQuery, rows: readonly RowSet[]): void {
    if (tableIdsOf(query).some((id) => computedIds.has(id)))
      this.#rows.set(query, rows.map(copyOf));
  }

  has(query: LiveQuery): boolean {
    return this.#rows.has(query);
  }

  delete(query: LiveQuery): void {
    this.#rows.delete(query);
  }

  affectedBy({ isNewSchema, hasSequences }: ComputedChanges): readonly LiveQuery[] {
    if (this.#rows.size === 0 || !(isNewSchema || hasSequences)) return [];
    const queries = [...this.#rows.keys()];
    if (isNewSchema) return queries;
    return queries.filter((query) => tableIdsOf(query).includes(sequenceTableId));
  }

  /** Asks again and returns the difference. Throws `SqlFailure`. */
  run(query: LiveQuery, prepared: PreparedQuery, tables: SqlTables): RowChanges | undefined {
    const budget = new QueryBudget({ memoryBytesMax: limits.sqlMemoryBytesMax });
    const { identity } = query;
    const rows = new RowsReader({ tables, identity, budget }).rowsOf(prepared);
    const bag = new RowBag();
    addTo(bag, this.#rows.get(query) ?? [], -1);
    addTo(bag, rows, 1);
    this.#rows.set(query, rows);
    const { gained, lost } = bag.surplus();
    return changesOf(gained, lost);
  }
}

const computedIds: ReadonlySet<number> = new Set(computedTables.map(({ id }) => id));
const sequenceTableId = computedTables.find(({ name }) => name === 'st_sequence')?.id ?? -1;

function tableIdsOf({ fragments }: LiveQuery): number[] {
  return fragments.flatMap(({ relations }) => relations.map(({ table }) => table.id));
}

/** Rows that went out may change hands, with their memory. */
function copyOf(rows: RowSet): RowSet {
  return { ...rows, data: rows.data.slice() };
}

function addTo(bag: RowBag, sets: readonly RowSet[], count: number): void {
  for (const rows of sets) {
    for (let row = 0; row < rowCountOf(rows); row++) {
      bag.add(rows.data, startOfRow(rows, row), endOfRow(rows, row), count);
    }
  }
}
