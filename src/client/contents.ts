/**
 * The rows of all query sets: by table, with a count of derivations for each row, and how many of
 * them each set has. A message is applied completely before any callback runs.
 *
 * Invariants:
 * 1. The count of an entry is the sum of its counts in all sets; an entry with count zero is gone.
 * 2. A row that stays equal stays the same object.
 */

import { emptyRowList, forEachRow, type RowList } from '../protocol/row-list.ts';
import type { TableRows as RowsOfTable, TableUpdateRows } from '../protocol/v2/server-message.ts';
import type { ClientSchema, ClientTable, Row, RowKey } from './client-schema.ts';
import { kept } from './kept.ts';
import { sameValue } from './native-order.ts';
import type { Entry } from './table-index.ts';
import { TableRows } from './table-rows.ts';

/**
 * The change to one row.
 *
 * @example
 * ```ts
 * const isNew = (change: RowChange<{ nick: string }>) => change.kind === 'insert';
 * ```
 */
export type RowChange<R = Row> =
  | { readonly kind: 'insert'; readonly row: R }
  | { readonly kind: 'update'; readonly old: R; readonly row: R }
  | { readonly kind: 'delete'; readonly row: R };

/** Updates and inserts in the order of the message, then deletes. */
export interface TableChange {
  readonly table: ClientTable;
  readonly changes: readonly RowChange[];
}

/** The net effect of one message. */
export interface Difference {
  readonly tables: readonly TableChange[];
  /** Sets whose rows may have changed: the rows with these keys, or any if `undefined`. */
  readonly sets: ReadonlyMap<number, ReadonlySet<RowKey> | undefined>;
  /** Rows of event tables, which no set keeps. */
  readonly events?: readonly SetEvents[];
  /** While calls are predicted: the changes to the merge of rows and predictions. */
  readonly shown?: readonly TableChange[];
  /** Keys of rows that a prediction wrote or writes, in any table. */
  readonly predicted?: ReadonlySet<RowKey>;
  /** Rows whose prediction had a temporary key. */
  readonly renamed?: readonly Renaming[];
}

/** Rows of an event table that a set received. */
export interface SetEvents {
  readonly querySetId: number;
  readonly table: ClientTable;
  readonly rows: readonly Row[];
}

/** A row that was shown under one key and now has another. */
export interface Renaming {
  readonly table: string;
  readonly from: RowKey;
  readonly to: RowKey;
}

/** Nothing has changed. */
export const noDifference: Difference = { tables: [], sets: new Map() };

/** Rows that a set gained and lost. */
export interface SetChange {
  readonly querySetId: number;
  readonly tables: readonly {
    readonly table: string;
    readonly changes: readonly TableUpdateRows[];
  }[];
}

/** How often a set contains each row, by table. */
export type Membership = ReadonlyMap<TableRows, ReadonlyMap<Entry, number>>;

/** Rows of a computed table, whose name is the type of its rows, belong to one set only. */
export type ComputedTable = (name: string) => ClientTable;

/** A set, and those of its rows that a message concerns. */
interface Members {
  readonly tables: Map<TableRows, Map<Entry, number>>;
  touched: Set<RowKey> | undefined;
}

/** A row from before the current message that the message concerns. */
interface Touched {
  readonly rows: TableRows;
  readonly entry: Entry;
  readonly before: Row;
  wasDeleted: boolean;
  wasInserted: boolean;
}

/** The effects of a message so far. */
interface Work {
  readonly touched: Map<Entry, Touched>;
  /**
   * All tables, in message order: new entries, old ones that the message inserts again, and events.
   */
  readonly arrivals: Map<ClientTable, ({ readonly row: Row } | Touched)[]>;
  readonly events: SetEvents[];
}

export class Contents {
  readonly #schema: ClientSchema;
  readonly #tables = new Map<string, TableRows>();
  readonly #computed: ComputedTable | undefined;
  readonly #sets = new Map<number, Members>();

  constructor(schema: ClientSchema, computed?: ComputedTable) {
    this.#schema = schema;
    this.#computed = computed;
  }

  /** The table with this name on the wire. */
  table(name: string): TableRows | undefined {
    return this.#tables.get(name);
  }

  /** The rows of a set; `undefined` before its first rows. */
  membership(querySetId: number): Membership | undefined {
    return this.#sets.get(querySetId)?.tables;
  }

  /** Throws on rows that cannot be decoded; the contents are then unusable. */
  apply(changes: readonly SetChange[]): Difference {
    const work: Work = { touched: new Map(), arrivals: new Map(), events: [] };
    const sets = new Map<number, Set<RowKey> | undefined>();
    for (const { querySetId } of changes) {
      // A set without rows is still a set; for a new one all rows may have changed.
      const isKnown = this.#sets.has(querySetId);
      const touched = isKnown ? new Set<RowKey>() : undefined;
      if (!sets.has(querySetId)) sets.set(querySetId, touched);
      this.#members(querySetId).touched = sets.get(querySetId);
    }
    // All deletes first: then every insert is either a new row or another copy of one.
    for (const { querySetId, rows, change } of this.#parts(changes)) {
      if (change.kind === 'persistent') this.#delete(querySetId, rows, change.deletes, work);
    }
    for (const { querySetId, rows, change } of this.#parts(changes)) {
      const { table } = rows;
      if (change.kind === 'persistent') this.#insert(querySetId, rows, change.inserts, work);
      else {
        const events = decodeAll(table, change.events);
        work.events.push({ querySetId, table, rows: events });
        const order = kept(work.arrivals, table, () => []);
        for (const row of events) order.push({ row });
      }
    }
    return settle(work, sets);
  }

  /** Drops a set, and the rows that no other set has. */
  drop(querySetId: number): Difference {
    const work: Work = { touched: new Map(), arrivals: new Map(), events: [] };
    for (const [rows, entries] of this.#sets.get(querySetId)?.tables ?? []) {
      for (const [entry, count] of entries) {
        touch(work, rows, entry).wasDeleted = true;
        entry.count -= count;
      }
    }
    this.#sets.delete(querySetId);
    return settle(work, new Map([[querySetId, undefined]]));
  }

  /**
   * The changes that a reader of `old` sees when these contents replace it. Rows that stayed equal
   * are taken over from `old` as objects.
   */
  differenceFrom(old: Contents): Difference {
    const tables: TableChange[] = [];
    for (const name of new Set([...old.#tables.keys(), ...this.#tables.keys()])) {
      const before = old.#tables.get(name);
      const after = this.#tables.get(name);
      const changes: RowChange[] = [];
      for (const entry of after?.entries.values() ?? []) {
        const known = before?.entries.get(entry.key);
        if (known === undefined) changes.push({ kind: 'insert', row: entry.row });
        else if (sameValue(known.row, entry.row)) entry.row = known.row;
        else changes.push({ kind: 'update', old: known.row, row: entry.row });
      }
      // Updates may be mixed in; of the new contents, inserts are reported first.
      changes.sort((a, b) => Number(a.kind === 'update') - Number(b.kind === 'update'));
      for (const { key, row } of before?.entries.values() ?? []) {
        if (after?.entries.has(key) !== true) changes.push({ kind: 'delete', row });
      }
      const table = after?.table ?? before?.table;
      if (changes.length > 0 && table !== undefined) tables.push({ table, changes });
    }
    const sets = new Set([...old.#sets.keys(), ...this.#sets.keys()]);
    return { tables, sets: new Map([...sets].map((set) => [set, undefined])) };
  }

  *#parts(changes: readonly SetChange[]) {
    for (const { querySetId, tables } of changes) {
      for (const { table, changes: parts } of tables) {
        const rows = this.#tableOf(querySetId, table);
        for (const change of parts) yield { querySetId, rows, change };
      }
    }
  }

  #tableOf(querySetId: number, name: string): TableRows {
    if (this.#computed === undefined || !name.startsWith('{')) return this.tableNamed(name);
    const { tables } = this.#members(querySetId);
    for (const rows of tables.keys()) if (rows.table.parts.name === name) return rows;
    return new TableRows(this.#computed(name));
  }

  /** The rows of a table of the database, created empty if necessary. */
  tableNamed(name: string): TableRows {
    const known = this.#tables.get(name);
    if (known !== undefined) return known;
    const table = this.#schema.tablesByName.get(name);
    if (table === undefined) throw new TypeError(`rows of an unknown table ${name}`);
    const rows = new TableRows(table);
    this.#tables.set(name, rows);
    return rows;
  }

  #delete(querySetId: number, rows: TableRows, list: RowList, work: Work): void {
    const { entries, touched } = this.#membersOf(querySetId, rows);
    forEachRow(list, (start, end) => {
      const entry = rows.entries.get(rows.table.keyOf(list.data, start, end));
      const count = entry === undefined ? undefined : entries.get(entry);
      // The set does not have this row: there is nothing to remove.
      if (entry === undefined || count === undefined) return;
      touch(work, rows, entry).wasDeleted = true;
      touched?.add(entry.key);
      entry.count -= 1;
      if (count > 1) entries.set(entry, count - 1);
      else entries.delete(entry);
    });
  }

  #insert(querySetId: number, rows: TableRows, list: RowList, work: Work): void {
    const { table } = rows;
    const { data } = list;
    const { entries, touched } = this.#membersOf(querySetId, rows);
    const order = kept(work.arrivals, table, () => []);
    forEachRow(list, (start, end) => {
      const key = table.keyOf(data, start, end);
      touched?.add(key);
      let entry = rows.entries.get(key);
      if (entry === undefined) {
        entry = rows.add(key, table.decode(data, start, end));
        order.push(entry);
      } else {
        const state = work.touched.get(entry);
        // The first new image; the others of this message are its copies.
        if (state?.wasDeleted === true && !state.wasInserted) {
          state.wasInserted = true;
          order.push(state);
          const hasKey = table.parts.primaryKey !== undefined;
          if (hasKey) rows.replace(entry, table.decode(data, start, end));
        }
      }
      entry.count += 1;
      entries.set(entry, (entries.get(entry) ?? 0) + 1);
    });
  }

  #members(querySetId: number): Members {
    return kept(this.#sets, querySetId, () => ({ tables: new Map(), touched: undefined }));
  }

  #membersOf(querySetId: number, rows: TableRows) {
    const { tables, touched } = this.#members(querySetId);
    return { entries: kept(tables, rows, () => new Map<Entry, number>()), touched };
  }
}

/** Removes rows that no set has any more and returns the change to each row. */
function settle({ touched, arrivals, events }: Work, sets: Difference['sets']): Difference {
  const changes = new Map<ClientTable, RowChange[]>();
  const changesOf = (table: ClientTable): RowChange[] => kept(changes, table, () => []);
  for (const [table, order] of arrivals) {
    const list = changesOf(table);
    const hasKey = table.parts.primaryKey !== undefined;
    for (const item of order) {
      if (!('before' in item)) list.push({ kind: 'insert', row: item.row });
      else if (hasKey) list.push({ kind: 'update', old: item.before, row: item.entry.row });
    }
  }
  for (const { rows, entry, before } of touched.values()) {
    if (entry.count > 0) continue;
    rows.remove(entry);
    changesOf(rows.table).push({ kind: 'delete', row: before });
  }
  const tables = [...changes].map(([table, list]) => ({ table, changes: list }));
  return { tables: tables.filter((table) => table.changes.length > 0), sets, events };
}

function touch({ touched }: Work, rows: TableRows, entry: Entry): Touched {
  let state = touched.get(entry);
  if (state === undefined) {
    state = { rows, entry, before: entry.row, wasDeleted: false, wasInserted: false };
    touched.set(entry, state);
  }
  return state;
}

function decodeAll(table: ClientTable, list: RowList): Row[] {
  const rows: Row[] = [];
  forEachRow(list, (start, end) => rows.push(table.decode(list.data, start, end)));
  return rows;
}

/** Turns the first rows of a set into inserts. */
export function insertsOf({ table, rows }: RowsOfTable): SetChange['tables'][number] {
  return { table, changes: [{ kind: 'persistent', inserts: rows, deletes: emptyRowList }] };
}
