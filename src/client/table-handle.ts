import type {
  Bounds,
  EntryColumns,
  EntryOf,
  IndexedColumn,
  IsUnique,
  PointKey,
} from '../declare/accessors.ts';
import type { Columns, RowOf, TraitsOf } from '../declare/infer.ts';
import type { TableOptions } from '../declare/table.ts';
import type { ClientTable, Row } from './client-schema.ts';
import type { Difference, RowChange, TableChange } from './contents.ts';
import { guarded } from './guarded.ts';
import type { TableRows } from './table-rows.ts';

/**
 * The cached rows of a table, and callbacks for their changes.
 *
 * @example
 * ```ts
 * client.db.hero.onInsert((_ctx, hero) => console.log(hero.nick));
 * const names = [...client.db.hero].map((hero) => hero.nick);
 * ```
 */
export interface TableMethods<R, Ctx> extends Iterable<R, undefined, undefined> {
  /** Number of rows in any subscription. */
  count(): bigint;
  /**
   * Yields all rows. Finish iterating before the program awaits anything: the rows may change then.
   */
  iter(): Generator<R, undefined, undefined>;
  [Symbol.iterator](): Generator<R, undefined, undefined>;
  onInsert(callback: (ctx: Ctx, row: R) => void, options?: ListenOptions): void;
  onDelete(callback: (ctx: Ctx, row: R) => void, options?: ListenOptions): void;
  /** Requires a primary key: without one a change is a delete and an insert. */
  onUpdate(callback: (ctx: Ctx, oldRow: R, newRow: R) => void, options?: ListenOptions): void;
  removeOnInsert(callback: (ctx: Ctx, row: R) => void): void;
  removeOnDelete(callback: (ctx: Ctx, row: R) => void): void;
  removeOnUpdate(callback: (ctx: Ctx, oldRow: R, newRow: R) => void): void;
}

/**
 * Which changes a callback receives.
 *
 * @example
 * ```ts
 * const options: ListenOptions = { includeOptimistic: true };
 * client.db.hero.onInsert((ctx, hero) => console.log(ctx.event.tag, hero.nick), options);
 * ```
 */
export interface ListenOptions {
  /**
   * True: receive changes to the rows as they are shown, including predictions, instead of changes
   * to the server's rows.
   */
  readonly includeOptimistic?: boolean | undefined;
}

/**
 * The methods of a table and its indexes, each under its accessor.
 *
 * @example
 * ```ts
 * const sizeOf = (handle: TableMethods<{ nick: string }, unknown>) => handle.count();
 * ```
 */
export type TableHandle<C extends Columns, Options extends TableOptions, Ctx> = TableMethods<
  RowOf<C>,
  Ctx
> &
  TableIndexes<C, Options>;

/** The indexes of a table, each under its accessor. */
export type TableIndexes<C extends Columns, Options extends TableOptions> = {
  readonly [Key in IndexedColumn<C>]: Accessor<
    C,
    Options,
    readonly [Key],
    TraitsOf<C[Key]> extends { index: infer Algorithm } ? Algorithm : 'btree'
  >;
} & {
  readonly [Entry in EntryOf<Options> as Entry['accessor']]: Accessor<
    C,
    Options,
    EntryColumns<Entry>,
    Entry['algorithm']
  >;
};

type Accessor<
  C extends Columns,
  Options extends TableOptions,
  Names extends readonly string[],
  Algorithm,
> =
  IsUnique<C, Options, Names> extends true
    ? UniqueAccessor<RowOf<C>, PointKey<C, Names>>
    : RowsAccessor<RowOf<C>, Bounds<C, Names, Algorithm>>;

/**
 * An index with one row at most under each key.
 *
 * @example
 * ```ts
 * const nickOf = (byId: UniqueAccessor<{ nick: string }, number>) => byId.find(3)?.nick;
 * ```
 */
export interface UniqueAccessor<R, Key> {
  /** The row with that key, or `null`. */
  find(key: Key): R | null;
}

/**
 * An index that can have several rows under one key.
 *
 * @example
 * ```ts
 * const all = (byLevel: RowsAccessor<{ nick: string }, number>) => [...byLevel.filter(3)];
 * ```
 */
export interface RowsAccessor<R, B> {
  /** The rows within the bounds. */
  filter(bounds: B): Generator<R, undefined, undefined>;
}

type Callback = (ctx: unknown, ...rows: Row[]) => void;
type Kind = RowChange['kind'];

/** A handle and access to its callbacks. */
export interface LiveHandle {
  readonly handle: TableMethods<Row, unknown>;
  tell(change: RowChange, telling: Telling): void;
}

interface Telling {
  /** Callbacks for shown rows, callbacks for the server's rows, or all. */
  readonly to: 'shown' | 'server' | 'all';
  readonly ctx: unknown;
  readonly report: (error: unknown) => void;
}

/** Notifies all callbacks of a change, each in the form that it registered for. */
export function tellRows(
  { tables, shown }: Difference,
  handles: ReadonlyMap<string, LiveHandle>,
  ctx: unknown,
  report: (error: unknown) => void,
): void {
  const tell = (changed: readonly TableChange[], to: Telling['to']) => {
    for (const { table, changes } of changed) {
      const live = handles.get(table.parts.accessor);
      if (live === undefined) continue;
      for (const change of changes) live.tell(change, { to, ctx, report });
    }
  };
  tell(tables, shown === undefined ? 'all' : 'server');
  if (shown !== undefined) tell(shown, 'shown');
}

/** Handles are closures: their methods can be detached from their object. */
export function liveHandle(rows: () => TableRows | undefined): LiveHandle {
  /** Callbacks, each with whether it receives predictions. */
  const callbacks: Record<Kind, Map<Callback, boolean>> = {
    insert: new Map(),
    update: new Map(),
    delete: new Map(),
  };
  const adds =
    (kind: Kind) =>
    (callback: unknown, options: ListenOptions = {}) => {
      callbacks[kind].set(callback as Callback, options.includeOptimistic === true);
    };
  const removes = (kind: Kind) => (callback: unknown) => {
    callbacks[kind].delete(callback as Callback);
  };
  const iter = () => rows()?.rows() ?? noRows();
  const handle: TableMethods<Row, unknown> = {
    count: () => BigInt(rows()?.entries.size ?? 0),
    iter,
    [Symbol.iterator]: iter,
    onInsert: adds('insert'),
    onDelete: adds('delete'),
    onUpdate: adds('update'),
    removeOnInsert: removes('insert'),
    removeOnDelete: removes('delete'),
    removeOnUpdate: removes('update'),
  };
  const tell: LiveHandle['tell'] = (change, { to, ctx, report }) => {
    for (const [callback, isOptimistic] of [...callbacks[change.kind]]) {
      if (to !== 'all' && isOptimistic !== (to === 'shown')) continue;
      guarded(() => {
        if (change.kind === 'update') callback(ctx, change.old, change.row);
        else callback(ctx, change.row);
      }, report);
    }
  };
  return { handle, tell };
}

/** The accessor of an index on a handle; `undefined` if there is none. */
export function accessorOf(
  table: ClientTable,
  accessor: string,
  rows: () => TableRows | undefined,
): UniqueAccessor<Row, unknown> | RowsAccessor<Row, unknown> | undefined {
  const { indexes, columns, primaryKey } = table.parts;
  // The last one with a name counts.
  const index = indexes.findLast((each) => each.accessor === accessor);
  if (index === undefined) return undefined;
  const filter = (bounds: unknown) => rows()?.index(accessor)?.filter(bounds) ?? noRows();
  if (!index.isUnique) return { filter };
  const isKey = index.columns.length === 1 && index.columns[0] === columns[primaryKey ?? -1]?.key;
  return isKey
    ? { find: (key) => rows()?.entries.get(table.keyOfValue(key))?.row ?? null }
    : {
        // Any number of rows may lack a value of a unique key.
        find: (key) =>
          [key].flat().includes(undefined) ? null : (filter(key).next().value ?? null),
      };
}

function* noRows(): Generator<never, undefined, undefined> {}
