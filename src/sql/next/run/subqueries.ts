import { assert, present, unreachable } from '../../../assert.ts';
import { invalid, SqlFailure } from '../../failure.ts';
import type { OutputColumn } from '../check/typed.ts';
import type { QueryValue } from '../functions/function.ts';
import type { TypedSubquery } from '../plan/expression.ts';
import type { RowsPlan, SubqueryPlan } from '../plan/plan.ts';
import { ByteSink } from './byte-sink.ts';
import type { Evaluator } from './compile-context.ts';
import { compileExpression } from './compile-expression.ts';
import type { Maker, PlanCompiler } from './compile-plan.ts';
import type { ExecutionState } from './execution-state.ts';
import { compileHashKey, type HashKey, type KeyPart, keyPartOf } from './hash-key.ts';
import { ended, paused, type Rows, rowReady, type Step, type Tuples } from './operator.ts';
import { valueReaderOf } from './value-codec.ts';

/** Subqueries inside expressions: how they are run, and what is kept of their answers. */
export class CompiledSubqueries {
  /** Those that are answered once, inner ones before the outer ones that ask them. */
  readonly stages: CompiledStageLike[] = [];
  readonly #compiler: PlanCompiler;
  readonly #plans: ReadonlyMap<TypedSubquery, SubqueryPlan>;
  readonly #known = new Map<TypedSubquery, Evaluator>();
  readonly #stageOf = new Map<TypedSubquery, CompiledStage>();

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

  /** The encoded values, each once, that `column IN (SELECT …)` may find in an index. */
  answersOf(subquery: TypedSubquery, state: ExecutionState): Iterable<Uint8Array> {
    const answer = this.#stage(subquery).answerIn(state);
    assert(answer.kind === 'in', 'values come from IN');
    return answer.encoded.values();
  }

  answerCountOf(subquery: TypedSubquery, state: ExecutionState): number {
    const answer = this.#stage(subquery).answerIn(state);
    assert(answer.kind === 'in', 'values come from IN');
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
        return this.#keyed(plan);
      default:
        return unreachable(plan);
    }
  }

  #stage(subquery: TypedSubquery): CompiledStage {
    const known = this.#stageOf.get(subquery);
    if (known !== undefined) return known;
    const plan = present(this.#plans.get(subquery), 'plan of a subquery');
    assert(plan.kind === 'once', 'only what is asked once has stages');
    const rows = this.#compiler.rows(plan.rows);
    const read = this.#readerOf(plan.column);
    const stage = new CompiledStage(this.#compiler.keepNumber(), rows, () =>
      subquery.mode === 'in'
        ? new AnswerSet(read, plan.column?.isNullable === true)
        : new FirstAnswer(subquery.mode === 'exists', read),
    );
    this.#stageOf.set(subquery, stage);
    this.stages.push(stage);
    return stage;
  }

  #once(subquery: TypedSubquery): Evaluator {
    const stage = this.#stage(subquery);
    if (subquery.mode !== 'in') return (frame) => stage.answerIn(frame as ExecutionState).value;
    const operandOf = this.#operandOf(subquery);
    return (frame) => {
      const answer = stage.answerIn(frame as ExecutionState);
      assert(answer.kind === 'in', 'values come from IN');
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

  /** The keys that inner rows have, collected when the first outer row asks. */
  #keyed(plan: Extract<SubqueryPlan, { readonly kind: 'keyed' }>): Evaluator {
    const { context } = this.#compiler;
    const { rows, keys } = plan;
    assert(rows.kind === 'project', 'keys are projected');
    const input = this.#compiler.tuples(rows.input);
    const innerKey = compileHashKey(rows.items, context);
    const outerKey = compileHashKey(keys, context);
    const stage = new CompiledKeys(this.#compiler.keepNumber(), (state) => {
      const tuples = input(state);
      return { tuples, keyOf: innerKey };
    });
    this.stages.push(stage);
    return (frame) => {
      const key = outerKey(frame);
      return key !== undefined && stage.keysIn(frame as ExecutionState).has(key);
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

type Reader = (bytes: Uint8Array) => QueryValue;

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

/** IN: true, false, or null when only a null stands in the way of the answer. */
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

/** What is answered before the first row of the statement is asked for, so that it can pause. */
export interface CompiledStageLike {
  run(state: ExecutionState): Step;
}

export class CompiledStage implements CompiledStageLike {
  readonly #number: number;
  readonly #make: Maker<Rows>;
  readonly #makeAnswer: () => Answer;

  constructor(number: number, make: Maker<Rows>, makeAnswer: () => Answer) {
    this.#number = number;
    this.#make = make;
    this.#makeAnswer = makeAnswer;
  }

  run(state: ExecutionState): Step {
    return this.#running(state).run();
  }

  /** Throws what went wrong when it was answered: only who asks has to know. */
  answerIn(state: ExecutionState): Answer {
    const running = this.#running(state);
    if (!running.isDone) state.withoutPause(() => running.run());
    if (running.failure !== undefined) throw running.failure;
    return running.answer;
  }

  #running(state: ExecutionState): RunningStage {
    const known = state.kept.get(this.#number);
    if (known !== undefined) return known as RunningStage;
    const running = new RunningStage(state, this.#make(state), this.#makeAnswer());
    state.kept.set(this.#number, running);
    return running;
  }
}

class RunningStage {
  readonly answer: Answer;
  failure: SqlFailure | undefined;
  readonly #state: ExecutionState;
  readonly #rows: Rows;
  readonly #sink = new ByteSink();
  isDone = false;
  #isOpen = false;

  constructor(state: ExecutionState, rows: Rows, answer: Answer) {
    this.#state = state;
    this.#rows = rows;
    this.answer = answer;
  }

  run(): Step {
    if (this.isDone) return ended;
    try {
      if (this.#go() === paused) return paused;
    } catch (error) {
      if (!(error instanceof SqlFailure) || error.error.code === 'sql.overBudget') throw error;
      this.failure = error;
    }
    this.isDone = true;
    return ended;
  }

  #go(): Step {
    if (!this.#isOpen) this.#rows.open();
    this.#isOpen = true;
    for (;;) {
      const step = this.#rows.next();
      if (step !== rowReady) return step;
      this.#sink.reset();
      this.#rows.write(this.#sink);
      if (!this.answer.add(this.#sink, this.#state)) return ended;
    }
  }
}

/** The value of a scalar subquery, or whether there is a row at all. */
class FirstAnswer {
  readonly kind = 'first';
  value: QueryValue;
  readonly #isExists: boolean;
  readonly #read: Reader;
  #isFound = false;

  constructor(isExists: boolean, read: Reader) {
    this.#isExists = isExists;
    this.#read = read;
    this.value = isExists ? false : null;
  }

  /** False: no more rows are needed. */
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

/** The values that IN looks among. */
class AnswerSet {
  readonly kind = 'in';
  readonly value = null;
  /** By what stands for the value, its encoding. */
  readonly encoded = new Map<KeyPart, Uint8Array>();
  readonly #read: Reader;
  /** A nullable column has a tag in front of its value. */
  readonly #valueStart: number;
  #hasNull = false;

  constructor(read: Reader, isNullable: boolean) {
    this.#read = read;
    this.#valueStart = isNullable ? 1 : 0;
  }

  add(row: ByteSink, state: ExecutionState): boolean {
    const value = this.#read(row.bytes);
    if (value === null) {
      this.#hasNull = true;
      return true;
    }
    const key = keyPartOf(value);
    if (this.encoded.has(key)) return true;
    state.budget.take(row.length + valueBytes);
    this.encoded.set(key, row.bytes.slice(this.#valueStart, row.length));
    return true;
  }

  has(operand: QueryValue): boolean | null {
    if (this.encoded.size === 0 && !this.#hasNull) return false;
    if (operand === null) return null;
    if (this.encoded.has(keyPartOf(operand))) return true;
    return this.#hasNull ? null : false;
  }
}

const valueBytes = 80;

interface KeySource {
  readonly tuples: Tuples;
  readonly keyOf: HashKey;
}

class CompiledKeys implements CompiledStageLike {
  readonly #number: number;
  readonly #make: (state: ExecutionState) => KeySource;

  constructor(number: number, make: (state: ExecutionState) => KeySource) {
    this.#number = number;
    this.#make = make;
  }

  run(state: ExecutionState): Step {
    return this.#running(state).run(state);
  }

  keysIn(state: ExecutionState): ReadonlySet<KeyPart> {
    const running = this.#running(state);
    if (!running.isDone) state.withoutPause(() => running.run(state));
    if (running.failure !== undefined) throw running.failure;
    return running.keys;
  }

  #running(state: ExecutionState): RunningKeys {
    const known = state.kept.get(this.#number);
    if (known !== undefined) return known as RunningKeys;
    const running = new RunningKeys(this.#make(state));
    state.kept.set(this.#number, running);
    return running;
  }
}

class RunningKeys {
  readonly keys = new Set<KeyPart>();
  failure: SqlFailure | undefined;
  readonly #source: KeySource;
  isDone = false;
  #isOpen = false;

  constructor(source: KeySource) {
    this.#source = source;
  }

  run(state: ExecutionState): Step {
    if (this.isDone) return ended;
    try {
      if (this.#go(state) === paused) return paused;
    } catch (error) {
      if (!(error instanceof SqlFailure) || error.error.code === 'sql.overBudget') throw error;
      this.failure = error;
    }
    this.isDone = true;
    return ended;
  }

  #go(state: ExecutionState): Step {
    const { tuples, keyOf } = this.#source;
    if (!this.#isOpen) tuples.open();
    this.#isOpen = true;
    for (;;) {
      const step = tuples.next();
      if (step !== rowReady) return step;
      const key = keyOf(state);
      if (key === undefined || this.keys.has(key)) continue;
      state.budget.take(valueBytes);
      this.keys.add(key);
    }
  }
}
