import { expect } from 'vitest';
import type { WholeRead } from '../../src/live/kept-stages.ts';
import { LiveQueries, prepareIn } from '../../src/live/live-queries.ts';
import type { LiveQuery } from '../../src/live/live-query.ts';
import type { LiveFailure, LiveUpdate } from '../../src/live/live-update.ts';
import type { QueryDialect } from '../../src/live/query-dialect.ts';
import type { MemoryBounds } from '../../src/live/query-memory.ts';
import { RowsReader } from '../../src/live/read-rows.ts';
import { endOfRow, type RowSet, rowCountOf, startOfRow } from '../../src/live/row-set.ts';
import type { TableId } from '../../src/schema/ids.ts';
import { QueryBudget } from '../../src/sql/budget.ts';
import { ownerRights, type Rights } from '../../src/sql/rights.ts';
import type { SqlSchema, SqlTables } from '../../src/sql/schema.ts';
import type { ChangeSet } from '../../src/store/change-set.ts';
import { Store } from '../../src/store/store.ts';
import type { Table } from '../../src/store/table.ts';
import type { Transaction } from '../../src/store/transaction.ts';
import { BinaryReader } from '../../src/values/binary-reader.ts';
import { decoderOf } from '../../src/values/decode.ts';
import { encodeValue } from '../../src/values/encode.ts';
import { type CallerIdentity, callerIdentity } from '../../src/values/identity-roles.ts';
import { parseJson } from '../../src/values/json.ts';
import type { AlgebraicType } from '../../src/values/type.ts';
import { typeFromJson } from '../../src/values/type-codec.ts';
import type { Value } from '../../src/values/value.ts';
import { type SampleTable, sampleCatalog } from '../sql/sample-tables.ts';
import { valueText } from '../support/value-text.ts';

export interface Asker {
  readonly identity: CallerIdentity;
  readonly rights: Rights;
}

export const owner: Asker = { identity: callerIdentity(1n), rights: ownerRights };

/** How often each row is there, by its text. */
export type Bag = Map<string, number>;

/** Somebody who watches a query and keeps count of its rows, as a client does. */
export interface Watched {
  readonly query: LiveQuery;
  readonly asker: Asker;
  readonly bag: Bag;
}

export interface FreshRow {
  readonly values: Value[];
  readonly bytes: Uint8Array;
}

/** Tables and live queries over them, without a database around. */
export class LiveLab {
  readonly store: Store;
  readonly live: LiveQueries;
  readonly schema: SqlSchema;
  failures: readonly LiveFailure[] = [];
  /** What the clock says. */
  millis = 0;
  /** How far it goes on each time somebody looks. */
  millisPerLook = 0;
  readonly #watched: Watched[] = [];

  constructor(
    tables: readonly SampleTable[],
    filters: Readonly<Record<string, readonly string[]>> = {},
    bounds: Partial<MemoryBounds> = {},
  ) {
    const catalog = sampleCatalog(...tables);
    this.store = new Store(catalog);
    const idOf = (name: string): TableId => this.table(name).id;
    this.schema = {
      tables: catalog.tables,
      types: catalog.types,
      views: new Map(),
      filters: new Map(Object.entries(filters).map(([name, texts]) => [idOf(name), texts])),
    };
    this.live = new LiveQueries({ schema: this.schema, now: () => this.#look(), ...bounds });
  }

  #look(): number {
    this.millis += this.millisPerLook;
    return this.millis;
  }

  table(name: string): Table {
    const table = this.store.tableByName(name);
    if (table === undefined) throw new Error(`there is no table ${name}`);
    return table;
  }

  /** Watches a query and takes its first rows. */
  watch(sql: string, asker: Asker = owner, dialect: QueryDialect = 'subscription'): Watched {
    const prepared = this.live.prepare(sql, asker.rights, dialect);
    const query = this.live.add(prepared, asker.identity, this.whole);
    const watched = { query, asker, bag: this.kept(query) ?? this.fresh(query, asker) };
    this.#watched.push(watched);
    return watched;
  }

  unwatch(watched: Watched): void {
    this.#watched.splice(this.#watched.indexOf(watched), 1);
    this.live.release(watched.query);
  }

  /** The rows of a query, asked afresh. */
  fresh(query: LiveQuery, { identity }: Asker = owner): Bag {
    const reader = new RowsReader({ tables: this.tables, identity, budget: new QueryBudget() });
    const prepared = this.live.preparedAgain(query);
    const bag: Bag = new Map();
    for (const rows of reader.rowsOf(prepared)) this.#addRows(bag, prepared.table.name, rows, 1);
    return bag;
  }

  /** Fails unless a client has counted together what the query has, asked afresh. */
  requireExact({ query, asker, bag }: Watched): void {
    const sorted = (entries: Bag) => [...entries].sort();
    expect(sorted(bag), query.sql).toEqual(sorted(this.fresh(query, asker)));
  }

  /** The rows of any query of the full dialect, asked once. */
  freshRows(sql: string, { identity, rights }: Asker = owner): FreshRow[] {
    const schema = this.live.schema;
    const prepared = prepareIn('full', { sql, rights, schema }, false);
    const reader = new RowsReader({ tables: this.tables, identity, budget: new QueryBudget() });
    return reader.rowsOf(prepared).flatMap((rows) =>
      this.#valuesOf(prepared.table.name, rows).map((values, row) => {
        return { values, bytes: rows.data.subarray(startOfRow(rows, row), endOfRow(rows, row)) };
      }),
    );
  }

  /** The rows that are kept of a query, if they are. */
  kept({ operator, table }: LiveQuery): Bag | undefined {
    const rows = operator.rows();
    if (rows === undefined) return undefined;
    const bag: Bag = new Map();
    this.#addRows(bag, table.name, rows, 1);
    return bag;
  }

  /** For reading all that a query rests on. */
  get whole(): WholeRead {
    return { tables: this.tables, budget: new QueryBudget() };
  }

  get tables(): SqlTables {
    return {
      table: (id) => {
        const table = this.store.table(id);
        if (table === undefined) throw new Error(`there is no table ${id}`);
        return table;
      },
    };
  }

  /** Runs a transaction, and lets everybody who watches have what it changed. */
  transact(run: (transaction: Transaction) => void, outcome: 'commit' | 'rollback' = 'commit') {
    const transaction = this.store.begin();
    run(transaction);
    if (outcome === 'rollback') {
      transaction.rollback();
      return [];
    }
    return this.committed(transaction.commit());
  }

  committed(changes: ChangeSet | undefined): readonly LiveUpdate[] {
    const { updates, failures } = this.live.evaluate({
      tables: changes?.tables ?? [],
      views: [],
      isNewSchema: false,
      hasSequences: false,
      tablesFor: () => this.tables,
    });
    this.failures = failures;
    for (const update of updates) {
      for (const { query, bag } of this.#watched) {
        if (query.number === update.query) this.#apply(bag, update);
      }
    }
    return updates;
  }

  insert(transaction: Transaction, table: string, ...row: Value[]): number {
    const into = this.table(table);
    const bytes = encodeValue(into.rowType, row, into.types);
    return transaction.insert(into, bytes, bytes.length);
  }

  remove(transaction: Transaction, table: string, ...row: Value[]): boolean {
    const from = this.table(table);
    const bytes = encodeValue(from.rowType, row, from.types);
    return transaction.deleteEqual(from, bytes, 0, bytes.length);
  }

  /** What an update says, as `+` and `-` with the rows, in order. */
  textOf({ table, changes }: LiveUpdate): string[] {
    return changes.flatMap((change) => {
      if (change.kind === 'event') return this.rowTexts(table, change.events, '!');
      return [
        ...this.rowTexts(table, change.deletes, '-'),
        ...this.rowTexts(table, change.inserts, '+'),
      ];
    });
  }

  /** `name`: of their table, or the JSON of their type. */
  rowTexts(name: string, rows: RowSet, mark = ''): string[] {
    return this.#valuesOf(name, rows)
      .map((value) => mark + valueText(value))
      .sort();
  }

  #valuesOf(name: string, rows: RowSet): Value[][] {
    const rowType = name.startsWith('{') ? rowTypeOf(name) : this.table(name).rowType;
    const decode = decoderOf(rowType, { types: this.schema.types });
    return Array.from({ length: rowCountOf(rows) }, (_, row) => {
      const reader = new BinaryReader(rows.data, startOfRow(rows, row), endOfRow(rows, row));
      const value = decode(reader);
      if (reader.remaining > 0) throw new Error('a row of a set is longer than its value');
      return value as Value[];
    });
  }

  #apply(bag: Bag, { table, changes }: LiveUpdate): void {
    for (const change of changes) {
      if (change.kind === 'event') continue;
      this.#addRows(bag, table, change.deletes, -1);
      this.#addRows(bag, table, change.inserts, 1);
    }
    for (const [text, count] of bag) {
      if (count < 0) throw new Error(`the row ${text} was deleted more often than inserted`);
      if (count === 0) bag.delete(text);
    }
  }

  #addRows(bag: Bag, table: string, rows: RowSet, count: number): void {
    for (const text of this.rowTexts(table, rows)) bag.set(text, (bag.get(text) ?? 0) + count);
  }
}

/** The type that rows go out under. */
export function rowTypeOf(name: string): AlgebraicType {
  return typeFromJson(parseJson(`{"Product":${name}}`));
}
