import { present } from '../../src/assert.ts';
import { SqlFailure } from '../../src/sql/failure.ts';
import { bindParameters, type ParameterValue } from '../../src/sql/next/check/bind.ts';
import { check } from '../../src/sql/next/check/check.ts';
import { rightsOf } from '../../src/sql/next/check/visibility.ts';
import { planStatement } from '../../src/sql/next/plan/plan-statement.ts';
import { statisticsOf } from '../../src/sql/next/plan/statistics.ts';
import { QueryBudget } from '../../src/sql/next/run/budget.ts';
import { type CompiledRead, compileRead, ReadExecution } from '../../src/sql/next/run/execution.ts';
import { parse } from '../../src/sql/next/syntax/parse.ts';
import type { SqlSchema, SqlTables } from '../../src/sql/schema.ts';
import { Store } from '../../src/store/store.ts';
import { BinaryReader } from '../../src/values/binary-reader.ts';
import { decoderOf } from '../../src/values/decode.ts';
import { encodeValue } from '../../src/values/encode.ts';
import type { NamedType, ProductType } from '../../src/values/type.ts';
import type { Value } from '../../src/values/value.ts';
import { owner } from './sample-database.ts';
import { type SampleTable, sampleCatalog } from './sample-tables.ts';

/** How statements are planned and run. */
export interface EngineMode {
  readonly useIndexes: boolean;
  readonly optimise: boolean;
  /** Reads stop wherever they can, and go on. */
  readonly pauses: boolean;
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

/** A read that is asked again and again. */
export interface PreparedQuery {
  /** The decoded rows for these values of `$1`, `$2`, … */
  rows(parameters: readonly ParameterValue[]): readonly (readonly Value[])[];
}

/** The engine with tables of its own, asked by the owner: one statement, one transaction. */
export class Engine {
  readonly #store: Store;
  readonly #schema: SqlSchema;
  readonly #tables: SqlTables;
  readonly #mode: EngineMode;

  constructor(tables: readonly SampleTable[], mode: EngineMode) {
    this.#store = new Store(sampleCatalog(...tables));
    const { catalog } = this.#store;
    const nothing = { views: new Map(), filters: new Map() };
    this.#schema = { tables: catalog.tables, types: catalog.types, ...nothing };
    const store = this.#store;
    this.#tables = { table: (id) => present(store.table(id), 'a table of the schema') };
    this.#mode = mode;
  }

  load(name: string, rows: Iterable<readonly Value[]>): void {
    const table = this.#store.tableByName(name);
    if (table === undefined) throw new Error(`no table ${name}`);
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
      const compiled = this.#compile(sql, 0);
      return { kind: 'rows', columns: compiled.columns, rows: this.#ask(compiled, []), written: undefined };
    } catch (error) {
      if (error instanceof SqlFailure) return { kind: 'refused', message: error.message };
      throw error;
    }
  }

  prepare(sql: string, parameterCount: number): PreparedQuery {
    const compiled = this.#compile(sql, parameterCount);
    return { rows: (parameters) => this.#ask(compiled, parameters) };
  }

  #compile(sql: string, parameterCount: number): CompiledRead {
    const { useIndexes, optimise } = this.#mode;
    const parameterNames = new Set(Array.from({ length: parameterCount }, (_, at) => String(at + 1)));
    const { identity } = owner;
    const scope = { schema: this.#schema, rights: rightsOf(owner), identity, parameterNames };
    const typed = check(parse(sql), scope);
    if (typed.kind !== 'read') throw new Error('a write');
    const types = { types: this.#schema.types };
    const statistics = statisticsOf(this.#tables);
    const plan = planStatement(typed, { types, statistics, options: { useIndexes, optimise } });
    return compileRead(plan, types);
  }

  #ask(compiled: CompiledRead, parameters: readonly ParameterValue[]): Value[][] {
    const values = new Map(parameters.map((value, at) => [String(at + 1), value]));
    const types = { types: this.#schema.types };
    const bound = bindParameters(compiled.plan.parameters, values, owner.identity, types);
    const budget = new QueryBudget(this.#mode.pauses ? { rowsPerCheck: 1, sliceMillis: 0 } : {});
    const request = { tables: this.#tables, parameters: bound, budget, nowMicros: 0n };
    const execution = new ReadExecution(compiled, request);
    while (execution.run() === 'paused');
    const { columns, rows, rowCount } = execution.result();
    const type: ProductType = { kind: 'product', elements: columns };
    const decode = decoderOf(type, types);
    const reader = new BinaryReader(rows);
    const decoded = Array.from({ length: rowCount }, () => decode(reader) as Value[]);
    if (reader.remaining > 0) throw new Error('bytes left over after the rows');
    return decoded;
  }
}
