import type { TypedRead } from '../sql/check/typed.ts';
import type { ReadPlan } from '../sql/plan/plan.ts';
import { isOutgrown, type PlannedSizes, sizesOf } from '../sql/planning.ts';
import type { Rights } from '../sql/rights.ts';
import { type CompiledRead, compileRead, ReadExecution } from '../sql/run/execution.ts';
import type { SqlTables } from '../sql/schema.ts';
import type { RowShape } from '../store/row-shape.ts';
import type { CallerIdentity } from '../values/identity-roles.ts';
import type { WholeRead } from './kept-stages.ts';
import type { LiveOperator, OperatorSurroundings } from './live-operator.ts';
import type { LiveSchema } from './live-schema.ts';
import type { RowChanges } from './live-update.ts';
import { rowDifference } from './row-bag.ts';
import { emptyRowSet, joinedRows, type RowSet, rowCountOf, rowSetOf } from './row-set.ts';
import type { SourceKey } from './source-changes.ts';

/** The prepared query; its plans suit the current sizes of the tables. */
export interface RepeatedQuery {
  readonly schema: LiveSchema;
  readonly rights: Rights;
  readonly shape: RowShape;
  plans(tables: SqlTables): readonly ReadPlan[];
  parametersOf(
    read: Pick<TypedRead, 'parameters'>,
    identity: CallerIdentity,
  ): readonly (Uint8Array | undefined)[];
}

/**
 * A query without an incremental form: it is run again after every commit that changed something it
 * reads, and its rows are compared with the previous ones.
 */
export class RerunOperator implements LiveOperator {
  readonly fragments = [];
  readonly sources: readonly SourceKey[];
  readonly #query: RepeatedQuery;
  readonly #identity: CallerIdentity;
  /** Compiled again when tables have grown or shrunk so much that other plans may be better. */
  #compiled: readonly CompiledRead[] = [];
  #sizes: PlannedSizes | undefined;
  #rows: RowSet = emptyRowSet;

  constructor(query: RepeatedQuery, identity: CallerIdentity, sources: readonly SourceKey[]) {
    this.#query = query;
    this.#identity = identity;
    this.sources = sources;
  }

  /** Comparing takes a map entry for each row. */
  get bytes(): number {
    return this.#rows.data.length + comparedRowBytes * rowCountOf(this.#rows);
  }

  open(whole: WholeRead): void {
    this.#rows = this.#read(whole);
  }

  changes(_hits: unknown, { reread }: OperatorSurroundings): readonly RowChanges[] {
    const before = this.#rows;
    this.#rows = reread((whole) => this.#read(whole));
    const change = rowDifference(before, this.#rows);
    return change === undefined ? [] : [change];
  }

  rows(): RowSet {
    return { ...this.#rows, data: this.#rows.data.slice() };
  }

  #read({ tables, budget }: WholeRead): RowSet {
    const query = this.#query;
    const { shape } = query;
    const sets = this.#compiledFor(tables).map((compiled) => {
      const parameters = query.parametersOf(compiled.plan, this.#identity);
      const execution = new ReadExecution(compiled, { tables, budget, parameters, nowMicros: 0n });
      while (execution.run() === 'paused');
      const { rows, rowCount } = execution.result();
      return rowSetOf(rows, rowCount, shape);
    });
    return joinedRows(sets, shape);
  }

  #compiledFor(tables: SqlTables): readonly CompiledRead[] {
    if (this.#sizes !== undefined && !isOutgrown(this.#sizes, tables)) return this.#compiled;
    const { schema, rights } = this.#query;
    const plans = this.#query.plans(tables);
    const specs = plans.flatMap((plan) => plan.tables);
    this.#sizes = sizesOf(specs, { schema: schema.sql, rights, tables });
    this.#compiled = plans.map((plan) => compileRead(plan, schema.types));
    return this.#compiled;
  }
}

/** Measured on Node 20: twice, because the previous rows are held as well. */
const comparedRowBytes = 160;
