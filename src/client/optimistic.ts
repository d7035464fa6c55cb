/**
 * The predicted changes of calls without an answer, laid over the rows of the server. Loaded on
 * first use.
 *
 * Each pending call is a layer, in the order of the calls. Layers write to the tables themselves,
 * so that every reader and every index sees the merge; they are undone before a message of the
 * server is applied, and run again after it. The difference between the merge before and the merge
 * after is reported.
 */
import type { Identity } from '../values/identity.ts';
import type { ClientSchema, Row, RowKey } from './client-schema.ts';
import {
  type Contents,
  type Difference,
  noDifference,
  type Renaming,
  type RowChange,
  type TableChange,
} from './contents.ts';
import { draftOf, KeyTaken, type Write } from './draft-writer.ts';
import { sameValue } from './native-order.ts';
import type { OneTableQuery, parseOneTable } from './one-table-query.ts';
import type { Platform } from './platform.ts';
import type { QuerySet } from './query-set.ts';

/** The prediction of one call; run again whenever the rows below it have changed. */
export type Predict = (draft: unknown) => void;

/** The contents that the predictions are laid over. */
export interface OptimisticHost {
  readonly schema: ClientSchema | undefined;
  readonly contents: Contents | undefined;
  readonly platform: Platform;
  /** The identity is the value of `:sender`. */
  readonly link: { readonly identity: Identity | undefined };
}

interface Layer {
  readonly call: object;
  readonly predict: Predict;
  /** The numbers that `tempId` returned, in order; reused when the layer is run again. */
  readonly temps: number[];
  /** How many of them this run has used. */
  tempsTaken: number;
  /** Rows with such a number as their key. */
  tempRows: { readonly table: string; readonly key: RowKey }[];
  hasRun: boolean;
}

/** Rows as they were at some moment, by table name and key. */
type RowsThen = Map<string, Map<RowKey, Row | undefined>>;

/** A query, parsed under a schema. */
interface Understood {
  readonly schema: ClientSchema;
  readonly query: OneTableQuery | undefined;
}

export class Optimistic {
  readonly #host: OptimisticHost;
  readonly #parse: typeof parseOneTable;
  readonly #queries = new WeakMap<QuerySet, Understood>();
  #layers: Layer[] = [];
  #writes: Write[] = [];
  /** The rows below the writes. */
  #below: RowsThen = new Map();
  /** The rows below the writes of the layer that was added last. */
  #replaced: RowsThen = new Map();
  #running: Layer | undefined;
  #tempCount = 0;
  #draft: { readonly schema: ClientSchema; readonly draft: object } | undefined;

  /** `parse` decides which rows a query would return. */
  constructor(host: OptimisticHost, parse: typeof parseOneTable) {
    this.#host = host;
    this.#parse = parse;
  }

  /** Adds the prediction of a call on top; returns the changes to report. */
  add(call: object, predict: Predict): Difference {
    const layer = { call, predict, temps: [], tempsTaken: 0, tempRows: [], hasRun: false };
    this.#layers.push(layer);
    this.#replaced = new Map();
    this.#run(layer);
    const shown = this.#shown([], this.#replaced, []);
    return { ...noDifference, shown, predicted: keysOf(this.#replaced) };
  }

  has(call: object): boolean {
    return this.#layers.some((layer) => layer.call === call);
  }

  /**
   * Changes the rows below by `change` and drops the layers of the calls that are `over`. Returns
   * the changes to report: to the server's rows and, separately, to the shown rows.
   */
  beneath(change: () => Difference, over: ReadonlySet<object> = new Set()): Difference {
    if (this.#layers.length === 0) return change();
    const before: RowsThen = new Map();
    for (const { table, key } of this.#writes) note(before, table, key, this.#rowAt(table, key));
    for (const write of this.#writes.reverse()) write.undo();
    this.#writes = [];
    this.#below = new Map();
    this.#replaced = new Map();
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
        // A row that is predicted only now was shown as it was before this change.
        if (isBelow) note(before, name, key, oldRowOf(each));
        return before.get(name)?.has(key) !== true;
      }),
    }));
    for (const [table, rows] of this.#below) {
      for (const [key, row] of rows) note(before, table, key, row);
    }
    const renamed = renamedRows(ended, difference, before);
    const shown = this.#shown(untouched, before, renamed);
    return { ...difference, shown, predicted: keysOf(before), renamed };
  }

  /**
   * The row with this key that a query shows; `member` is the query's own row. A row that a layer
   * has written is checked against the query's condition, if that can be parsed.
   */
  shownIn(set: QuerySet, key: RowKey, member: Row | undefined): Row | undefined {
    const query = this.#queryOf(set);
    if (query === undefined || this.#below.get(query.table)?.has(key) !== true) return member;
    const row = this.#rowAt(query.table, key);
    return row !== undefined && query.holds(row) ? row : undefined;
  }

  /** Keys of the rows that layers have written to the query's table. */
  keysFor(set: QuerySet): Iterable<RowKey> {
    return this.#below.get(this.#queryOf(set)?.table ?? '')?.keys() ?? [];
  }

  #queryOf(set: QuerySet): OneTableQuery | undefined {
    const { schema, link } = this.#host;
    if (schema === undefined) return undefined;
    let known = this.#queries.get(set);
    if (known?.schema !== schema) {
      const [text = '', ...others] = set.queries(schema);
      const query = others.length > 0 ? undefined : this.#parse(text, schema, link.identity);
      known = { schema, query };
      this.#queries.set(set, known);
    }
    return known.query;
  }

  #rowAt(table: string, key: RowKey): Row | undefined {
    return this.#host.contents?.table(table)?.entries.get(key)?.row;
  }

  /** Applies a layer's writes, all or none. */
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
      // If the call itself will fail, its answer reports that.
      if (!layer.hasRun && !(error instanceof KeyTaken)) platform.report(error);
    }
    layer.hasRun = true;
    this.#running = undefined;
  }

  /** Changes to the shown rows: those that no layer touches, and the merge of the others. */
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
    if (this.#draft?.schema !== schema) {
      const draft = draftOf(schema, {
        rowsOf: (table) => {
          this.#layer();
          return this.#host.contents?.tableNamed(table);
        },
        tempNumber: () => this.#tempNumber(),
        wrote: (write) => this.#wrote(write),
      });
      this.#draft = { schema, draft };
    }
    return this.#draft.draft;
  }

  #layer(): Layer {
    if (this.#running === undefined) {
      throw new Error('a draft can only be used while its function runs');
    }
    return this.#running;
  }

  #tempNumber(): number {
    const layer = this.#layer();
    const { temps, tempsTaken } = layer;
    if (tempsTaken === temps.length) {
      this.#tempCount += 1;
      temps.push(this.#tempCount);
    }
    layer.tempsTaken += 1;
    return temps[tempsTaken] as number;
  }

  #wrote(write: Write): void {
    const { table, key, old, isTemp } = write;
    note(this.#below, table, key, old);
    note(this.#replaced, table, key, old);
    this.#writes.push(write);
    if (isTemp) this.#layer().tempRows.push({ table, key });
  }
}

/** Records a row; the first record of a row counts. */
function note(rows: RowsThen, table: string, key: RowKey, row: Row | undefined): void {
  let byKey = rows.get(table);
  if (byKey === undefined) {
    byKey = new Map();
    rows.set(table, byKey);
  }
  if (!byKey.has(key)) byKey.set(key, row);
}

function keysOf(rows: RowsThen): ReadonlySet<RowKey> {
  return new Set([...rows.values()].flatMap((byKey) => [...byKey.keys()]));
}

function oldRowOf(change: RowChange): Row | undefined {
  if (change.kind === 'insert') return undefined;
  return change.kind === 'update' ? change.old : change.row;
}

/** Temporary keys of ended calls that inserted exactly one row in their place. */
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
      const to = found.table.keyOfRow(only.row);
      const shown = before.get(name);
      // Skipped if another prediction already shows the real key.
      if (shown?.get(key) !== undefined && !shown.has(to)) {
        renamed.push({ table: name, from: key, to });
      }
    }
  }
  return renamed;
}

function remove(list: RowChange[], row: Row | undefined): void {
  const at = list.findIndex((change) => change.row === row);
  if (at >= 0) list.splice(at, 1);
}
