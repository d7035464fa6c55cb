import { LiveQueries } from '../../src/live/live-queries.js';
import { RowsReader } from '../../src/live/read-rows.js';
import { endOfRow, rowCountOf, startOfRow } from '../../src/live/row-set.js';
import { QueryBudget } from '../../src/sql/run/budget.js';
import { Store } from '../../src/store/store.js';
import { BinaryReader } from '../../src/values/binary-reader.js';
import { decoderOf } from '../../src/values/decode.js';
import { encodeValue } from '../../src/values/encode.js';
import { sampleCatalog } from '../sql/sample-tables.js';
export const owner = { identity: 1n, isOwner: true };
/** Tables and live queries over them, without a database around. */
export class LiveLab {
  store;
  live;
  schema;
  failures = [];
  /** What the clock says. */
  millis = 0;
  #watched = [];
  constructor(tables, filters = {}) {
    const catalog = sampleCatalog(...tables);
    this.store = new Store(catalog);
    const idOf = (name) => this.table(name).id;
    this.schema = {
      tables: catalog.tables,
      types: catalog.types,
      views: new Map(),
      filters: new Map(Object.entries(filters).map(([name, texts]) => [idOf(name), texts])),
    };
    this.live = new LiveQueries({ schema: this.schema, now: () => this.millis });
  }
  table(name) {
    const table = this.store.tableByName(name);
    if (table === undefined) throw new Error(`there is no table ${name}`);
    return table;
  }
  /** Watches a query and takes its first rows. */
  watch(sql, asker = owner) {
    const query = this.live.add(this.live.prepare(sql, asker), asker.identity, []);
    const watched = { query, asker, bag: this.fresh(query, asker) };
    this.#watched.push(watched);
    return watched;
  }
  unwatch(watched) {
    this.#watched.splice(this.#watched.indexOf(watched), 1);
    this.live.release(watched.query);
  }
  /** The rows of a query, asked afresh. */
  fresh(query, { identity } = owner) {
    const reader = new RowsReader({ tables: this.tables, identity, budget: new QueryBudget() });
    const prepared = this.live.preparedAgain(query);
    const bag = new Map();
    for (const rows of reader.rowsOf(prepared)) this.#addRows(bag, prepared.table.id, rows, 1);
    return bag;
  }
  get tables() {
    return {
      table: (id) => {
        const table = this.store.table(id);
        if (table === undefined) throw new Error(`there is no table ${id}`);
        return table;
      },
    };
  }
  /** Runs a transaction, and lets everybody who watches have what it changed. */
  transact(run, outcome = 'commit') {
    const transaction = this.store.begin();
    run(transaction);
    if (outcome === 'rollback') {
      transaction.rollback();
      return [];
    }
    return this.committed(transaction.commit());
  }
  committed(changes) {
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
  insert(transaction, table, ...row) {
    const into = this.table(table);
    const bytes = encodeValue(into.rowType, row, into.types);
    return transaction.insert(into, bytes, bytes.length);
  }
  remove(transaction, table, ...row) {
    const from = this.table(table);
    const bytes = encodeValue(from.rowType, row, from.types);
    return transaction.deleteEqual(from, bytes, 0, bytes.length);
  }
  /** What an update says, as `+` and `-` with the rows, in order. */
  textOf({ tableId, changes }) {
    return changes.flatMap((change) => {
      if (change.kind === 'event') return this.rowTexts(tableId, change.events, '!');
      return [
        ...this.rowTexts(tableId, change.deletes, '-'),
        ...this.rowTexts(tableId, change.inserts, '+'),
      ];
    });
  }
  rowTexts(tableId, rows, mark = '') {
    const table = this.store.table(tableId);
    if (table === undefined) throw new Error(`there is no table ${tableId}`);
    const decode = decoderOf(table.rowType, table.types);
    return Array.from({ length: rowCountOf(rows) }, (_, row) => {
      const reader = new BinaryReader(rows.data, startOfRow(rows, row), endOfRow(rows, row));
      const value = decode(reader);
      if (reader.remaining > 0) throw new Error('a row of a set is longer than its value');
      return mark + textOf(value);
    }).sort();
  }
  #apply(bag, { tableId, changes }) {
    for (const change of changes) {
      if (change.kind === 'event') continue;
      this.#addRows(bag, tableId, change.deletes, -1);
      this.#addRows(bag, tableId, change.inserts, 1);
    }
    for (const [text, count] of bag) {
      if (count < 0) throw new Error(`the row ${text} was deleted more often than inserted`);
      if (count === 0) bag.delete(text);
    }
  }
  #addRows(bag, tableId, rows, count) {
    for (const text of this.rowTexts(tableId, rows)) bag.set(text, (bag.get(text) ?? 0) + count);
  }
}
function textOf(value) {
  return JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `${part}n` : part));
}
//# sourceMappingURL=live-lab.js.map
