import { type TableId, tableId } from '../../src/schema/ids.ts';
import { QueryBudget } from '../../src/sql/budget.ts';
import { check } from '../../src/sql/check/check.ts';
import type { ParameterSpec, TypedRead, TypedStatement } from '../../src/sql/check/typed.ts';
import { encodeQueryValue } from '../../src/sql/functions/value-codec.ts';
import { explainPlan } from '../../src/sql/plan/explain.ts';
import type { PlanOptions, ReadPlan } from '../../src/sql/plan/plan.ts';
import { planStatement } from '../../src/sql/plan/plan-statement.ts';
import { statisticsOf } from '../../src/sql/plan/statistics.ts';
import { ownerRights, type StatementCaller } from '../../src/sql/rights.ts';
import { compileRead, ReadExecution } from '../../src/sql/run/execution.ts';
import type { ReadResult, WriteOutcome } from '../../src/sql/run/results.ts';
import { type CompiledWrite, compileWrite, runWrite } from '../../src/sql/run/write.ts';
import { WriteExecution } from '../../src/sql/run/write-execution.ts';
import type { SqlSchema, SqlTables } from '../../src/sql/schema.ts';
import { parse } from '../../src/sql/syntax/parse.ts';
import { Store } from '../../src/store/store.ts';
import type { Transaction } from '../../src/store/transaction.ts';
import { BinaryReader } from '../../src/values/binary-reader.ts';
import { BinaryWriter } from '../../src/values/binary-writer.ts';
import { decoderOf } from '../../src/values/decode.ts';
import { encoderOf } from '../../src/values/encode.ts';
import { callerIdentity } from '../../src/values/identity-roles.ts';
import { identityType } from '../../src/values/special-types.ts';
import type { ProductType } from '../../src/values/type.ts';
import type { Value } from '../../src/values/value.ts';
import { defaultsOf, type SampleTable, sampleCatalog } from './sample-tables.ts';

export interface LabOptions extends Partial<PlanOptions> {
  /** Values as they are stored. */
  readonly parameters?: Readonly<Record<string, Value>>;
  readonly caller?: StatementCaller;
  /** Pauses as often as it can. */
  readonly isPausing?: boolean;
  /** What happens in each pause. */
  readonly duringPause?: () => void;
  /** Memory it may take. */
  readonly memoryBytesMax?: number;
}

export interface LabWrite {
  readonly inserted: number;
  readonly deleted: number;
  readonly updated: number;
  readonly returned: readonly Value[];
}

export const labOwner: StatementCaller = { identity: callerIdentity(0xabn), rights: ownerRights };

/** A store with rows, and each stage of a query to be looked at on its own. */
export class QueryLab {
  readonly store: Store;
  readonly schema: SqlSchema;
  readonly tables: SqlTables;
  pauseCount = 0;

  constructor(
    tables: readonly SampleTable[],
    filters: Readonly<Record<string, readonly string[]>> = {},
  ) {
    const catalog = sampleCatalog(...tables);
    this.store = new Store(catalog);
    const idOf = (name: string): TableId => this.store.tableByName(name)?.id ?? tableId(-1);
    this.schema = {
      tables: catalog.tables,
      types: catalog.types,
      views: new Map(),
      defaults: new Map(tables.map((table) => [idOf(table.name), defaultsOf(table)])),
      filters: new Map(Object.entries(filters).map(([name, texts]) => [idOf(name), texts])),
    };
    this.tables = {
      table: (id) => {
        const table = this.store.table(id);
        if (table === undefined) throw new Error(`no table ${id}`);
        return table;
      },
    };
  }

  /** Adds rows, each a list of the values of its columns. */
  insert(name: string, rows: readonly (readonly Value[])[]): void {
    const table = this.store.tableByName(name);
    if (table === undefined) throw new Error(`no table ${name}`);
    const encode = encoderOf(table.rowType, table.types);
    const transaction = this.store.begin();
    const writer = new BinaryWriter();
    for (const row of rows) {
      writer.reset();
      encode(writer, row);
      const code = transaction.insert(table, writer.finish(), writer.length);
      if (code < 0) throw new Error(`insert: ${code}`);
    }
    transaction.commit();
  }

  check(sql: string, { parameters = {}, caller = labOwner }: LabOptions = {}): TypedStatement {
    const { rights } = caller;
    const parameterNames = new Set(Object.keys(parameters));
    const { schema } = this;
    return check(parse(sql), { schema, rights, identity: caller.identity, parameterNames });
  }

  plan(sql: string, options: LabOptions = {}): ReadPlan {
    const typed = this.check(sql, options);
    if (typed.kind !== 'read') throw new Error(`not a read: ${sql}`);
    return this.planTyped(typed, options);
  }

  planTyped(typed: TypedRead, { useIndexes = true, optimise = true }: LabOptions = {}): ReadPlan {
    const statistics = statisticsOf(this.tables);
    const { types } = this.schema;
    return planStatement(typed, {
      types: { types },
      statistics,
      options: { useIndexes, optimise },
    });
  }

  read(sql: string, options: LabOptions = {}): ReadResult {
    const plan = this.plan(sql, options);
    const { types } = this.schema;
    const compiled = compileRead(plan, { types });
    const { isPausing = false } = options;
    const { memoryBytesMax = Number.POSITIVE_INFINITY } = options;
    const sliceMillis = isPausing ? 0 : Number.POSITIVE_INFINITY;
    const budget = new QueryBudget({
      sliceMillis,
      memoryBytesMax,
      ...(isPausing ? { rowsPerCheck: 1 } : {}),
    });
    const execution = new ReadExecution(compiled, {
      tables: this.tables,
      budget,
      nowMicros: 0n,
      parameters: this.#parametersOf(plan.parameters, options),
    });
    try {
      while (execution.run() === 'paused') {
        this.pauseCount++;
        options.duringPause?.();
      }
      return execution.result();
    } finally {
      execution.dispose();
    }
  }

  /** Runs a write in a transaction of its own. */
  write(sql: string, options: LabOptions = {}): LabWrite {
    const compiled = this.#compiledWrite(sql, options);
    const request = {
      ...{ tables: this.tables, budget: new QueryBudget(), nowMicros: 0n },
      parameters: this.#parametersOf(compiled.plan.parameters, options),
    };
    return this.#inTransaction((transaction) => runWrite(compiled, { ...request, transaction }));
  }

  /**
   * The same, pausing as often as it can while it finds what to change. `undefined`: what was
   * written in the pauses stands against what it has found, and nothing was done.
   */
  slicedWrite(sql: string, options: LabOptions & { readonly laterRowsMax?: number } = {}) {
    const { laterRowsMax = Number.POSITIVE_INFINITY } = options;
    const compiled = this.#compiledWrite(sql, options);
    const budget = new QueryBudget({ sliceMillis: 0, rowsPerCheck: 1 });
    const parameters = this.#parametersOf(compiled.plan.parameters, options);
    const request = { tables: this.tables, budget, nowMicros: 0n, parameters };
    const execution = new WriteExecution(compiled, request, 0);
    try {
      while (execution.run() === 'paused') {
        this.pauseCount++;
        options.duringPause?.();
      }
      if (!execution.catchUp(laterRowsMax)) return undefined;
      return this.#inTransaction((transaction) => execution.write(transaction));
    } finally {
      execution.dispose();
    }
  }

  #compiledWrite(sql: string, options: LabOptions): CompiledWrite {
    const typed = this.check(sql, options);
    if (typed.kind === 'read' || typed.kind === 'explain') throw new Error(`no write: ${sql}`);
    const { types } = this.schema;
    const { useIndexes = true, optimise = true } = options;
    const plan = planStatement(typed, {
      types: { types },
      statistics: statisticsOf(this.tables),
      options: { useIndexes, optimise },
    });
    return compileWrite(plan, { types });
  }

  #inTransaction(write: (transaction: Transaction) => WriteOutcome): LabWrite {
    const transaction = this.store.begin();
    try {
      const { returned, ...counts } = write(transaction);
      transaction.commit();
      return { ...counts, returned: returned === undefined ? [] : this.#decode(returned) };
    } catch (error) {
      transaction.rollback();
      throw error;
    }
  }

  rows(sql: string, options: LabOptions = {}): Value[] {
    return this.#decode(this.read(sql, options));
  }

  explain(sql: string, options: LabOptions & { readonly hidesNumbers?: boolean } = {}): string {
    const { hidesNumbers = false } = options;
    const plan = this.plan(sql, options);
    const types = { types: this.schema.types };
    return explainPlan(plan, { types, hidesNumbers }).join('\n');
  }

  #decode({ columns, rows, rowCount }: ReadResult): Value[] {
    const rowType: ProductType = { kind: 'product', elements: columns };
    const decode = decoderOf(rowType, { types: this.schema.types });
    const reader = new BinaryReader(rows);
    const values = Array.from({ length: rowCount }, () => decode(reader));
    if (reader.remaining > 0) throw new Error('bytes left over after the rows');
    return values;
  }

  #parametersOf(
    specs: readonly ParameterSpec[],
    { caller = labOwner, parameters = {} }: LabOptions,
  ): (Uint8Array | undefined)[] {
    const { types } = this.schema;
    return specs.map(({ name, type }) => {
      if (name === undefined) return encodeQueryValue(identityType, caller.identity);
      const value = parameters[name];
      if (value === undefined) return undefined;
      const writer = new BinaryWriter();
      encoderOf(type, { types })(writer, value);
      return writer.finish();
    });
  }
}
