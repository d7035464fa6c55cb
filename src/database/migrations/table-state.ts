import type { Catalog, TableSpec } from '../../schema/catalog.ts';
import type { TableId } from '../../schema/ids.ts';
import type { TableChange } from '../../store/change-set.ts';

/**
 * How a table of the workshop differs from the one that serves, as the record of the migration has
 * to say it:
 *
 * ```
 *  kept ──run──▶ kept, with changes ──its shape changes──▶ made
 *   └──rewritten──▶ made, or staged ──rewritten again──▶ made
 * ```
 */
export interface TableState {
  /** `staged`: the rows are in staged records; `made`: none are logged yet. */
  readonly kind: 'kept' | 'staged' | 'made';
  /** What whole steps have changed since, in order; empty for `made`. */
  readonly changes: readonly TableChange[];
  /** Encoded values of the columns that were added to it, in order; for `kept`. */
  readonly defaults: readonly Uint8Array[];
}

/** The states of all tables with rows of their own, by id. */
export class TableStates {
  #states = new Map<TableId, TableState>();

  /** All user tables of the catalog are kept. */
  constructor(catalog: Catalog) {
    for (const { id, kind } of catalog.tables) {
      if (kind === 'user') this.#states.set(id, { kind: 'kept', changes: [], defaults: [] });
    }
  }

  get(id: TableId): TableState | undefined {
    return this.#states.get(id);
  }

  /** A stage is done: `made` are the tables that it has filled, in which way. */
  advance(
    before: Catalog,
    after: Catalog,
    made: ReadonlyMap<TableId, 'staged' | 'made'>,
    defaults: ReadonlyMap<TableId, readonly Uint8Array[]>,
  ): void {
    const specs = new Map(before.tables.map((spec) => [spec.id, spec]));
    const next = new Map<TableId, TableState>();
    for (const spec of after.tables) {
      if (spec.kind !== 'user') continue;
      const old = specs.get(spec.id);
      const state = this.#states.get(spec.id);
      const kind =
        made.get(spec.id) ?? (state === undefined || old === undefined ? 'made' : undefined);
      if (kind !== undefined) next.set(spec.id, { kind, changes: [], defaults: [] });
      else if (state !== undefined && old !== undefined) {
        next.set(spec.id, reshaped(state, isSameShape(old, spec), defaults.get(spec.id) ?? []));
      }
    }
    this.#states = next;
  }

  /** A `run` has changed rows. */
  change(changes: readonly TableChange[]): void {
    for (const change of changes) {
      const state = this.#states.get(change.tableId);
      if (state === undefined || state.kind === 'made') continue;
      this.#states.set(change.tableId, { ...state, changes: [...state.changes, change] });
    }
  }
}

/** Changes are of rows in one shape, and replay makes them when all else is done. */
function reshaped(state: TableState, isSame: boolean, defaults: readonly Uint8Array[]): TableState {
  if (isSame || state.kind === 'made') return state;
  if (state.kind === 'staged' || state.changes.length > 0) {
    return { kind: 'made', changes: [], defaults: [] };
  }
  return { ...state, defaults: [...state.defaults, ...defaults] };
}

/** Names do not matter. */
function isSameShape(a: TableSpec, b: TableSpec): boolean {
  return shapeOf(a) === shapeOf(b);
}

function shapeOf({ columns, indexes, derivedIndexes, sequences, isEvent }: TableSpec): string {
  return JSON.stringify(
    [
      columns.map(({ type, vectorLength }) => [type, vectorLength]),
      indexes.map(({ id, isUnique }) => [id, isUnique]),
      derivedIndexes.map(({ id }) => id),
      sequences.map(({ id }) => id),
      isEvent,
    ],
    (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value),
  );
}
