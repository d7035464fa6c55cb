import { assert, present, unreachable } from '../../assert.ts';
import type { TableSpec } from '../../schema/catalog.ts';
import { RowShape } from '../../store/row-shape.ts';
import type { Typespace } from '../../values/type.ts';
import type { OutputColumn, TypedExpression } from '../check/typed.ts';
import { needsOf } from '../check/typed-expression.ts';
import { compileConditions } from '../expressions/compile-condition.ts';
import type { CompileContext } from '../expressions/compile-context.ts';
import { compileRowDistance, type RowDistance } from '../expressions/compile-distance.ts';
import { compileExpression } from '../expressions/compile-expression.ts';
import { compileOutput } from '../expressions/compile-output.ts';
import type { SlotLayout } from '../expressions/frame.ts';
import { compileHashKey } from '../expressions/hash-key.ts';
import { compileRowKey, type RowKey } from '../expressions/row-key.ts';
import { layoutOfRows } from '../expressions/row-layout.ts';
import { invalid } from '../failure.ts';
import type { QueryValue } from '../functions/function.ts';
import { orderOf } from '../functions/value-codec.ts';
import { Aggregation, compileGrouping } from '../operators/aggregate.ts';
import { compileElements, ElementRows } from '../operators/elements.ts';
import type { ExecutionState } from '../operators/execution-state.ts';
import { HashJoin, KeptJoin, LoopJoin } from '../operators/joins.ts';
import { KeptRefs, KeptRows, type KeptTuples } from '../operators/kept-tuples.ts';
import type { Maker } from '../operators/maker.ts';
import { MeasuredRows } from '../operators/measured-rows.ts';
import { metered } from '../operators/meter.ts';
import { NearestScan } from '../operators/nearest-scan.ts';
import type { Operator, Rows, Tuples } from '../operators/operator.ts';
import { Recursion, WorkingRows } from '../operators/recursion.ts';
import {
  DerivedSource,
  Distinct,
  Filter,
  FirstTuple,
  Limit,
  type LimitBounds,
  NoTuples,
  OneTuple,
  Projection,
  SharedRows,
  SharedSource,
  TableCount,
  TableProjection,
} from '../operators/row-operators.ts';
import { Concatenation, SetDifference } from '../operators/set-operation.ts';
import { type CompiledSort, Sort, TopRows } from '../operators/sort.ts';
import { RefScan, TableScan, UniqueLookup } from '../operators/table-source.ts';
import { compileWindows, WindowRows } from '../operators/window.ts';
import type { Measurements } from '../plan/measurements.ts';
import type {
  HashPlan,
  LimitPlan,
  LoopPlan,
  PlanParts,
  RowsPlan,
  SortPlan,
  SourcePlan,
  TuplesPlan,
} from '../plan/plan.ts';
import { type AccessContext, compileRefs, compileUnique } from './compile-access.ts';
import { compileNearest } from './compile-nearest.ts';
import { compileSieve } from './compile-sieve.ts';
import { CompiledSubqueries } from './subqueries.ts';

/**
 * Turns the steps of a plan into makers of operators. Everything that can be decided without rows
 * and parameters is decided here, once; executions share no mutable state.
 */
export class PlanCompiler {
  readonly context: CompileContext;
  readonly subqueries: CompiledSubqueries;
  /** The tables of the plan; operators know them by their position. */
  readonly tables: readonly TableSpec[];
  readonly #plan: PlanParts;
  readonly #layouts: SlotLayout[];
  readonly #common = new Map<number, Maker<Rows>>();
  readonly #measurements: Measurements | undefined;
  #keptCount = 0;

  constructor(plan: PlanParts, types: Typespace, measurements?: Measurements) {
    this.#plan = plan;
    this.tables = plan.tables;
    this.#measurements = measurements;
    this.#layouts = plan.slots.map((slot): SlotLayout => {
      if (slot.kind === 'table') {
        const { columns } = slot.table;
        return { shape: new RowShape(columns, types), nullableColumns: columns.map(() => false) };
      }
      return layoutOfRows(slot.columns, types);
    });
    this.subqueries = new CompiledSubqueries(this, plan.subqueries);
    this.context = {
      layoutOf: (slot) => present(this.#layouts[slot], 'layout of a slot'),
      types,
      subquery: (expression) => this.subqueries.compile(expression),
    };
  }

  /** A number under which an execution keeps its own data. */
  keepNumber(): number {
    return this.#keptCount++;
  }

  rows(plan: RowsPlan): Maker<Rows> {
    return this.#measured(plan, this.#makeRows(plan));
  }

  tuples(plan: TuplesPlan): Maker<Tuples> {
    return this.#measured(plan, this.#makeTuples(plan));
  }

  /** Whether the work of each step is measured, so that no step may be left out. */
  get isMeasured(): boolean {
    return this.#measurements !== undefined;
  }

  #measured<Made extends Operator>(plan: object, make: Maker<Made>): Maker<Made> {
    return this.#measurements === undefined ? make : metered(make, this.#measurements.of(plan));
  }

  #makeRows(plan: RowsPlan): Maker<Rows> {
    switch (plan.kind) {
      case 'project': {
        const input = this.tuples(plan.input);
        const slot = plan.wholeSlot;
        const number = slot === undefined ? undefined : this.#tableNumberOf(slot);
        if (slot !== undefined && number !== undefined) {
          return (state) => new TableProjection(state, input(state), { number, slot });
        }
        const write = compileOutput(plan.items, plan.columns, this.context);
        return (state) => new Projection(state, input(state), write);
      }
      case 'sort':
        return this.#sort(plan);
      case 'distinct': {
        const input = this.rows(plan.input);
        const keyOf = this.#rowKey(plan.columns);
        return (state) => new Distinct(state, input(state), keyOf);
      }
      case 'set':
        return this.#setOperation(plan);
      case 'window': {
        const input = this.rows(plan.input);
        const windows = compileWindows(plan, this.context);
        return (state) => new WindowRows(state, input(state), windows);
      }
      case 'recursive':
        return this.#recursion(plan);
      case 'working': {
        const number = keptWorking(plan.slot);
        return (state) => new WorkingRows(state, number);
      }
      case 'elements': {
        const elements = compileElements(plan, this.context);
        return (state) => new ElementRows(state, elements);
      }
      case 'limit': {
        const input = this.rows(plan.input);
        const bounds = this.#boundsOf(plan);
        return (state) => new Limit(state, input(state), bounds);
      }
      case 'count': {
        const number = this.numberOf(plan.table);
        return (state) => new TableCount(state, number);
      }
      default:
        return unreachable(plan);
    }
  }

  #setOperation(plan: Extract<RowsPlan, { readonly kind: 'set' }>): Maker<Rows> {
    const left = this.rows(plan.left);
    const right = this.rows(plan.right);
    const { operator, isAll } = plan;
    const keyOf = this.#rowKey(plan.columns);
    if (operator === 'union') {
      if (isAll) return (state) => new Concatenation(left(state), right(state));
      return (state) => new Distinct(state, new Concatenation(left(state), right(state)), keyOf);
    }
    const options = { isExcept: operator === 'except', isAll, keyOf };
    return (state) => new SetDifference(state, left(state), right(state), options);
  }

  #recursion(plan: Extract<RowsPlan, { readonly kind: 'recursive' }>): Maker<Rows> {
    const base = this.rows(plan.base);
    const step = this.rows(plan.step);
    const keyOf = plan.isAll ? undefined : this.#rowKey(plan.columns);
    const options = { number: keptWorking(plan.slot), keyOf };
    return (state) => new Recursion(state, base(state), step(state), options);
  }

  #rowKey(columns: readonly OutputColumn[]): RowKey {
    return compileRowKey(columns, layoutOfRows(columns, this.context.types), this.context);
  }

  #sort(plan: SortPlan): Maker<Rows> {
    const { context } = this;
    const input = this.tuples(plan.input);
    const keys = plan.keys.map(({ expression, ...order }) => ({
      evaluate: compileExpression(expression, context),
      compare: orderOf(expression.type, context.types, order),
    }));
    const write = compileOutput(plan.items, plan.columns, context);
    const sort: CompiledSort = { keys, write };
    const distance = this.#measuredDistance(plan);
    if (plan.top === undefined) return (state) => new Sort(state, input(state), sort);
    const bounds = this.#boundsOf(plan.top);
    const countOf = (state: ExecutionState): number => rowsOf(bounds(state));
    return (state) => {
      const isShort = countOf(state) <= topRowsMax;
      const rows = input(state);
      if (!isShort) return new Sort(state, rows, sort);
      if (distance === undefined) return new TopRows(state, rows, { ...sort, countOf });
      const measured = new MeasuredRows(state, rows, distance);
      const [first, ...others] = keys;
      const key = { ...present(first, 'the distance'), evaluate: () => measured.distance };
      const leaveOutBehind = plan.keys[0]?.isDescending
        ? undefined
        : (farthest: QueryValue) => measured.leaveOutBehind(farthest);
      return new TopRows(state, measured, {
        ...{ keys: [key, ...others], write },
        ...{ countOf, leaveOutBehind },
      });
    };
  }

  /** The distance by which the rows of one table are ordered first, if they are. */
  #measuredDistance({ keys: [first], input }: SortPlan): RowDistance | undefined {
    if (first === undefined || input.kind !== 'source' || input.from.kind !== 'table') return;
    const distance = compileRowDistance(first.expression, this.context);
    const isOfRow = distance?.place.slot === input.slot && !distance.place.isNullable;
    return isOfRow ? distance : undefined;
  }

  #boundsOf({
    limit,
    offset,
  }: Pick<LimitPlan, 'limit' | 'offset'>): (state: ExecutionState) => LimitBounds {
    const numberOf = (e: TypedExpression | undefined, name: string, absent: number) => {
      if (e === undefined) return () => absent;
      const evaluate = compileExpression(e, this.context);
      return (state: ExecutionState): number => {
        const value = evaluate(state);
        if (value === null) return absent;
        const count = Number(value);
        if (count < 0) throw invalid(`${name} must not be negative`);
        return count;
      };
    };
    const limitOf = numberOf(limit, 'LIMIT', Number.POSITIVE_INFINITY);
    const offsetOf = numberOf(offset, 'OFFSET', 0);
    return (state) => ({ limit: limitOf(state), offset: offsetOf(state) });
  }

  #makeTuples(plan: TuplesPlan): Maker<Tuples> {
    switch (plan.kind) {
      case 'one':
        return (state) => new OneTuple(state);
      case 'nothing':
        return () => new NoTuples();
      case 'source':
        return this.#source(plan);
      case 'loop':
        return plan.isInnerKept ? this.#keptLoop(plan) : this.#loop(plan);
      case 'hash':
        return this.#hash(plan);
      case 'filter': {
        const input = this.tuples(plan.input);
        const condition = compileConditions(plan.conditions, this.context);
        if (condition === undefined) return input;
        return (state) => new Filter(state, input(state), condition);
      }
      case 'first': {
        const input = this.tuples(plan.input);
        return (state) => new FirstTuple(input(state));
      }
      case 'aggregate': {
        const input = this.tuples(plan.input);
        const grouping = compileGrouping(plan.grouping, this.context);
        return (state) => new Aggregation(state, input(state), grouping);
      }
      default:
        return unreachable(plan);
    }
  }

  #source(plan: SourcePlan): Maker<Tuples> {
    const { from, slot } = plan;
    switch (from.kind) {
      case 'table':
        return this.#tableSource(plan, from.table);
      case 'rows': {
        const condition = compileConditions(plan.conditions, this.context);
        const rows = this.rows(from.rows);
        if (!from.isKept) {
          return (state) => new DerivedSource(state, rows(state), { slot, condition });
        }
        return this.#sharedSource(this.keepNumber(), rows, { slot, condition });
      }
      case 'common': {
        const condition = compileConditions(plan.conditions, this.context);
        const { number } = from;
        const known = this.#common.get(number);
        if (known !== undefined) {
          return this.#sharedSource(keptCommon(number), known, { slot, condition });
        }
        const rows = this.rows(present(this.#plan.commonTables.get(number), 'a common table'));
        this.#common.set(number, rows);
        return this.#sharedSource(keptCommon(number), rows, { slot, condition });
      }
      default:
        return unreachable(from);
    }
  }

  #sharedSource(
    kept: number | string,
    rows: Maker<Rows>,
    place: ConstructorParameters<typeof SharedSource>[2],
  ): Maker<Tuples> {
    return (state) => {
      const shared = (): SharedRows => {
        const known = state.kept.get(kept);
        if (known !== undefined) return known as SharedRows;
        const made = new SharedRows(state, rows(state));
        state.kept.set(kept, made);
        return made;
      };
      return new SharedSource(state, shared, place);
    };
  }

  #tableSource({ access, conditions, slot }: SourcePlan, table: TableSpec): Maker<Tuples> {
    const number = this.numberOf(table);
    const { context } = this;
    const { shape } = context.layoutOf(slot);
    const sieve = compileSieve(conditions, { slot, shape, context });
    const place = { number, slot };
    if (access.kind === 'scan') return (state) => new TableScan(state, place, sieve);
    if (access.kind === 'nearest') {
      const bounds = this.#boundsOf(access.top);
      const countOf = (state: ExecutionState): number => rowsOf(bounds(state));
      const options = { find: compileNearest(access, number, context), countOf, sieve };
      return (state) => new NearestScan(state, place, options);
    }
    const options: AccessContext = {
      context,
      shape,
      number,
      slot,
      answersOf: (subquery, state) => this.subqueries.answersOf(subquery, state),
      answerCountOf: (subquery, state) => this.subqueries.answerCountOf(subquery, state),
    };
    if (access.kind === 'point' && access.index.isUnique) {
      const find = compileUnique(access, options);
      return (state) => new UniqueLookup(state, place, find, sieve);
    }
    const find = compileRefs(access, options);
    const isPartial = access.kind === 'range';
    return (state) => new RefScan(state, place, { find, isPartial, sieve });
  }

  #loop(plan: LoopPlan): Maker<Tuples> {
    assert(plan.conditions.length === 0, 'the inner side asks all conditions');
    const outer = this.tuples(plan.outer);
    const inner = this.tuples(plan.inner);
    const { isLeft } = plan;
    const { slot } = plan.inner;
    return (state) => new LoopJoin(state, outer(state), inner(state), { slot, isLeft });
  }

  #keptLoop(plan: LoopPlan): Maker<Tuples> {
    const outer = this.tuples(plan.outer);
    const inner = this.kept(plan.inner);
    const options = this.#joinOptions(plan);
    return (state) => new KeptJoin(state, outer(state), inner(state), options);
  }

  #hash(plan: HashPlan): Maker<Tuples> {
    const outer = this.tuples(plan.outer);
    const inner = this.kept(plan.inner);
    const options = {
      ...this.#joinOptions(plan),
      outerKey: compileHashKey(plan.outerKeys, this.context),
      innerKey: compileHashKey(plan.innerKeys, this.context),
    };
    return (state) => new HashJoin(state, outer(state), inner(state), options);
  }

  #joinOptions(plan: LoopPlan | HashPlan): ConstructorParameters<typeof KeptJoin>[3] {
    const { isLeft, inner } = plan;
    const condition = compileConditions(plan.conditions, this.context);
    const terms = [...inner.conditions, ...(plan.kind === 'hash' ? plan.innerKeys : [])];
    const isWhole = inner.from.kind === 'table' && inner.access.kind === 'scan';
    const isInnerFixed = isWhole && terms.every((term) => needsOnly(term, inner.slot));
    return { slot: inner.slot, isLeft, condition, isInnerFixed };
  }

  /** Keeps the rows of a source, to be shown again by number. */
  kept(plan: SourcePlan): (state: ExecutionState) => KeptTuples {
    const input = this.tuples(plan);
    const { slot, from } = plan;
    if (from.kind === 'table') {
      const number = this.numberOf(from.table);
      return (state) => new KeptRefs(state, input(state), state.table(number), slot);
    }
    const { shape } = this.context.layoutOf(slot);
    const last = shape.columnCount;
    const endOf = (bytes: Uint8Array, row: number): number => {
      let at = row;
      for (let column = 0; column < last; column++) at = shape.skip(bytes, at, column);
      return at;
    };
    return (state) => new KeptRows(state, input(state), slot, endOf);
  }

  #tableNumberOf(slot: number): number | undefined {
    const plan = present(this.#plan.slots[slot], 'a slot of the plan');
    return plan.kind === 'table' ? this.numberOf(plan.table) : undefined;
  }

  /** The position of a table among those of the plan. */
  numberOf(table: TableSpec): number {
    const number = this.tables.findIndex(({ id }) => id === table.id);
    assert(number >= 0, 'a plan lists its tables');
    return number;
  }
}

/** Whether a condition depends on nothing but the request and the row of one slot. */
function needsOnly(term: TypedExpression, slot: number): boolean {
  const { slots, values } = needsOf(term);
  return values.size === 0 && [...slots].every((needed) => needed === slot);
}

/** With more rows than this, all are sorted. */
const topRowsMax = 10_000;

/** The slot of a recursion is filled by nothing else. */
function keptWorking(slot: number): string {
  return `working ${slot}`;
}

function keptCommon(number: number): string {
  return `common ${number}`;
}

/** Rows from the start that an answer needs. */
function rowsOf({ limit, offset }: LimitBounds): number {
  return limit === 0 ? 0 : limit + offset;
}
