import { present } from '../../src/assert.ts';
import { type TableId, viewId } from '../../src/schema/ids.ts';
import { QueryBudget } from '../../src/sql/budget.ts';
import type { ParameterValue } from '../../src/sql/check/bind.ts';
import { SqlFailure } from '../../src/sql/failure.ts';
import type { StatementCaller } from '../../src/sql/rights.ts';
import type { SqlSchema, SqlTables } from '../../src/sql/schema.ts';
import {
  checkStatement,
  isStale,
  isWrite,
  type PreparedStatement,
  prepare,
  startRead,
} from '../../src/sql/statement.ts';
import { Store } from '../../src/store/store.ts';
import { BinaryReader } from '../../src/values/binary-reader.ts';
import { decoderOf } from '../../src/values/decode.ts';
import { encodeValue } from '../../src/values/encode.ts';
import type { ProductType } from '../../src/values/type.ts';
import type { Value } from '../../src/values/value.ts';
import { type SampleTable, sampleCatalog } from './sample-tables.ts';

export interface TwinModule {
  readonly tables: readonly SampleTable[];
  readonly filters: Readonly<Record<string, readonly string[]>>;
  /** Names of tables that stand for views with rows of each caller. */
  readonly views?: readonly string[];
}

/** What a client may add to a statement. */
export interface Asked {
  readonly caller: StatementCaller;
  readonly parameters?: ReadonlyMap<string, ParameterValue>;
  readonly pauses?: boolean;
}

/** Statements as a database serves them: checked, prepared once for all callers, run. */
export class TwinLab {
  readonly store: Store;
  readonly #schema: SqlSchema;
  readonly #prepared = new Map<string, PreparedStatement>();
  readonly #viewOf = new Map<string, Store>();
  readonly #module: TwinModule;

  constructor(module: TwinModule) {
    const catalog = sampleCatalog(...module.tables);
    this.#module = module;
    this.store = new Store(catalog);
    const idOf = (name: string): TableId => present(this.store.tableByName(name), name).id;
    this.#schema = {
      tables: catalog.tables,
      types: catalog.types,
      views: new Map(
        (module.views ?? []).map((name) => [
          idOf(name),
          { id: viewId(idOf(name)), isAnonymous: false },
        ]),
      ),
      filters: new Map(Object.entries(module.filters).map(([name, texts]) => [idOf(name), texts])),
    };
  }

  insert(name: string, rows: Iterable<readonly Value[]>, store: Store = this.store): void {
    const table = present(store.tableByName(name), name);
    const transaction = store.begin();
    for (const row of rows) {
      const bytes = encodeValue({ kind: 'product', elements: table.spec.columns }, row);
      if (transaction.insert(table, bytes, bytes.length) < 0) throw new Error(`not new: ${name}`);
    }
    transaction.commit();
  }

  /** Rows of a caller's own instance of a view. */
  insertView(name: string, caller: StatementCaller, rows: Iterable<readonly Value[]>): void {
    this.insert(name, rows, this.#instancesOf(caller));
  }

  #instancesOf({ identity }: StatementCaller): Store {
    const key = String(identity);
    const known = this.#viewOf.get(key) ?? new Store(sampleCatalog(...this.#module.tables));
    this.#viewOf.set(key, known);
    return known;
  }

  /** All that a caller is told: columns and rows in their order, or the refusal. */
  told(sql: string, asked: Asked): string {
    try {
      const { columns, rows } = this.#answer(sql, asked);
      const names = columns.join(', ');
      return [names, ...rows.map((row) => JSON.stringify(row, bigintAsText))].join('\n');
    } catch (error) {
      if (!(error instanceof SqlFailure)) throw error;
      const { message, code, place, hint } = error.error;
      return JSON.stringify({ message, code, place, hint });
    }
  }

  #answer(sql: string, asked: Asked): { columns: readonly string[]; rows: readonly Value[] } {
    const { caller, parameters = new Map(), pauses = false } = asked;
    const tables = this.#tablesOf(caller);
    const statement = this.#statement(sql, asked, tables);
    if (isWrite(statement)) throw new Error(`not a read: ${sql}`);
    let looks = 0;
    const budget = pauses
      ? new QueryBudget({ now: () => looks++, sliceMillis: 2, rowsPerCheck: 1 })
      : new QueryBudget();
    const execution = startRead(statement, { tables, caller, parameters, budget, nowMicros: 0n });
    try {
      while (execution.run() === 'paused');
      const { columns, types, rows, rowCount } = execution.result();
      const type: ProductType = { kind: 'product', elements: columns };
      const decode = decoderOf(type, types);
      const reader = new BinaryReader(rows);
      const values = Array.from({ length: rowCount }, () => decode(reader));
      return { columns: columns.map(({ name }) => name ?? ''), rows: values };
    } finally {
      execution.dispose();
    }
  }

  /** As `database` keeps them: one for all with the same rights, until its tables have grown. */
  #statement(sql: string, { caller, parameters }: Asked, tables: SqlTables): PreparedStatement {
    const key = `${caller.rights.key} ${sql}`;
    const known = this.#prepared.get(key);
    if (known !== undefined && !isStale(known, tables)) return known;
    const parameterNames = new Set(parameters?.keys());
    const checked = checkStatement(sql, { schema: this.#schema, caller, parameterNames });
    const prepared = prepare(checked, tables);
    this.#prepared.set(key, prepared);
    return prepared;
  }

  #tablesOf(caller: StatementCaller): SqlTables {
    const { views } = this.#schema;
    return {
      table: (id) => {
        const store = views.has(id) ? this.#instancesOf(caller) : this.store;
        return present(store.table(id), `table ${id}`);
      },
    };
  }
}

function bigintAsText(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}n` : value;
}
