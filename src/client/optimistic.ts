/**
 * What calls without an answer are expected to change, laid over the rows of the server. Loaded
 * when it is first of use.
 *
 * Each pending call is a layer, in the order of the calls. Layers write to the tables themselves,
 * so that every reader and every index sees the merge; before anything of the server is applied
 * they are undone, and after it they are run again. What is told is the difference between the
 * merge before and the merge after.
 */
import type { Identity } from '../values/identity.ts';
import type { AlgebraicType } from '../values/type.ts';
import type { ClientSchema, ClientTable, Row, RowKey } from './client-schema.ts';
import {
  type Contents,
  type Difference,
  noDifference,
  type Renaming,
  type RowChange,
  type TableChange,
} from './contents.ts';
import { sameValue } from './native-order.ts';
import type { OneTableQuery, parseOneTable } from './one-table-query.ts';
import type { Platform } from './platform.ts';
import { nested } from './query-roots.ts';
import type { QuerySet } from './query-set.ts';
import { accessorOf } from './table-handle.ts';
import type { TableRows } from './table-rows.ts';

/** The prediction of one call; run again whenever what lies below has changed. */
export type Predict = (draft: unknown) => void;

/** Where the predictions are laid over. */
export interface OptimisticHost {
  readonly schema: ClientSchema | undefined;
  readonly contents: Contents | undefined;
  readonly platform: Platform;
  /** Whose identity `:sender` is. */
  readonly link: { readonly identity: Identity | undefined };
}

interface Layer {
  readonly call: object;
  readonly predict: Predict;
  /** The numbers that `tempId` gave, in order: the same ones when it is run again. */
  readonly temps: number[];
  /** How many of them this run has used. */
  tempsTaken: number;
  /** Rows with such a number as their key. */
  tempRows: { readonly table: string; readonly key: RowKey }[];
  hasRun: boolean;
}

/** One step of a layer, with what takes it back. */
interface Write {
  readonly table: string;
  readonly key: RowKey;
  undo(): void;
}

/** By name of the table and key: a row as it was at some moment. */
type RowsThen = Map<string, Map<RowKey, Row | undefined>>;

/** Stands for a number that no other pending call has, until it is written to a column. */
class TempId {
  readonly number: number;

  constructor(number: number) {
    this.number = number;
  }

  /** Far from what a sequence gives: negative, or counted down from the largest one. */
  valueFor(table: ClientTable, type: AlgebraicType): unknown {
    const [, sign, digits] = /^([iu])(\d+)$/.exec(type.kind) ?? [];
    if (type.kind === 'string') return `temp-${this.number}`;
    if (digits === undefined) {
      throw new TypeError(
        `tempId() is for integers and texts; a column of ${table.parts.accessor} is neither`,
      );
    }
    const value = (sign === 'u' ? 1n << BigInt(digits) : 0n) - BigInt(this.number);
    return Number(digits) > 32 ? value : Number(value);
  }
}

export class Optimistic {
  readonly #host: OptimisticHost;
  readonly #parse: typeof parseOneTable;
  readonly #queries = new WeakMap<QuerySet, { readonly query: OneTableQuery | undefined }>();
  #layers: Layer[] = [];
  #writes: Write[] = [];
  /** What lay below the writes. */
  #below: RowsThen = new Map();
  #running: Layer | undefined;
  #tempCount = 0;
  #drafts: { readonly schema: ClientSchema; readonly draft: object } | undefined;

  /** `parse` says which rows a query would give. */
  constructor(host: OptimisticHost, parse: typeof parseOneTable) {
    this.#host = host;
    this.#parse = parse;
  }

  /** Lays the prediction of a call on top; gives what is to be told. */
  add(call: object, predict: Predict): Difference {
    this.#layers.push({ call, predict, temps: [], tempsTaken: 0, tempRows: [], hasRun: false });
    return this.beneath(() => noDifference);
  }

  has(call: object): boolean {
    return this.#layers.some((layer) => layer.call === call);
  }

  /**
   * Changes the rows below by `change` and drops the layers of the calls that are `over`. Gives what
   * is to be told: the rows of the server, and beside them what is shown.
   */
  beneath(change: () => Difference, over: ReadonlySet<object> = new Set()): Difference {
    if (this.#layers.length === 0) return change();
    const before: RowsThen = new Map();
    for (const { table, key } of this.#writes) note(before, table, key, this.#rowAt(table, key));
    for (const write of this.#writes.reverse()) write.undo();
    this.#writes = [];
    this.#below = new Map();
    const ended = this.#layers.filter(({ call }) => over.has(call));
    this.#layers = this.#layers.filter(({ call }) => !over.has(call));
    let difference = noDifference;
    try {
      difference = change();
    } finally {
      for (const layer of this.#layers) this.#run(layer);
    }
    const untouched = difference.tables.map(({ table, changes }) => ({
      table,
      changes: changes.filter((each) => {
        const { name } = table.parts;
        const key = table.keyOfRow(each.row);
        const isBelow = this.#below.get(name)?.has(key) === true;
        // What is predicted only now was shown as it was before this change.
        if (isBelow) note(before, name, key, oldRowOf(each));
        return before.get(name)?.has(key) !== true;
      }),
    }));
    for (const [table, rows] of this.#below) {
      for (const [key, row] of rows) note(before, table, key, row);
    }
    const renamed = renamedRows(ended, difference, before);
    const shown = this.#shown(untouched, before, renamed);
    const predicted = new Set([...before.values()].flatMap((rows) => [...rows.keys()]));
    return { ...difference, shown, predicted, renamed };
  }

  /**
   * The row with this key that a query shows, given what it has of it without its condition: what a
   * layer has written is judged by the condition, where that can be understood.
   */
  shownIn(set: QuerySet, key: RowKey, member: Row | undefined): Row | undefined {
    const query = this.#queryOf(set);
    if (query === undefined || this.#below.get(query.table)?.has(key) !== true) return member;
    const row = this.#rowAt(query.table, key);
    return row !== undefined && query.holds(row) ? row : undefined;
  }

  /** Keys of what layers have written to the table that a query is about. */
  keysFor(set: QuerySet): Iterable<RowKey> {
    return this.#below.get(this.#queryOf(set)?.table ?? '')?.keys() ?? [];
  }

  #queryOf(set: QuerySet): OneTableQuery | undefined {
    const { schema, link } = this.#host;
    let known = this.#queries.get(set);
    if (known === undefined && schema !== undefined) {
      const [text = '', ...others] = set.queries(schema);
      known = { query: others.length > 0 ? undefined : this.#parse(text, schema, link.identity) };
      this.#queries.set(set, known);
    }
    return known?.query;
  }

  #rowAt(table: string, key: RowKey): Row | undefined {
    return this.#host.contents?.table(table)?.entries.get(key)?.row;
  }

  /** Writes what a layer predicts, all of it or nothing. */
  #run(layer: Layer): void {
    const { schema, platform } = this.#host;
    if (schema === undefined) return;
    const from = this.#writes.length;
    layer.tempsTaken = 0;
    layer.tempRows = [];
    this.#running = layer;
    try {
      layer.predict(this.#draftOf(schema));
    } catch (error) {
      for (const write of this.#writes.splice(from).reverse()) write.undo();
      layer.tempRows = [];
      // Later on the rows may have become such that the call is going to fail: that shows soon.
      if (!layer.hasRun) platform.report(error);
    }
    layer.hasRun = true;
    this.#running = undefined;
  }

  /** What is shown differently: what no layer is about, and the merge of the rest. */
  #shown(
    untouched: readonly TableChange[],
    before: RowsThen,
    renamed: readonly Renaming[],
  ): TableChange[] {
    const changes = new Map(untouched.map(({ table, changes }) => [table, [...changes]]));
    for (const [name, rows] of before) {
      const table = this.#host.schema?.tablesByName.get(name);
      if (table === undefined) continue;
      const list = changes.get(table) ?? [];
      changes.set(table, list);
      for (const [key, old] of rows) {
        const real = renamed.find(({ table, from }) => table === name && from === key)?.to;
        const row = this.#rowAt(name, real ?? key);
        if (real !== undefined) remove(list, row);
        if (row === undefined) {
          if (old !== undefined) list.push({ kind: 'delete', row: old });
        } else if (old === undefined) list.push({ kind: 'insert', row });
        else if (!sameValue(old, row)) list.push({ kind: 'update', old, row });
      }
      list.sort((a, b) => Number(a.kind === 'delete') - Number(b.kind === 'delete'));
    }
    return [...changes].flatMap(([table, list]) => {
      return list.length > 0 ? [{ table, changes: list }] : [];
    });
  }

  #draftOf(schema: ClientSchema): object {
    if (this.#drafts?.schema !== schema) {
      const tables = [...schema.tables.values()].map((table) => {
        return [table.parts.accessor, this.#tableDraft(table)] as const;
      });
      this.#drafts = { schema, draft: { ...nested(tables), tempId: () => this.#tempId() } };
    }
    return this.#drafts.draft;
  }

  #tableDraft(table: ClientTable): object {
    const { name, columns, primaryKey, indexes } = table.parts;
    const keyType = columns[primaryKey ?? -1]?.type;
    const rows = () => this.#host.contents?.tableNamed(name);
    const all = () => [...(rows()?.rows() ?? [])];
    const accessors = indexes.map(({ accessor }) => [accessor, accessorOf(table, accessor, rows)]);
    return {
      insert: (row: Row) => this.#insert(table, row),
      update: (row: Row) => this.#update(table, row),
      delete: (row: Row) => this.#delete(table, row),
      find: (value: unknown) => {
        const key = value instanceof TempId && keyType ? value.valueFor(table, keyType) : value;
        return this.#rowAt(name, table.keyOfValue(key)) ?? null;
      },
      filter: (holds: (row: Row) => boolean) => all().filter(holds),
      iter: () => all().values(),
      count: () => BigInt(all().length),
      ...Object.fromEntries(accessors),
    };
  }

  #tempId(): TempId {
    const { temps, tempsTaken } = this.#layer();
    if (tempsTaken === temps.length) {
      this.#tempCount += 1;
      temps.push(this.#tempCount);
    }
    this.#layer().tempsTaken += 1;
    return new TempId(temps[tempsTaken] as number);
  }

  #layer(): Layer {
    if (this.#running === undefined) {
      throw new Error('a draft is written to while its function runs, not later');
    }
    return this.#running;
  }

  #insert(table: ClientTable, given: Row): Row {
    const { name, accessor, primaryKey } = table.parts;
    const rows = this.#writable(table);
    const row = rowOf(table, given);
    const key = table.keyOfRow(row);
    const there = rows.entries.get(key);
    if (there !== undefined) {
      if (primaryKey === undefined) return there.row;
      throw new Error(`${accessor} has a row with this key`);
    }
    const entry = rows.add(key, row);
    this.#wrote(name, key, undefined, () => rows.remove(entry));
    const keyColumn = table.parts.columns[primaryKey ?? -1]?.key ?? '';
    if (given[keyColumn] instanceof TempId) this.#layer().tempRows.push({ table: name, key });
    return row;
  }

  /** Nothing happens to a row that this client does not know. */
  #update(table: ClientTable, given: Row): Row {
    const { name, accessor, primaryKey } = table.parts;
    if (primaryKey === undefined) throw new Error(`${accessor} has no primary key to update by`);
    const rows = this.#writable(table);
    const row = rowOf(table, given);
    const entry = rows.entries.get(table.keyOfRow(row));
    if (entry !== undefined) {
      const old = entry.row;
      rows.replace(entry, row);
      this.#wrote(name, entry.key, old, () => rows.replace(entry, old));
    }
    return row;
  }

  #delete(table: ClientTable, given: Row): boolean {
    const rows = this.#writable(table);
    const entry = rows.entries.get(table.keyOfRow(rowOf(table, given)));
    if (entry === undefined) return false;
    rows.remove(entry);
    this.#wrote(table.parts.name, entry.key, entry.row, () => rows.restore(entry));
    return true;
  }

  #writable(table: ClientTable): TableRows {
    this.#layer();
    const { name, accessor, isEvent } = table.parts;
    const rows = this.#host.contents?.tableNamed(name);
    if (rows === undefined || isEvent) throw new Error(`${accessor} keeps no rows`);
    return rows;
  }

  #wrote(table: string, key: RowKey, old: Row | undefined, undo: () => void): void {
    note(this.#below, table, key, old);
    this.#writes.push({ table, key, undo });
  }
}

/** The first word about a row counts. */
function note(rows: RowsThen, table: string, key: RowKey, row: Row | undefined): void {
  let byKey = rows.get(table);
  if (byKey === undefined) {
    byKey = new Map();
    rows.set(table, byKey);
  }
  if (!byKey.has(key)) byKey.set(key, row);
}

function oldRowOf(change: RowChange): Row | undefined {
  if (change.kind === 'insert') return undefined;
  return change.kind === 'update' ? change.old : change.row;
}

/** As the server would give it: written and read, so that the two can be compared. */
function rowOf(table: ClientTable, given: Row): Row {
  const row: Record<string, unknown> = { ...given };
  for (const { key, type } of table.parts.columns) {
    const value = row[key];
    if (value instanceof TempId) row[key] = value.valueFor(table, type);
  }
  const bytes = table.encode(row);
  return table.decode(bytes, 0, bytes.length);
}

/** Temporary keys of ended calls, where the call inserted exactly one row in their stead. */
function renamedRows(
  ended: readonly Layer[],
  { tables }: Difference,
  before: RowsThen,
): Renaming[] {
  const renamed: Renaming[] = [];
  for (const { tempRows } of ended) {
    for (const { table: name, key } of tempRows) {
      const found = tables.find(({ table }) => table.parts.name === name);
      const inserts = found?.changes.filter(({ kind }) => kind === 'insert') ?? [];
      const [only] = inserts;
      const isOnly = tempRows.filter(({ table }) => table === name).length === 1;
      if (found === undefined || only === undefined || inserts.length > 1 || !isOnly) continue;
      if (before.get(name)?.get(key) !== undefined) {
        renamed.push({ table: name, from: key, to: found.table.keyOfRow(only.row) });
      }
    }
  }
  return renamed;
}

function remove(list: RowChange[], row: Row | undefined): void {
  const at = list.findIndex((change) => change.row === row);
  if (at >= 0) list.splice(at, 1);
}
