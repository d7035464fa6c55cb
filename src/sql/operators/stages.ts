import { RefList } from '../../store/ref-list.ts';
import type { Evaluator } from '../expressions/frame.ts';
import type { HashKey } from '../expressions/hash-key.ts';
import { ByteSink } from '../expressions/row-sink.ts';
import { SqlFailure } from '../failure.ts';
import { type KeyPart, keyPartOf } from '../functions/canonical.ts';
import type { QueryValue } from '../functions/function.ts';
import type { ExecutionState } from './execution-state.ts';
import { bufferBytes, bytesOfValue, mapEntryBytes, refBytes, setEntryBytes } from './held-bytes.ts';
import type { KeptTuples } from './kept-tuples.ts';
import { ended, paused, type Rows, rowReady, type Step, type Tuples } from './operator.ts';

/** A part that is computed before the first row of the statement is read, so that it can pause. */
export interface Stage {
  run(state: ExecutionState): Step;
}

/** Collects an answer, one row at a time. */
export interface Collector<Answer> {
  readonly answer: Answer;
  open(): void;
  /** `rowReady`: one more row was looked at. */
  next(): Step;
}

/** A stage of a compiled plan: each execution computes its answer once. */
export class CompiledStage<Answer> implements Stage {
  readonly #number: number;
  readonly #begin: (state: ExecutionState) => Collector<Answer>;

  /** `number`: the key under which an execution keeps it. */
  constructor(number: number, begin: (state: ExecutionState) => Collector<Answer>) {
    this.#number = number;
    this.#begin = begin;
  }

  run(state: ExecutionState): Step {
    return this.#running(state).run();
  }

  /** Throws the error of computing the answer: only an expression that needs it must fail. */
  answerIn(state: ExecutionState): Answer {
    const running = this.#finished(state);
    if (running.failure !== undefined) throw running.failure;
    return running.answer;
  }

  /** Returns `undefined` if it failed. */
  findAnswer(state: ExecutionState): Answer | undefined {
    const running = this.#finished(state);
    return running.failure === undefined ? running.answer : undefined;
  }

  #finished(state: ExecutionState): RunningStage<Answer> {
    const running = this.#running(state);
    if (!running.isDone) state.withoutPause(() => running.run());
    return running;
  }

  #running(state: ExecutionState): RunningStage<Answer> {
    const known = state.kept.get(this.#number);
    if (known !== undefined) return known as RunningStage<Answer>;
    const running = new RunningStage(this.#begin(state));
    state.kept.set(this.#number, running);
    return running;
  }
}

class RunningStage<Answer> {
  isDone = false;
  failure: SqlFailure | undefined;
  readonly #collector: Collector<Answer>;
  #isOpen = false;

  constructor(collector: Collector<Answer>) {
    this.#collector = collector;
  }

  get answer(): Answer {
    return this.#collector.answer;
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
    if (!this.#isOpen) this.#collector.open();
    this.#isOpen = true;
    for (;;) {
      const step = this.#collector.next();
      if (step !== rowReady) return step;
    }
  }
}

/** The first column of an encoded row. */
export type Reader = (bytes: Uint8Array) => QueryValue;

/** Collects rows; `add` returns false when no more are needed. */
export interface RowAnswer {
  add(row: ByteSink, state: ExecutionState): boolean;
}

export class RowCollector<Answer extends RowAnswer> implements Collector<Answer> {
  readonly answer: Answer;
  readonly #state: ExecutionState;
  readonly #rows: Rows;
  readonly #sink = new ByteSink();

  constructor(state: ExecutionState, rows: Rows, answer: Answer) {
    this.#state = state;
    this.#rows = rows;
    this.answer = answer;
  }

  open(): void {
    this.#rows.open();
  }

  next(): Step {
    const step = this.#rows.next();
    if (step !== rowReady) return step;
    this.#sink.reset();
    this.#rows.write(this.#sink);
    return this.answer.add(this.#sink, this.#state) ? rowReady : ended;
  }
}

/** The values that IN searches. */
export class AnswerSet implements RowAnswer {
  /** The encoding of each value, by its key. */
  readonly encoded = new Map<KeyPart, Uint8Array>();
  readonly #read: Reader;
  /** A nullable column has a tag before its value. */
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
    state.budget.take(mapEntryBytes + bytesOfValue(key) + bufferBytes + row.length);
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

interface KeyedTuples {
  readonly tuples: Tuples;
  readonly keyOf: HashKey;
}

/** Collects the keys of tuples. */
export class KeyCollector implements Collector<ReadonlySet<KeyPart>> {
  readonly answer = new Set<KeyPart>();
  readonly #state: ExecutionState;
  readonly #source: KeyedTuples;

  constructor(state: ExecutionState, source: KeyedTuples) {
    this.#state = state;
    this.#source = source;
  }

  open(): void {
    this.#source.tuples.open();
  }

  next(): Step {
    const { tuples, keyOf } = this.#source;
    const step = tuples.next();
    if (step !== rowReady) return step;
    const key = keyOf(this.#state);
    if (key === undefined || this.answer.has(key)) return rowReady;
    this.#state.budget.take(setEntryBytes + bytesOfValue(key));
    this.answer.add(key);
    return rowReady;
  }
}

/** Keeps the rows of one slot by key. */
export class RowsByKey implements Collector<RowsByKey> {
  readonly #state: ExecutionState;
  readonly #rows: KeptTuples;
  readonly #keyOf: HashKey;
  /** The number of the last row with each key; `#before` has the previous one, or -1. */
  readonly #last = new Map<KeyPart, number>();
  readonly #before = new RefList<number>();

  constructor(state: ExecutionState, rows: KeptTuples, keyOf: HashKey) {
    this.#state = state;
    this.#rows = rows;
    this.#keyOf = keyOf;
  }

  get answer(): RowsByKey {
    return this;
  }

  open(): void {
    this.#rows.open();
  }

  next(): Step {
    return this.#rows.fill(this.#enter);
  }

  readonly #enter = (): boolean => {
    const key = this.#keyOf(this.#state);
    if (key === undefined) return false;
    const before = this.#last.get(key);
    const bytes = before === undefined ? mapEntryBytes + bytesOfValue(key) : 0;
    this.#state.budget.take(refBytes + bytes);
    this.#last.set(key, this.#before.length);
    this.#before.push(before ?? -1);
    return true;
  };

  /** Whether a row with this key meets the condition. */
  has(key: KeyPart, condition: (state: ExecutionState) => boolean): boolean {
    const state = this.#state;
    for (let at = this.#last.get(key) ?? -1; at >= 0; at = this.#before.at(at)) {
      if (--state.ticks <= 0) state.mustPause();
      this.#rows.show(at);
      if (condition(state)) return true;
    }
    return false;
  }
}

/** Collects the value of each key; every key has one tuple. */
export class GroupCollector implements Collector<ReadonlyMap<KeyPart, QueryValue>> {
  readonly answer = new Map<KeyPart, QueryValue>();
  readonly #state: ExecutionState;
  readonly #source: KeyedTuples & { readonly evaluate: Evaluator };

  constructor(state: ExecutionState, source: KeyedTuples & { readonly evaluate: Evaluator }) {
    this.#state = state;
    this.#source = source;
  }

  open(): void {
    this.#source.tuples.open();
  }

  next(): Step {
    const { tuples, keyOf, evaluate } = this.#source;
    const step = tuples.next();
    if (step !== rowReady) return step;
    const key = keyOf(this.#state);
    if (key === undefined) return rowReady;
    const value = evaluate(this.#state);
    this.#state.budget.take(mapEntryBytes + bytesOfValue(key) + bytesOfValue(value));
    this.answer.set(key, value);
    return rowReady;
  }
}
