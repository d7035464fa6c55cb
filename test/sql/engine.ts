import { present } from '../../src/assert.ts';
import { PreparedStatements } from '../../src/database/prepared-statements.ts';
import type { TableId } from '../../src/schema/ids.ts';
import { QueryBudget } from '../../src/sql/budget.ts';
import type { ParameterValue } from '../../src/sql/check/bind.ts';
import { SqlFailure } from '../../src/sql/failure.ts';
import type { StatementCaller } from '../../src/sql/rights.ts';
import type { ReadResult } from '../../src/sql/run/results.ts';
import type { SqlSchema, SqlTables } from '../../src/sql/schema.ts';
import {
  checkStatement,
  executeWrite,
  isWrite,
  type PreparedExplainedWrite,
  type PreparedStatement,
  type PreparedWrite,
  prepare,
  type StatementRequest,
  startRead,
} from '../../src/sql/statement.ts';
import { Store } from '../../src/store/store.ts';
import { BinaryReader } from '../../src/values/binary-reader.ts';
import { type Decoder, decoderOf } from '../../src/values/decode.ts';
import { encodeValue } from '../../src/values/encode.ts';
import type { NamedType, ProductType } from '../../src/values/type.ts';
import type { Value } from '../../src/values/value.ts';
import { labOwner as owner } from './query-lab.ts';
import { defaultsOf, type SampleTable, sampleCatalog } from './sample-tables.ts';

/** How statements are planned and run. */
export interface EngineMode {
  readonly useIndexes: boolean;
  readonly optimise: boolean;
  /** Reads stop wherever they can, and go on. */
  readonly pauses: boolean;
  /** Statements are kept, and shared by texts that differ in literals. */
  readonly shares?: boolean;
}

export type EngineAnswer =
  | {
      readonly kind: 'rows';
      readonly columns: readonly NamedType[];
      readonly rows: readonly (readonly Value[])[];
      /** Of a write: how many rows it wrote. */
      readonly written: number | undefined;
    }
  | { readonly kind: 'refused'; readonly message: string };

type Values = StatementRequest['parameters'];
type PreparedWriting = PreparedWrite | PreparedExplainedWrite;

function numbered(values: readonly ParameterValue[]): Values {
  return new Map(values.map((value, at) => [String(at + 1), value] as const));
}

/** Who asks, and what is hidden from them. */
export interface Asked {
  readonly caller?: StatementCaller;
  /** Row-level security, by table. */
  readonly filters?: ReadonlyMap<string, readonly string[]>;
}

/** A read that is asked again and again. */
export interface PreparedQuery {
  /** The decoded rows for these values of `$1`, `$2`, … */
  rows(parameters: readonly ParameterValue[]): readonly (readonly Value[])[];
}

/** Pauses at every second look at the clock, which is one at every row: each run gets on. */
function pausingBudget(): QueryBudget {
  let looks = 0;
  return new QueryBudget({ now: () => looks++, sliceMillis: 2, rowsPerCheck: 1 });
}

/** The engine with tables of its own: one statement, one transaction. Unless said, the owner asks. */
export class Engine {
  readonly #store: Store;
  readonly #schema: SqlSchema;
  readonly #tables: SqlTables;
  readonly #mode: EngineMode;
  readonly #caller: StatementCaller;
  readonly #statements: PreparedStatements;

  constructor(tables: readonly SampleTable[], mode: EngineMode, asked: Asked = {}) {
    const store = new Store(sampleCatalog(...tables));
    const { catalog } = store;
    const { filters = new Map(), caller = owner } = asked;
    const texts = new Map<TableId, readonly string[]>();
    for (const [name, list] of filters) {
      texts.set(present(store.tableByName(name), 'a table with filters').spec.id, list);
    }
    const idOf = (name: string) => present(store.tableByName(name), 'a table').spec.id;
    this.#store = store;
    this.#caller = caller;
    this.#schema = {
      tables: catalog.tables,
      types: catalog.types,
      views: new Map(),
      defaults: new Map(tables.map((table) => [idOf(table.name), defaultsOf(table)])),
      filters: texts,
    };
    this.#statements = new PreparedStatements(this.#schema);
    this.#tables = { table: (id) => present(store.table(id), 'a table of the schema') };
    this.#mode = mode;
  }

  load(name: string, rows: Iterable<readonly Value[]>): void {
    const table = present(this.#store.tableByName(name), 'the table to fill');
    const elements = table.spec.columns;
    const transaction = this.#store.begin();
    for (const row of rows) {
      const bytes = encodeValue({ kind: 'product', elements }, row);
      transaction.insert(table, bytes, bytes.length);
    }
    transaction.commit();
  }

  run(sql: string): EngineAnswer {
    try {
      const { statement: prepared, parameters } = this.#found(sql);
      if (!isWrite(prepared)) {
        const result = this.#read(prepared, parameters);
        const { columns } = result;
        return { kind: 'rows', columns, rows: this.#decoded(result), written: undefined };
      }
      return this.#write(prepared, parameters);
    } catch (error) {
      if (error instanceof SqlFailure) return { kind: 'refused', message: error.message };
      throw error;
    }
  }

  /** The decoded rows of a read. */
  rows(sql: string): readonly (readonly Value[])[] {
    const { statement, parameters } = this.#found(sql);
    if (isWrite(statement)) throw new Error(`not a read: ${sql}`);
    return this.#decoded(this.#read(statement, parameters));
  }

  /** Prepares a text, and returns 1. */
  ready(sql: string): number {
    return this.#found(sql).statement.kind === 'explain' ? 0 : 1;
  }

  /** A read; values of its parameters come with each question. */
  prepare(sql: string, parameterCount: number): PreparedQuery {
    const prepared = this.#prepare(sql, parameterCount);
    if (isWrite(prepared)) throw new Error(`not a read: ${sql}`);
    return { rows: (values) => this.#decoded(this.#read(prepared, numbered(values))) };
  }

  #found(sql: string): { readonly statement: PreparedStatement; readonly parameters: Values } {
    const none: Values = new Map();
    if (this.#mode.shares !== true) return { statement: this.#prepare(sql, 0), parameters: none };
    const tables = { ...this.#tables, prepareViews: () => undefined };
    return this.#statements.get({ sql, caller: this.#caller }, tables);
  }

  #prepare(sql: string, parameterCount: number): PreparedStatement {
    const { useIndexes, optimise } = this.#mode;
    const names = Array.from({ length: parameterCount }, (_, at) => String(at + 1));
    const parameterNames = new Set(names);
    const checked = checkStatement(sql, {
      schema: this.#schema,
      caller: this.#caller,
      parameterNames,
    });
    return prepare(checked, this.#tables, { useIndexes, optimise });
  }

  #read(
    prepared: Exclude<PreparedStatement, { readonly kind: 'write' }>,
    parameters: Values,
  ): ReadResult {
    const execution = startRead(prepared, this.#request(parameters));
    try {
      while (execution.run() === 'paused');
      return execution.result();
    } finally {
      execution.dispose();
    }
  }

  #write(prepared: PreparedWriting, parameters: Values): EngineAnswer {
    const transaction = this.#store.begin();
    try {
      const outcome = executeWrite(prepared, this.#request(parameters), transaction);
      transaction.commit();
      const written = outcome.inserted + outcome.updated + outcome.deleted;
      const { returned } = outcome;
      if (returned === undefined) return { kind: 'rows', columns: [], rows: [], written };
      return { kind: 'rows', columns: returned.columns, rows: this.#decoded(returned), written };
    } catch (error) {
      transaction.rollback();
      throw error;
    }
  }

  #request(parameters: Values): StatementRequest {
    const budget = this.#mode.pauses ? pausingBudget() : new QueryBudget();
    return {
      tables: this.#tables,
      caller: this.#caller,
      parameters,
      budget,
      nowMicros: 1_763_000_000_000_000n,
    };
  }

  #decoded({ columns, rows, rowCount }: ReadResult): readonly (readonly Value[])[] {
    const decode = this.#decoderOf(columns);
    const reader = this.#readerOf(rows);
    const decoded: Value[][] = [];
    for (let left = rowCount; left > 0; left--) decoded.push(decode(reader) as Value[]);
    if (reader.remaining > 0) throw new Error('bytes left over after the rows');
    return decoded;
  }

  readonly #small = new Uint8Array(4_096);
  readonly #smallReader = new BinaryReader(this.#small);

  /** A view of a few bytes costs more than to copy them to where there is one. */
  #readerOf(rows: Uint8Array): BinaryReader {
    if (rows.length > this.#small.length) return new BinaryReader(rows);
    this.#small.set(rows);
    this.#smallReader.reset(this.#small, 0, rows.length);
    return this.#smallReader;
  }

  readonly #decoders = new Map<readonly NamedType[], Decoder>();

  #decoderOf(columns: readonly NamedType[]): Decoder {
    const known = this.#decoders.get(columns);
    if (known !== undefined) return known;
    const type: ProductType = { kind: 'product', elements: columns };
    const decoder = decoderOf(type, { types: this.#schema.types });
    this.#decoders.set(columns, decoder);
    return decoder;
  }
}
