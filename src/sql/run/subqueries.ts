import { assert, present, unreachable } from '../../assert.ts';
import type { OutputColumn } from '../check/typed.ts';
import type { TypedSubquery } from '../check/typed-expression.ts';
import { compileConditions } from '../expressions/compile-condition.ts';
import { compileExpression } from '../expressions/compile-expression.ts';
import type { Evaluator } from '../expressions/frame.ts';
import { compileHashKey } from '../expressions/hash-key.ts';
import { ByteSink } from '../expressions/row-sink.ts';
import { invalid, type SqlFailure } from '../failure.ts';
import { keyPartOf } from '../functions/canonical.ts';
import type { QueryValue } from '../functions/function.ts';
import { valueReaderOf } from '../functions/value-codec.ts';
import type { ExecutionState } from '../operators/execution-state.ts';
import { ended, type Rows, rowReady, type Step } from '../operators/operator.ts';
import {
  AnswerSet,
  type Collector,
  CompiledStage,
  GroupCollector,
  KeyCollector,
  type Reader,
  type RowAnswer,
  RowCollector,
  RowsByKey,
  type Stage,
} from '../operators/stages.ts';
import type { RowsPlan, SubqueryPlan } from '../plan/plan.ts';
import type { PlanCompiler } from './compile-plan.ts';
import { indexedStatistics } from './indexed-statistics.ts';

/** Rows that are looked at without a pause, about a millisecond's work. */
const deferredCostMax = 10_000;

/** Subqueries inside expressions: how they run, and which of their answers are kept. */
export class CompiledSubqueries {
  /** Subqueries evaluated once, inner ones before the outer ones that use them. */
  readonly stages: Stage[] = [];
  readonly #compiler: PlanCompiler;
  readonly #plans: ReadonlyMap<TypedSubquery, SubqueryPlan>;
  readonly #known = new Map<TypedSubquery, Evaluator>();
  readonly #stageOf = new Map<TypedSubquery, CompiledStage<Answer>>();

  constructor(compiler: PlanCompiler, plans: ReadonlyMap<TypedSubquery, SubqueryPlan>) {
    this.#compiler = compiler;
    this.#plans = plans;
  }

  compile(subquery: TypedSubquery): Evaluator {
    const known = this.#known.get(subquery);
    if (known !== undefined) return known;
    const evaluator = this.#make(subquery);
    this.#known.set(subquery, evaluator);
    return evaluator;
  }

  /** The distinct encoded values that `column IN (SELECT ...)` can find in an index. */
  answersOf(subquery: TypedSubquery, state: ExecutionState): Iterable<Uint8Array> {
    const answer = this.#stage(subquery).answerIn(state);
    assert(answer instanceof AnswerSet, 'values come from IN');
    return answer.encoded.values();
  }

  answerCountOf(subquery: TypedSubquery, state: ExecutionState): number {
    const answer = this.#stage(subquery).answerIn(state);
    assert(answer instanceof AnswerSet, 'values come from IN');
    return answer.encoded.size;
  }

  #make(subquery: TypedSubquery): Evaluator {
    const plan = present(this.#plans.get(subquery), 'plan of a subquery');
    switch (plan.kind) {
      case 'once':
        return this.#once(subquery);
      case 'each':
        return this.#each(subquery, plan);
      case 'keyed':
        return this.#keyed(subquery, plan);
      case 'grouped':
        return this.#grouped(subquery, plan);
      default:
        return unreachable(plan);
    }
  }

  #stage(subquery: TypedSubquery): CompiledStage<Answer> {
    const before = this.#stageOf.get(subquery);
    if (before !== undefined) return before;
    const plan = present(this.#plans.get(subquery), 'plan of a subquery');
    assert(plan.kind === 'once', 'only what is asked once has stages');
    const rows = this.#compiler.rows(plan.rows);
    const read = this.#readerOf(plan.column);
    const isNullable = plan.column?.isNullable === true;
    const { mode } = subquery;
    const { isMeasured } = this.#compiler;
    // EXPLAIN ANALYZE shows the steps that are planned.
    const known = isMeasured ? undefined : indexedStatistics(subquery, this.#compiler);
    const stage = new CompiledStage<Answer>(this.#compiler.keepNumber(), (state) => {
      const value = known?.(state);
      if (value !== undefined) return new KnownAnswer(value);
      const answer =
        mode === 'in' ? new AnswerSet(read, isNullable) : new FirstAnswer(mode === 'exists', read);
      return new RowCollector<Answer>(state, rows(state), answer);
    });
    this.#stageOf.set(subquery, stage);
    this.#announce(stage, plan.rows);
    return stage;
  }

  /** A cheap subquery waits until its answer is needed: maybe it never is. */
  #announce(stage: Stage, rows: RowsPlan): void {
    if (rows.estimate.cost > deferredCostMax) this.stages.push(stage);
  }

  #once(subquery: TypedSubquery): Evaluator {
    const stage = this.#stage(subquery);
    if (subquery.mode !== 'in') {
      return (frame) => {
        const answer = stage.answerIn(frame as ExecutionState);
        assert(answer instanceof FirstAnswer, 'one value is answered');
        return answer.value;
      };
    }
    const operandOf = this.#operandOf(subquery);
    return (frame) => {
      const answer = stage.answerIn(frame as ExecutionState);
      assert(answer instanceof AnswerSet, 'values come from IN');
      return answer.has(operandOf(frame));
    };
  }

  #each(
    subquery: TypedSubquery,
    { rows, column }: { rows: RowsPlan; column?: OutputColumn | undefined },
  ): Evaluator {
    const make = this.#compiler.rows(rows);
    const read = this.#readerOf(column);
    const number = this.#compiler.keepNumber();
    const { mode } = subquery;
    const operandOf = mode === 'in' ? this.#operandOf(subquery) : undefined;
    const sink = new ByteSink();
    return (frame) => {
      const state = frame as ExecutionState;
      let operator = state.kept.get(number) as Rows | undefined;
      if (operator === undefined) {
        operator = make(state);
        state.kept.set(number, operator);
      }
      const operand = operandOf?.(frame);
      return state.withoutPause(() => {
        const running = operator as Rows;
        running.open();
        if (mode === 'exists') return running.next() === rowReady;
        if (mode === 'scalar') return readOnly(running, sink, read);
        return isAmong(running, operand ?? null, sink, read);
      });
    };
  }

  /** The keys of the inner rows, collected when the first outer row needs them. */
  #keyed(
    subquery: TypedSubquery,
    plan: Extract<SubqueryPlan, { readonly kind: 'keyed' }>,
  ): Evaluator {
    const { context } = this.#compiler;
    const { rows, keys } = plan;
    assert(rows.kind === 'project', 'keys are projected');
    if (plan.rest.length > 0) return this.#keyedRows(subquery, plan);
    const input = this.#compiler.tuples(rows.input);
    const innerKey = compileHashKey(rows.items, context);
    const outerKey = compileHashKey(keys, context);
    const stage = new CompiledStage(this.#compiler.keepNumber(), (state) => {
      return new KeyCollector(state, { tuples: input(state), keyOf: innerKey });
    });
    this.#announce(stage, rows);
    const each = this.#each(subquery, { rows: plan.each, column: plan.column });
    return (frame) => {
      const answers = stage.findAnswer(frame as ExecutionState);
      if (answers === undefined) return each(frame);
      const key = outerKey(frame);
      return key !== undefined && answers.has(key);
    };
  }

  /** The inner rows by key, of which those with the key of the outer row are tested. */
  #keyedRows(
    subquery: TypedSubquery,
    plan: Extract<SubqueryPlan, { readonly kind: 'keyed' }>,
  ): Evaluator {
    const { context } = this.#compiler;
    const { rows } = plan;
    assert(rows.kind === 'project' && rows.input.kind === 'source', 'rows of one source');
    const kept = this.#compiler.kept(rows.input);
    const innerKey = compileHashKey(rows.items, context);
    const outerKey = compileHashKey(plan.keys, context);
    const condition = present(compileConditions(plan.rest, context), 'a condition');
    const stage = new CompiledStage(this.#compiler.keepNumber(), (state) => {
      return new RowsByKey(state, kept(state), innerKey);
    });
    this.#announce(stage, rows);
    const each = this.#each(subquery, { rows: plan.each, column: plan.column });
    return (frame) => {
      const state = frame as ExecutionState;
      const found = stage.findAnswer(state);
      if (found === undefined) return each(frame);
      const key = outerKey(frame);
      if (key === undefined) return false;
      return state.withoutPause(() => found.has(key, condition));
    };
  }

  /** The answers for all keys of the inner rows. */
  #grouped(
    subquery: TypedSubquery,
    plan: Extract<SubqueryPlan, { readonly kind: 'grouped' }>,
  ): Evaluator {
    const { context } = this.#compiler;
    const { rows } = plan;
    assert(rows.kind === 'project', 'keys are projected');
    const input = this.#compiler.tuples(rows.input);
    const innerKey = compileHashKey(rows.items, context);
    const evaluate = compileExpression(plan.value, context);
    const stage = new CompiledStage(this.#compiler.keepNumber(), (state) => {
      const tuples = input(state);
      return new GroupCollector(state, { tuples, keyOf: innerKey, evaluate });
    });
    this.#announce(stage, rows);
    const absent = this.#each(subquery, { rows: plan.absent, column: plan.column });
    const each = this.#each(subquery, { rows: plan.each, column: plan.column });
    const outerKey = compileHashKey(plan.keys, context);
    return (frame) => {
      const answers = stage.findAnswer(frame as ExecutionState);
      if (answers === undefined) return each(frame);
      const key = outerKey(frame);
      const answer = key === undefined ? undefined : answers.get(key);
      return answer === undefined ? absent(frame) : answer;
    };
  }

  #operandOf({ operand }: TypedSubquery): Evaluator {
    return compileExpression(present(operand, 'operand of IN'), this.#compiler.context);
  }

  /** Reads the first column of an encoded row. */
  #readerOf(column: OutputColumn | undefined): (bytes: Uint8Array) => QueryValue {
    if (column === undefined) return () => null;
    const read = valueReaderOf(column.type, this.#compiler.context.types);
    if (!column.isNullable) return (bytes) => read(bytes, 0);
    return (bytes) => (bytes[0] === 0 ? read(bytes, 1) : null);
  }
}

function readOnly(rows: Rows, sink: ByteSink, read: Reader): QueryValue {
  if (rows.next() !== rowReady) return null;
  sink.reset();
  rows.write(sink);
  const value = read(sink.bytes);
  if (rows.next() === rowReady) throw tooManyRows();
  return value;
}

function tooManyRows(): SqlFailure {
  return invalid('A subquery used as a value returned more than one row; add LIMIT 1 or aggregate');
}

/** IN: true, false, or null if only a null stands in the way of the answer. */
function isAmong(rows: Rows, operand: QueryValue, sink: ByteSink, read: Reader): QueryValue {
  const wanted = operand === null ? null : keyPartOf(operand);
  let hasNull = false;
  while (rows.next() === rowReady) {
    if (operand === null) return null;
    sink.reset();
    rows.write(sink);
    const value = read(sink.bytes);
    if (value === null) hasNull = true;
    else if (Object.is(keyPartOf(value), wanted)) return true;
  }
  return hasNull ? null : false;
}

type Answer = FirstAnswer | AnswerSet;

/** A value for which no row is looked at. */
class KnownAnswer implements Collector<Answer> {
  readonly answer: FirstAnswer;

  constructor(value: QueryValue) {
    this.answer = new FirstAnswer(false, () => value);
    this.answer.value = value;
  }

  open(): void {}

  next(): Step {
    return ended;
  }
}

/** The value of a scalar subquery, or whether any row exists. */
class FirstAnswer implements RowAnswer {
  value: QueryValue;
  readonly #isExists: boolean;
  readonly #read: Reader;
  #isFound = false;

  constructor(isExists: boolean, read: Reader) {
    this.#isExists = isExists;
    this.#read = read;
    this.value = isExists ? false : null;
  }

  add(row: ByteSink): boolean {
    if (this.#isExists) {
      this.value = true;
      return false;
    }
    if (this.#isFound) throw tooManyRows();
    this.#isFound = true;
    this.value = this.#read(row.bytes);
    return true;
  }
}
